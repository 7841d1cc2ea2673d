"""SQuAD 1.1 and 2.0, and KorQuAD: questions whose answer is a span of a text."""

import dataclasses
import json
import pathlib

from kbert.tasks.batches import Row, group_by_example
from kbert.tasks.recipe import Recipe
from kbert.tasks.spans import best_spans
from kbert.tasks.squad_files import read_squad
from kbert.tasks.squad_score import best_threshold, score_answers
from kbert.tasks.tables import find_file
from kbert.tasks.windows import cut_windows, find_tokens, split_text


@dataclasses.dataclass(frozen=True)
class Layout:
    """The files of one task, and how it is scored.

    Attributes:
        train, dev: str, files without suffix.
        may_be_absent: bool. True: a question may have no answer, as in SQuAD 2.0.
        script: name in `kbert.tasks.squad_score.SCRIPTS`.
        recipe: `Recipe`.
    """

    train: str
    dev: str
    may_be_absent: bool
    script: str
    recipe: Recipe


_RECIPE = Recipe(batch_size=32, learning_rate=5e-5, epochs=3, max_sequence_length=384)
_RECIPE_2 = dataclasses.replace(_RECIPE, batch_size=48, epochs=2)
LAYOUTS = {
    "squad": Layout("train-v1.1", "dev-v1.1", False, "evaluate-v1.1", _RECIPE),
    "squad2": Layout("train-v2.0", "dev-v2.0", True, "evaluate-v2.0", _RECIPE_2),
    "korquad": Layout("KorQuAD_v1.0_train", "KorQuAD_v1.0_dev", False, "evaluate-korquad_v1.0", _RECIPE),
}


@dataclasses.dataclass(frozen=True)
class FoundAnswer:
    """What a model says to one question.

    Attributes:
        text: str, of the best span; "" where the text has none.
        null_difference: float, the score of no answer minus that of the best span; minus infinity where every question
            has an answer.
        best: list of dicts of `text`, `start`, `end` and `probability`, best first.
    """

    text: str
    null_difference: float
    best: list


@dataclasses.dataclass(frozen=True)
class SquadTask:
    """The sets of a task and how it is scored.

    Attributes:
        layout: `Layout`.
        train: list of `Question`.
        dev: dict of set name to list of `Question`.
        stride: int or None, tokens between the starts of two windows.
        notes: tuple of str.
    """

    layout: Layout
    train: list
    dev: dict
    stride: int | None = None
    notes: tuple = ()

    head = "span"
    test = {}  # noqa: RUF012

    @property
    def recipe(self):
        """`Recipe`, settings of a run unless told otherwise."""
        return self.layout.recipe

    def rows(self, tokenizer, questions, max_sequence_length):
        """Return a `Row` a window, with `extra` the window; where it does not hold the answer, the target is [CLS]."""
        rows = []
        for index, question in enumerate(questions):
            tokens = None
            if question.answers:
                text, start = question.answers[0]
                tokens = find_tokens(split_text(tokenizer, question.context)[1], start, start + len(text))
            for window in cut_windows(tokenizer, question.question, question.context, max_sequence_length, self.stride):
                start, end = (0, 0) if tokens is None else window.position_of(*tokens)
                rows.append(Row((window.packed,), {"start": start, "end": end}, example=index, extra=window))
        return rows

    def decode(self, questions, rows, outputs):
        """Return a `FoundAnswer` a question, from the logits (start `[T]`, end `[T]`) of each row."""
        groups = group_by_example(rows, outputs, len(questions))
        return [self._answer(question, group) for question, group in zip(questions, groups, strict=True)]

    def _answer(self, question, group):
        windows, starts, ends = zip(*((row.extra, *output) for row, output in group), strict=True)
        spans = best_spans(windows, starts, ends, may_be_absent=self.layout.may_be_absent)
        best = [
            {"text": question.context[span.start : span.end], "start": span.start, "end": span.end}
            | {"probability": span.probability}
            for span in spans
        ]
        with_text = [(entry, span) for entry, span in zip(best, spans, strict=True) if span.end]
        if not with_text:
            return FoundAnswer("", float("inf") if self.layout.may_be_absent else -float("inf"), best)
        entry, top = with_text[0]
        difference = -float("inf")
        if self.layout.may_be_absent:
            difference = next(span.score for span in spans if not span.end) - top.score
        return FoundAnswer(entry["text"], difference, best)

    def score(self, questions, answers):
        """Return exact match and F1; for SQuAD 2.0 with `threshold`, the best for F1 on this set, taken."""
        references = {question.identity: [text for text, _ in question.answers] for question in questions}
        chosen = self._texts(questions, answers)
        if not self.layout.may_be_absent:
            return score_answers(chosen, references, self.layout.script)
        threshold = self.threshold(questions, answers)
        chosen = self._texts(questions, answers, threshold)
        return score_answers(chosen, references, self.layout.script) | {"threshold": threshold}

    def threshold(self, questions, answers):
        """Return the null threshold that is best for F1 on a set; see `best_threshold`."""
        named = {question.identity: answer for question, answer in zip(questions, answers, strict=True)}
        return best_threshold(
            {name: answer.text for name, answer in named.items()},
            {name: answer.null_difference for name, answer in named.items()},
            {question.identity: [text for text, _ in question.answers] for question in questions},
            self.layout.script,
        )

    def _texts(self, questions, answers, threshold=float("inf")):
        return {
            question.identity: "" if answer.null_difference > threshold else answer.text
            for question, answer in zip(questions, answers, strict=True)
        }

    def main_score(self, scores):
        """Return F1 on dev."""
        return scores["dev"]["f1"]

    def write_answers(self, set_name, questions, answers, folder):
        """Write predictions.json, as the leaderboard takes it, nbest.json, and for SQuAD 2.0 null_odds.json.

        Returns:
            pathlib.Path of predictions.json.
        """
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        threshold = self.threshold(questions, answers) if self.layout.may_be_absent else float("inf")
        named = {question.identity: answer for question, answer in zip(questions, answers, strict=True)}
        _write(folder / "nbest.json", {name: answer.best for name, answer in named.items()})
        if self.layout.may_be_absent:
            _write(folder / "null_odds.json", {name: answer.null_difference for name, answer in named.items()})
        return _write(folder / "predictions.json", self._texts(questions, answers, threshold))


def _write(path, values):
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def open_squad(name, folder, stride=None, encoding="utf-8"):
    """Read a task.

    Args:
        name: str, one of `LAYOUTS`.
        folder: holds its files, compressed or not.
        stride: int or None, tokens between the starts of two windows.
        encoding: str, of the files.

    Returns:
        `SquadTask`.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or an answer does not stand where it should; see `read_squad`.
    """
    layout = LAYOUTS[name]
    sets = {}
    for split in ("train", "dev"):
        stem = getattr(layout, split)
        path = find_file(folder, stem, (".json",))
        if path is None:
            raise FileNotFoundError(f"There must be a {stem}.json. Received: --data {folder} without one.")
        sets[split] = read_squad(path, layout.may_be_absent, encoding)
    return SquadTask(layout, sets["train"], {"dev": sets["dev"]}, stride)
