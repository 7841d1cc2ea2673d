"""Multiple choice: SWAG, and files of its shape such as CODAH."""

import dataclasses
import pathlib

import numpy as np

from kbert.tasks.batches import Row, pack_choices
from kbert.tasks.metrics import accuracy, check_targets
from kbert.tasks.recipe import Recipe
from kbert.tasks.tables import find_file, read_table


@dataclasses.dataclass(frozen=True)
class Choice:
    """A beginning and its possible ends.

    Attributes:
        context: str, what comes before.
        begun: str, the beginning of the sentence that each ending goes on with; may be empty.
        endings: tuple of C str.
        target: int, the right one; None if unknown.
        where: str, "line 3 of FILE".
    """

    context: str
    begun: str
    endings: tuple
    target: int | None
    where: str


@dataclasses.dataclass(frozen=True)
class ChoiceTask:
    """The sets of a task and how it is scored.

    Attributes:
        train: list of `Choice`.
        dev, test: dict of set name to such a list.
        notes: tuple of str.
    """

    train: list
    dev: dict
    test: dict
    notes: tuple = ()

    head = "choice"
    recipe = Recipe(batch_size=16, learning_rate=2e-5, epochs=3, max_sequence_length=128)

    def rows(self, tokenizer, choices, max_sequence_length):
        """Return a `Row` of C parts a choice. What begins the sentence stands before each ending."""
        rows = []
        for index, choice in enumerate(choices):
            endings = [f"{choice.begun} {ending}".strip() for ending in choice.endings]
            parts = pack_choices(tokenizer, choice.context, endings, max_sequence_length)
            rows.append(Row(parts, {} if choice.target is None else {"logits": choice.target}, example=index))
        return rows

    def decode(self, choices, rows, outputs):
        """Return the number of the best ending of each row, from its logits `[C]`."""
        return [int(np.argmax(logits)) for (logits,) in outputs]

    def has_answers(self, choices):
        """Tell whether the right endings are known."""
        return bool(choices) and all(choice.target is not None for choice in choices)

    def score(self, choices, answers):
        """Return accuracy in percent."""
        return {"accuracy": accuracy([choice.target for choice in choices], answers)}

    def main_score(self, scores):
        """Return accuracy on dev."""
        return scores["dev"]["accuracy"]

    def write_answers(self, set_name, choices, answers, folder):
        """Write the number of each answer, as SWAG's leaderboard takes them: "pred", then a number a line.

        Returns:
            pathlib.Path, the file.
        """
        path = pathlib.Path(folder) / f"{set_name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pred\n" + "".join(f"{answer}\n" for answer in answers), encoding="utf-8")
        return path


def read_swag(path, encoding="utf-8"):
    """Return the `Choice`s of a table with the columns sent1, sent2, ending0, ending1, ..., and label where known."""
    choices = []
    for line in read_table(path, encoding=encoding):
        columns = ("sent1", "sent2", "ending0", "ending1")
        if not set(columns) <= set(line.cells):
            raise ValueError(f"A table must have the columns {columns}. Received: {tuple(line.cells)} in {line.where}.")
        names = [name for name in line.cells if name.startswith("ending") and name[6:].isdecimal()]
        endings = tuple(line.cells[name] for name in sorted(names, key=lambda name: int(name[6:])))
        target = _target(line, endings) if "label" in line.cells else None
        choices.append(_checked(Choice(line.cells["sent1"], line.cells["sent2"], endings, target, line.where)))
    return choices


def read_codah(path, encoding="utf-8"):
    """Return the `Choice`s of CODAH's full_data.tsv: category, beginning, four endings, the number of the right one."""
    header = ("category", "prompt", "ending0", "ending1", "ending2", "ending3", "label")
    choices = []
    for line in read_table(path, header, encoding):
        endings = tuple(line.cells[f"ending{number}"] for number in range(4))
        target = _target(line, endings)
        choices.append(_checked(Choice(line.cells["prompt"], "", endings, target, line.where)))
    return choices


def _target(line, endings):
    label = str(line.cells["label"])
    if not label.isdecimal() or int(label) >= len(endings):
        raise ValueError(
            f"A label must be the number of an ending, 0 to {len(endings) - 1}. Received: {label!r} in {line.where}."
        )
    return int(label)


def _checked(choice):
    if not all(isinstance(text, str) for text in (choice.context, choice.begun, *choice.endings)):
        raise ValueError(f"A beginning and its endings must be texts. Received: {choice.endings} in {choice.where}.")
    if not choice.context.strip() or not all(ending.strip() for ending in choice.endings):
        raise ValueError(f"A text must have at least one word. Received: an empty one in {choice.where}.")
    return choice


def open_swag(folder, encoding="utf-8"):
    """Read train, val and, if there is one, test of SWAG, or of a person's own tables with its columns.

    Args:
        folder: holds train.csv, val.csv (or dev.csv) and test.csv, or .tsv or .jsonl.
        encoding: str, of the files.

    Returns:
        `ChoiceTask`.

    Raises:
        FileNotFoundError: there is no train or val file.
        ValueError: a file is not as it should be.
    """
    paths = {
        "train": find_file(folder, "train"),
        "dev": find_file(folder, "val") or find_file(folder, "dev"),
        "test": find_file(folder, "test"),
    }
    for split in ("train", "dev"):
        if paths[split] is None:
            raise FileNotFoundError(f"There must be train and val files. Received: --data {folder} without {split}.")
    sets = {split: read_swag(path, encoding) for split, path in paths.items() if path is not None}
    for split in ("train", "dev"):
        check_targets(sets[split], (), paths[split])
        unknown = next((choice for choice in sets[split] if choice.target is None), None)
        if unknown:
            raise ValueError(f"A table must have the column label. Received: none in {unknown.where}.")
    num_endings = {len(choice.endings): choice.where for choices in sets.values() for choice in choices}
    if len(num_endings) > 1:
        raise ValueError(f"All rows must have as many endings. Received: {num_endings}.")
    return ChoiceTask(sets["train"], {"dev": sets["dev"]}, {"test": sets["test"]} if "test" in sets else {})


NUM_FOLDS = 5


def open_codah(folder, fold=0, encoding="utf-8"):
    """Read CODAH, one fold as dev and the others to train on. The folds are drawn by seed 0, not CODAH's own.

    Args:
        folder: holds full_data.tsv.
        fold: int in [0, 5).
        encoding: str, of the file.

    Returns:
        `ChoiceTask`.

    Raises:
        FileNotFoundError: there is no file.
        ValueError: there is no such fold, or the file is not as it should be.
    """
    if not 0 <= fold < NUM_FOLDS:
        raise ValueError(f"--fold must be between 0 and {NUM_FOLDS - 1}. Received: --fold {fold}.")
    path = find_file(folder, "full_data")
    if path is None:
        raise FileNotFoundError(f"There must be a full_data.tsv. Received: --data {folder} without one.")
    choices = read_codah(path, encoding)
    check_targets(choices, (), path)
    order = np.random.default_rng(0).permutation(len(choices))
    dev = set(order[fold::NUM_FOLDS].tolist())
    train = [choice for index, choice in enumerate(choices) if index not in dev]
    return ChoiceTask(train, {"dev": [choices[index] for index in sorted(dev)]}, {})
