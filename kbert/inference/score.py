"""How natural is a text, and which of its words surprise?"""

import dataclasses
import itertools
import math

from kbert.inference.masked_text import MASK
from kbert.inference.rows import pack_rows
from kbert.inference.slots import predict_slots
from kbert.inference.source import open_source
from kbert.inference.windows import cut_window


@dataclasses.dataclass(frozen=True)
class TokenScore:
    """One token of a scored text.

    Attributes:
        token: str, as in the vocabulary; "[UNK]" for a word that the vocabulary cannot spell.
        start, end: int, its characters in the text.
        surprise: float >= 0, minus the natural logarithm of the token's probability where it stands.
    """

    token: str
    start: int
    end: int
    surprise: float


@dataclasses.dataclass(frozen=True)
class TextScore:
    """The score of one text.

    Attributes:
        log_likelihood: float <= 0, the pseudo-log-likelihood: the sum of log p(token | all the others).
        perplexity: float >= 1, the pseudo-perplexity: exp(-log_likelihood / number of tokens).
        tokens: tuple of `TokenScore`, in reading order.
    """

    log_likelihood: float
    perplexity: float
    tokens: tuple


class ScoreText:
    """Score texts by masking one token after the other.

    A text of n tokens takes n passes of the model, gathered in batches. [CLS] and [SEP] are read, not scored. Compare
    texts of one vocabulary only; among texts of unlike length compare `perplexity`. A word of several pieces scores
    well for its length, because each piece is seen when the others are masked. A text longer than the model is scored
    from the window round each token; see `kbert.inference.windows`.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer`, or a
            callable; see `kbert.inference.source.Source`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained masked-word head.

    Source: Salazar et al. 2020, "Masked Language Model Scoring", equations 1 and 2.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        self.source = open_source(source, tokenizer, ("mlm",), max_sequence_length)
        self.tokenizer = self.source.tokenizer

    def __call__(self, text):
        """Return the score of a text.

        Args:
            text: str, or a list of str (answered in batches).

        Returns:
            `TextScore`, or a list of them.

        Raises:
            ValueError: a text has no word or holds a [MASK].
        """
        texts = [text] if isinstance(text, str) else list(text)
        rows = pack_rows(self.tokenizer, texts)
        mask_id = self.tokenizer.special_token_ids[MASK]
        for one, row in zip(texts, rows, strict=True):
            if len(row.token_ids) < 3:  # Only characters that are left out.
                raise ValueError(f"A text must have at least one word. Received: {one[:80]!r}. Write a sentence.")
            if mask_id in row.token_ids:
                raise ValueError(
                    f"A text to score must be whole. Received: {one[:80]!r}. Fill its {MASK} first, or ask FillMask."
                )
        answers = predict_slots(self.source, self._slots(rows, mask_id))
        scores = [self._score(row, itertools.islice(answers, len(row.token_ids) - 2)) for row in rows]
        return scores[0] if isinstance(text, str) else scores

    def _slots(self, rows, mask_id):
        for row in rows:
            for position in range(1, len(row.token_ids) - 1):
                masked = (*row.token_ids[:position], mask_id, *row.token_ids[position + 1 :])
                yield cut_window(masked, position, self.source.max_sequence_length)[:2]

    def _score(self, row, answers):
        tokens = tuple(
            TokenScore(self.tokenizer.id_to_token(token_id), *offsets, max(0.0, -float(answer[token_id])))
            for token_id, offsets, answer in zip(row.token_ids[1:-1], row.offsets[1:-1], answers, strict=True)
        )
        surprise = math.fsum(token.surprise for token in tokens)
        return TextScore(-surprise, math.exp(surprise / len(tokens)), tokens)
