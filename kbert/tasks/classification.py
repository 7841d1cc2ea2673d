"""Tasks that give a text or a pair one class, several labels, or a number."""

import dataclasses
import pathlib

import numpy as np

from kbert.tasks.batches import Row, compact
from kbert.tasks.metrics import METRICS, all_alike
from kbert.tasks.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class Example:
    """A text or a pair with its answer.

    Attributes:
        texts: tuple of one or two str.
        target: the answer: int (class), float (number), or tuple of 0 and 1, one a label. None if unknown.
        number: str, what the row is called in a file of answers.
        where: str, "line 3 of FILE".
    """

    texts: tuple
    target: object
    number: str
    where: str


@dataclasses.dataclass(frozen=True)
class ClassificationTask:
    """The sets of a task and how it is scored.

    Attributes:
        problem: "one_class", "several_labels" or "regression", as in `BertClassifier`.
        label_names: tuple of str, C names, as the model is to call them.
        written_labels: tuple of str, the same as a file of answers calls them.
        metrics: tuple of names in `kbert.tasks.metrics.METRICS`; the mean of all, over all sets of `dev`, is the score
            that runs are compared by, as on GLUE's leaderboard.
        train: list of `Example`.
        dev, test: dict of set name to list of `Example`. Those of a test set need no answers.
        answer_files: dict of set name to the name of its file of answers.
        notes: tuple of str, what a person should know about the files.
        written_range: (lowest, highest) number in a file of answers, or None.
        recipe: `Recipe`, settings of a run unless told otherwise.
    """

    problem: str
    label_names: tuple
    written_labels: tuple
    metrics: tuple
    train: list
    dev: dict
    test: dict
    answer_files: dict
    notes: tuple = ()
    written_range: tuple | None = None
    recipe: Recipe = Recipe()

    head = "classifier"

    def rows(self, tokenizer, examples, max_sequence_length):
        """Return a `Row` an example, the longer text of a pair cut where both are too long together."""
        return [
            Row(
                parts=(compact(tokenizer.pack(*example.texts, max_sequence_length=max_sequence_length)),),
                targets={} if example.target is None else {"logits": self._array(example.target)},
                example=index,
            )
            for index, example in enumerate(examples)
        ]

    def _array(self, target):
        if self.problem == "one_class":
            return target
        return np.array(target if self.problem == "several_labels" else [target], "float32")

    def decode(self, examples, rows, outputs):
        """Return the answers, in the form of `Example.target`, from the logits `[C]` of each row."""
        logits = [output[0] for output in outputs]
        if self.problem == "one_class":
            return [int(np.argmax(values)) for values in logits]
        if self.problem == "several_labels":
            return [tuple(int(value > 0) for value in values) for values in logits]
        return [float(values[0]) for values in logits]

    def has_answers(self, examples):
        """Tell whether there are answers, known, and so different that they can be scored: some files have all 0."""
        targets = [example.target for example in examples]
        return None not in targets and not all_alike(targets)

    def score(self, examples, answers):
        """Return the task's metrics by name, in percent."""
        targets = [example.target for example in examples]
        return {name: METRICS[name](np.array(targets), np.array(answers)) for name in self.metrics}

    def main_score(self, scores):
        """Return the number that runs are compared by, from the scores of each set of `dev`."""
        return float(np.mean([value for values in scores.values() for value in values.values()]))

    def write_answers(self, set_name, examples, answers, folder):
        """Write the answers of a set as GLUE's leaderboard takes them: index, tab, prediction.

        Returns:
            pathlib.Path, the file.
        """
        path = pathlib.Path(folder) / self.answer_files.get(set_name, f"{set_name}.tsv")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            f"{example.number}\t{self._written(answer)}\n" for example, answer in zip(examples, answers, strict=True)
        )
        path.write_text("index\tprediction\n" + "".join(lines), encoding="utf-8")
        return path

    def _written(self, answer):
        if self.problem == "one_class":
            return self.written_labels[answer]
        if self.problem == "several_labels":
            return ",".join(label for label, chosen in zip(self.written_labels, answer, strict=True) if chosen)
        return f"{answer if self.written_range is None else float(np.clip(answer, *self.written_range)):.3f}"
