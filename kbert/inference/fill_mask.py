"""Which word stands at [MASK]?"""

import dataclasses

import numpy as np

from kbert.inference.joint import fill_jointly
from kbert.inference.masked_text import read_masked_texts
from kbert.inference.slots import predict_slots
from kbert.inference.source import open_source
from kbert.inference.targets import read_targets, score_targets
from kbert.inference.windows import cut_window

DEFAULT_TOP_K = 5


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One answer for one mask.

    Attributes:
        word: str, the token; "##" in front marks a piece that continues the word before it. A target as it was asked.
        token_id: int, or None for a target of several pieces.
        probability: float in [0, 1], over the whole vocabulary.
        text: str, the text with this mask filled (other masks stay).
    """

    word: str
    token_id: int | None
    probability: float
    text: str


@dataclasses.dataclass(frozen=True)
class FilledMask:
    """The answers for one mask of a text.

    Attributes:
        start, end: int, the characters of this "[MASK]" in the text.
        candidates: tuple of `Candidate`, most probable first.
        window: (start, end), the characters of the text that the model read: all from the first token to the last,
            unless the text is longer than the model.
    """

    start: int
    end: int
    candidates: tuple
    window: tuple


class FillMask:
    """Answer fill-in-the-blank questions.

    A text longer than the model is answered from the window round each mask; see `kbert.inference.windows`.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer`, or a
            callable; see `kbert.inference.source.Source`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained masked-word head.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        self.source = open_source(source, tokenizer, ("mlm",), max_sequence_length)
        self.tokenizer = self.source.tokenizer
        self.max_sequence_length = self.source.max_sequence_length

    def __call__(self, text, top_k=None, targets=None):
        """Return the most probable words for each mask.

        Several masks in one text are answered each on its own, with all the others masked.

        Args:
            text: str with at least one "[MASK]", or a list of such str (answered in batches).
            top_k: int in [1, V]; None for 5, or for all of `targets`.
            targets: list of str, the only words to rank; None for the vocabulary. Words of several pieces are scored
                by the rule in `kbert.inference.targets`.

        Returns:
            list of `FilledMask`, one a mask in reading order; for a list of texts a list of such lists.

        Raises:
            ValueError: a text has no mask or is empty, `top_k` is out of its range, or a target cannot be spelled.
        """
        if targets is not None:
            targets = read_targets(self.tokenizer, targets)
        if top_k is None:
            top_k = min(DEFAULT_TOP_K, self.tokenizer.vocabulary_size) if targets is None else len(targets)
        self._check_top_k(top_k)
        texts = read_masked_texts(self.tokenizer, [text] if isinstance(text, str) else list(text))
        answers = iter(self._rank_vocabulary(texts, top_k) if targets is None else self._rank_targets(texts, targets))
        filled = [
            [self._answer(masked, number, next(answers)[:top_k]) for number in range(len(masked.positions))]
            for masked in texts
        ]
        return filled[0] if isinstance(text, str) else filled

    def jointly(self, text, top_k=5, targets=None, beam_size=16):
        """Return the most probable fillings of all masks together.

        Args:
            text: str with at least one "[MASK]", or a list of such str (answered one after the other).
            top_k: int in [1, beam_size].
            targets: list of str, the only words allowed at the masks; None for the vocabulary.
            beam_size: int, partial fillings kept after each mask; see `kbert.inference.joint` for the rule.

        Returns:
            list of at most `top_k` `FilledText`, most probable first; for a list of texts a list of such lists.

        Raises:
            ValueError: as in a call; or `top_k` is more than `beam_size`.
        """
        if not 1 <= top_k <= beam_size:
            raise ValueError(f"`top_k` must be between 1 and `beam_size`. Received: {top_k=}, {beam_size=}.")
        if targets is not None:
            targets = read_targets(self.tokenizer, targets)
        texts = read_masked_texts(self.tokenizer, [text] if isinstance(text, str) else list(text))
        filled = [fill_jointly(self.source, masked, beam_size, targets)[:top_k] for masked in texts]
        return filled[0] if isinstance(text, str) else filled

    def distribution(self, text):
        """Return the probabilities of the whole vocabulary at each mask of one text, float64 `[P, V]`."""
        (masked,) = read_masked_texts(self.tokenizer, [text])
        return np.exp(list(predict_slots(self.source, self._slots([masked]))))

    def _check_top_k(self, top_k):
        if not 1 <= top_k <= self.tokenizer.vocabulary_size:
            raise ValueError(
                f"`top_k` must be between 1 and {self.tokenizer.vocabulary_size}. Received: top_k={top_k}."
            )

    def _slots(self, texts):
        for masked in texts:
            for position in masked.positions:
                yield cut_window(masked.token_ids, position, self.max_sequence_length)[:2]

    def _rank_vocabulary(self, texts, top_k):
        for answer in predict_slots(self.source, self._slots(texts)):
            best = np.argpartition(-answer, top_k - 1)[:top_k]
            best = best[np.argsort(-answer[best], kind="stable")].tolist()
            yield [(self.tokenizer.id_to_token(token_id), token_id, float(answer[token_id])) for token_id in best]

    def _rank_targets(self, texts, targets):
        places = [(masked.token_ids, position) for masked in texts for position in masked.positions]
        for scores in score_targets(self.source, places, targets):
            ranked = sorted(zip(targets, scores, strict=True), key=lambda pair: -pair[1])
            yield [(word, pieces[0] if len(pieces) == 1 else None, score) for (word, pieces), score in ranked]

    def _answer(self, masked, number, ranked):
        position = masked.positions[number]
        window, _, skipped = cut_window(masked.token_ids, position, self.max_sequence_length)
        first, last = masked.offsets[skipped + 1], masked.offsets[skipped + len(window) - 2]
        candidates = tuple(
            Candidate(word, token_id, float(np.exp(log_probability)), masked.fill({number: word}))
            for word, token_id, log_probability in ranked
        )
        return FilledMask(*masked.offsets[position], candidates, (first[0], last[1]))
