"""Which of several endings goes with a beginning?"""

import dataclasses

from kbert.inference.fine_tuned import ask_rows, open_fine_tuned
from kbert.inference.rows import softmax
from kbert.models import BertMultipleChoice
from kbert.tasks.batches import Row, pack_choices


@dataclasses.dataclass(frozen=True)
class Ending:
    """One ending.

    Attributes:
        text: str, as it was given.
        number: int, its place among those given.
        probability: float in [0, 1]; those of all endings sum to 1.
    """

    text: str
    number: int
    probability: float


class Choose:
    """Choose among endings with a fine-tuned `BertMultipleChoice`.

    Args:
        source: checkpoint folder, `Checkpoint`, a `BertMultipleChoice`, or a callable that takes `token_ids`,
            `segment_ids`, `padding_mask` int32 `[B, C, T]` and returns a dict with `logits` `[B, C]`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the model is no `BertMultipleChoice`.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        self.source = open_fine_tuned(source, BertMultipleChoice, tokenizer, max_sequence_length)

    def __call__(self, context, endings):
        """Return the endings, most probable first.

        A context and ending too long for the model together are cut at the end of the longer one.

        Args:
            context: str.
            endings: list of two or more str.

        Returns:
            list of `Ending`.

        Raises:
            ValueError: a text is empty, or there are fewer than two endings.
        """
        if isinstance(endings, str) or len(endings) < 2:
            raise ValueError(f"`endings` must be a list of two or more texts. Received: endings={endings!r}.")
        if not context.strip() or not all(ending.strip() for ending in endings):
            raise ValueError("A text must have at least one word. Received: an empty text. Write a sentence.")
        row = Row(pack_choices(self.source.tokenizer, context, endings, self.source.max_sequence_length))
        ((logits,),) = ask_rows(self.source, [row], "logits")
        found = [
            Ending(text, number, float(probability))
            for number, (text, probability) in enumerate(zip(endings, softmax(logits), strict=True))
        ]
        return sorted(found, key=lambda ending: -ending.probability)
