"""Does the second sentence follow the first?"""

import dataclasses

import numpy as np

from kbert.inference.rows import batch_rows, pack_rows, softmax
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
    logic: an unrelated sentence on the same topic often passes as a continuation.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, or a `BertPretrainer`.
        tokenizer: `WordPieceTokenizer`, with a `BertPretrainer` only.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained pooler or next-sentence head.
    """

    def __init__(self, source, tokenizer=None):
        self.model, self.tokenizer = open_source(source, tokenizer, needs=("pooler", "nsp"))
        self.max_sequence_length = self.model.backbone.config.max_sequence_length

    def __call__(self, first, second):
        """Return the verdict on one pair, or on two equally long lists of texts.

        Args:
            first: str, or list of str.
            second: str, or list of str.

        Returns:
            `PairVerdict`, or a list of them.

        Raises:
            ValueError: a text is empty, a pair is too long, or the lists differ in length.
        """
        single = isinstance(first, str)
        pairs = [(first, second)] if single else list(zip(first, second, strict=True))
        rows = pack_rows(self.tokenizer, pairs, self.max_sequence_length)
        inputs = batch_rows(rows, self.tokenizer.special_token_ids["[PAD]"], self.max_sequence_length)
        inputs["mask_positions"] = np.zeros((len(rows), 1), "int32")  # The other head's input: any place will do.
        logits = np.asarray(self.model.predict_on_batch(inputs)["nsp"])  # [B, 2]
        verdicts = [PairVerdict(follows=float(follows), random=float(random)) for follows, random in softmax(logits)]
        return verdicts[0] if single else verdicts
