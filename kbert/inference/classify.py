"""Which class, labels or number does a text have?"""

import dataclasses

from kbert.inference.fine_tuned import ask_rows, open_fine_tuned
from kbert.inference.rows import pack_rows, sigmoid, softmax
from kbert.models import BertClassifier
from kbert.tasks.batches import Row


@dataclasses.dataclass(frozen=True)
class Label:
    """One label of a text.

    Attributes:
        name: str.
        probability: float in [0, 1], that the text has it. Those of all classes sum to 1 where a text has exactly one;
            several labels have each their own. None for a number.
        value: float, the number that was predicted; None for a class.
    """

    name: str
    probability: float | None
    value: float | None = None


class Classify:
    """Answer with a fine-tuned `BertClassifier`.

    Args:
        source: checkpoint folder, `Checkpoint`, a `BertClassifier`, or a callable that takes `token_ids`,
            `segment_ids`, `padding_mask` int32 `[B, T]` and returns a dict with `logits` `[B, C]`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.
        label_names: tuple of C str, with a callable only.
        problem: "one_class", "several_labels" or "regression", with a callable only.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the model is no classifier, or a callable came without names and problem.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None, label_names=None, problem=None):
        self.source = open_fine_tuned(source, BertClassifier, tokenizer, max_sequence_length)
        model = self.source.model
        self.label_names = tuple(label_names or getattr(model, "label_names", ()))
        self.problem = problem or getattr(model, "problem", None)
        if not self.label_names or self.problem is None:
            raise ValueError(
                "A callable must come with its `label_names` and `problem`. "
                f"Received: label_names={label_names}, problem={problem}."
            )

    def __call__(self, text, top_k=None, truncate=False):
        """Return the labels of a text, most probable first.

        Args:
            text: str, a (first, second) tuple of str, or a list of such (answered in batches).
            top_k: int >= 1, labels to return; None for all.
            truncate: bool. True: read only the beginning of a text that is longer than the model.

        Returns:
            list of `Label`; for a list of texts a list of such lists. A number's list has one entry a number, in the
            model's order.

        Raises:
            ValueError: a text is empty, or too long and not to be truncated; or `top_k` is below 1.
        """
        if top_k is not None and top_k < 1:
            raise ValueError(f"`top_k` must be at least 1. Received: {top_k=}.")
        single = isinstance(text, (str, tuple))
        texts = [text] if single else list(text)
        rows = pack_rows(self.source.tokenizer, texts, self.source.max_sequence_length, truncate)
        outputs = ask_rows(self.source, [Row((row,)) for row in rows], "logits")
        answers = [self._labels(logits)[:top_k] for (logits,) in outputs]
        return answers[0] if single else answers

    def _labels(self, logits):
        if self.problem == "regression":
            return [Label(name, None, float(value)) for name, value in zip(self.label_names, logits, strict=True)]
        probabilities = (softmax if self.problem == "one_class" else sigmoid)(logits)
        labels = [Label(name, float(p)) for name, p in zip(self.label_names, probabilities, strict=True)]
        return sorted(labels, key=lambda label: -label.probability)
