"""Which word stands at [MASK]?"""

import dataclasses

import numpy as np

from kbert.inference.rows import batch_rows, pack_rows, softmax
from kbert.inference.source import open_source

MASK = "[MASK]"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One answer for one mask.

    Attributes:
        word: str, the token; "##" in front marks a piece that continues the word before it.
        token_id: int.
        probability: float in [0, 1], over the whole vocabulary.
        text: str, the text with this mask filled (other masks stay).
    """

    word: str
    token_id: int
    probability: float
    text: str


@dataclasses.dataclass(frozen=True)
class FilledMask:
    """The answers for one mask of a text.

    Attributes:
        start, end: int, the characters of this "[MASK]" in the text.
        candidates: tuple of `Candidate`, most probable first.
    """

    start: int
    end: int
    candidates: tuple


class FillMask:
    """Answer fill-in-the-blank questions.

    Several masks in one text are answered each on its own, from one look at the text with all of them masked.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, or a `BertPretrainer`.
        tokenizer: `WordPieceTokenizer`, with a `BertPretrainer` only.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained masked-word head.
    """

    def __init__(self, source, tokenizer=None):
        self.model, self.tokenizer = open_source(source, tokenizer, needs=("mlm",))
        self.max_sequence_length = self.model.backbone.config.max_sequence_length

    def __call__(self, text, top_k=5):
        """Return the most probable words for each mask.

        Args:
            text: str with at least one "[MASK]", or a list of such str (answered as one batch).
            top_k: int in [1, V].

        Returns:
            list of `FilledMask`, one a mask in reading order; for a list of texts a list of such lists.

        Raises:
            ValueError: a text has no mask, is empty, or is too long; or `top_k` is out of its range.
        """
        if not 1 <= top_k <= self.tokenizer.vocabulary_size:
            raise ValueError(
                f"`top_k` must be between 1 and {self.tokenizer.vocabulary_size}. Received: top_k={top_k}."
            )
        texts = [text] if isinstance(text, str) else list(text)
        rows = pack_rows(self.tokenizer, texts, self.max_sequence_length)
        special = self.tokenizer.special_token_ids
        positions = [np.flatnonzero(np.equal(row.token_ids, special[MASK])) for row in rows]
        for one, found in zip(texts, positions, strict=True):
            if not len(found):
                raise ValueError(
                    f"A text must hold at least one {MASK}. Received: {one[:80]!r}. "
                    f"Write {MASK} where a word is missing."
                )
        inputs = batch_rows(rows, special["[PAD]"], self.max_sequence_length)
        inputs["mask_positions"] = np.zeros((len(rows), max(map(len, positions))), "int32")
        for index, found in enumerate(positions):
            inputs["mask_positions"][index, : len(found)] = found
        logits = np.asarray(self.model.predict_on_batch(inputs)["mlm"])  # [B, P, V]
        answers = [
            [
                self._answer(one, row.offsets[position], logits[index, slot], top_k)
                for slot, position in enumerate(found)
            ]
            for index, (one, row, found) in enumerate(zip(texts, rows, positions, strict=True))
        ]
        return answers[0] if isinstance(text, str) else answers

    def _answer(self, text, span, logits, top_k):
        start, end = span
        probabilities = softmax(logits)
        best = np.argpartition(-probabilities, top_k - 1)[:top_k]
        best = best[np.argsort(-probabilities[best], kind="stable")]
        candidates = []
        for token_id in best.tolist():
            word = self.tokenizer.id_to_token(token_id)
            before = text[:start].rstrip() + word[2:] if word.startswith("##") else text[:start] + word
            candidates.append(Candidate(word, token_id, float(probabilities[token_id]), before + text[end:]))
        return FilledMask(start, end, tuple(candidates))
