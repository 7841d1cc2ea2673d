"""The masked-words game on one text: what was drawn, what the model read there, and what it answered."""

import dataclasses

import numpy as np

from kbert.inference.masked_text import MASK
from kbert.inference.rows import pack_rows
from kbert.inference.slots import predict_slots
from kbert.inference.source import open_source

SELECTION_RATE, MASK_RATE, RANDOM_RATE = 0.15, 0.8, 0.1
NEVER_DRAWN = ("[CLS]", "[SEP]", "[PAD]")


@dataclasses.dataclass(frozen=True)
class DrawnToken:
    """One token that was drawn.

    Attributes:
        position: int, its place among the tokens.
        token: str, what stands there in the text; what the model is to answer.
        shown: str, what the model read there.
        fate: "masked", "random" or "kept".
        candidates: tuple of (token, probability), most probable first.
        probability: float in [0, 1], that of `token`.
        loss: float >= 0, minus its natural logarithm.
    """

    position: int
    token: str
    shown: str
    fate: str
    candidates: tuple
    probability: float
    loss: float


@dataclasses.dataclass(frozen=True)
class MaskingRound:
    """One draw.

    Attributes:
        tokens: tuple of str, T, [CLS] and [SEP] included.
        drawn: tuple of `DrawnToken`, in reading order.
        loss: float, the mean of the drawn tokens' losses; no other token has one.
    """

    tokens: tuple
    drawn: tuple
    loss: float


class PlayMasking:
    """Hide tokens of a text as in pretraining, and ask the model for them.

    Of T tokens round(0.15 x T) are drawn, one at least, never [CLS] or [SEP]. A drawn token becomes [MASK] with
    probability 0.8, a uniform draw from the whole vocabulary with 0.1, and stays as it is with 0.1. This is the rule of
    `kbert.data.masking` on NumPy's generator: the page runs without TensorFlow.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer`, or a
            callable; see `kbert.inference.source.Source`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained masked-word head.

    Source: paper section 3.1, task 1, and appendix A.1.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        self.source = open_source(source, tokenizer, ("mlm",), max_sequence_length)

    def __call__(self, text, seed, top_k=5):
        """Play one round. Equal text and seed give an equal draw.

        Args:
            text: str.
            seed: int >= 0.
            top_k: int in [1, V], candidates for each drawn token.

        Returns:
            `MaskingRound`.

        Raises:
            ValueError: the text is empty or longer than the model, or `seed` is negative.
        """
        if seed < 0:
            raise ValueError(f"`seed` must be at least 0. Received: {seed=}.")
        tokenizer = self.source.tokenizer
        (row,) = pack_rows(tokenizer, [text], self.source.max_sequence_length)
        if len(row.token_ids) < 3:
            raise ValueError(f"A text must have at least one word. Received: {text!r}. Write a sentence.")
        fates, hidden = draw_masks(row.token_ids, tokenizer, np.random.default_rng(seed))
        answers = predict_slots(self.source, ((hidden, position) for position in fates))
        name = tokenizer.id_to_token
        drawn = []
        for (position, fate), answer in zip(fates.items(), answers, strict=True):
            best = np.argsort(-answer, kind="stable")[:top_k].tolist()
            token_id = row.token_ids[position]
            drawn.append(
                DrawnToken(
                    position=position,
                    token=name(token_id),
                    shown=name(hidden[position]),
                    fate=fate,
                    candidates=tuple((name(best_id), float(np.exp(answer[best_id]))) for best_id in best),
                    probability=float(np.exp(answer[token_id])),
                    loss=max(0.0, -float(answer[token_id])),
                )
            )
        return MaskingRound(tuple(map(name, row.token_ids)), tuple(drawn), float(np.mean([one.loss for one in drawn])))


def draw_masks(token_ids, tokenizer, generator):
    """Draw tokens of one row and replace them.

    Args:
        token_ids: sequence of int, `[T]`.
        tokenizer: `WordPieceTokenizer`.
        generator: `numpy.random.Generator`.

    Returns:
        dict of position to fate ("masked", "random" or "kept"), ascending, and the row after it as a tuple of int.
    """
    special = [tokenizer.special_token_ids[name] for name in NEVER_DRAWN]
    candidates = np.flatnonzero(~np.isin(token_ids, special))
    count = min(len(candidates), max(1, round(SELECTION_RATE * len(token_ids))))
    hidden, fates = list(token_ids), {}
    for position in sorted(generator.choice(candidates, count, replace=False).tolist()):
        chance = generator.random()
        if chance < MASK_RATE:
            fates[position], hidden[position] = "masked", tokenizer.special_token_ids[MASK]
        elif chance < MASK_RATE + RANDOM_RATE:
            fates[position], hidden[position] = "random", int(generator.integers(tokenizer.vocabulary_size))
        else:
            fates[position] = "kept"
    return fates, tuple(hidden)
