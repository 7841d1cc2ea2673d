"""Does the second sentence follow the first?"""

import dataclasses

import numpy as np

from kbert.inference.rows import batch_rows, pack_rows, softmax
from kbert.inference.slots import BATCH_SIZE
from kbert.inference.source import open_source


@dataclasses.dataclass(frozen=True)
class PairVerdict:
    """Two probabilities that sum to 1.

    Attributes:
        follows: float, the second text continues the first.
        random: float, it comes from somewhere else.
    """

    follows: float
    random: float


class SentencePair:
    """Judge whether one text continues another, by next-sentence prediction.

    The model was trained to tell a true continuation from a text of another document. It has learnt topic more than
    logic: an unrelated sentence on the same topic often passes as a continuation. Read a high `follows` with caution;
    it is no proof that the one text leads to the other.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer`, or a
            callable; see `kbert.inference.source.Source`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained pooler or next-sentence head.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        self.source = open_source(source, tokenizer, ("pooler", "nsp"), max_sequence_length)
        self.tokenizer = self.source.tokenizer
        self.max_sequence_length = self.source.max_sequence_length

    def __call__(self, first, second, truncate=False):
        """Return the verdict on one pair, or on two equally long lists of texts.

        Args:
            first: str, or list of str.
            second: str, or list of str.
            truncate: bool. True: cut a pair that is longer than the model, tokens from the end of its longer text.

        Returns:
            `PairVerdict`, or a list of them.

        Raises:
            ValueError: a text is empty, a pair is too long and not to be truncated, or the lists differ in length.
        """
        single = isinstance(first, str)
        pairs = [(first, second)] if single else list(zip(first, second, strict=True))
        rows = pack_rows(self.tokenizer, pairs, self.max_sequence_length, truncate)
        verdicts = []
        for start in range(0, len(rows), BATCH_SIZE):
            batch = rows[start : start + BATCH_SIZE]
            inputs = batch_rows(batch, self.tokenizer.special_token_ids["[PAD]"], self.max_sequence_length)
            inputs["mask_positions"] = np.zeros((len(batch), 1), "int32")  # The other head's input: any place will do.
            (logits,) = self.source.predict(inputs, "nsp")  # [B, 2]
            verdicts += [
                PairVerdict(follows=float(follows), random=float(random)) for follows, random in softmax(logits)
            ]
        return verdicts[0] if single else verdicts
