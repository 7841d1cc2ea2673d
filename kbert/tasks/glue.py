"""GLUE and Korean tables like its own: the files as people download them."""

import dataclasses
import pathlib

from kbert.tasks.classification import ClassificationTask, Example
from kbert.tasks.metrics import check_targets, not_scored_note
from kbert.tasks.tables import find_file, read_table


@dataclasses.dataclass(frozen=True)
class Layout:
    """The files of one task.

    Attributes:
        folder: str, beside those of the other tasks.
        texts: tuple of the columns with the texts.
        label: str, the column with the answer.
        labels: dict of the answer as the file has it to the model's name for it; empty for a number.
        metrics: tuple of names in `kbert.tasks.metrics.METRICS`.
        train: str, file without suffix.
        dev, test: dict of set name to file without suffix, beside `train` or (diagnostic) in a folder beside it.
        answer_files: dict of set name to the leaderboard's name of the file.
        header: tuple of str, the columns of train and dev where they have no header.
        skips_broken: bool. A training row with a cell too few is left out and counted, as GLUE's own code does, and an
            empty text is read. Elsewhere both are refused.
        number: str, the column that names a row in the answers, or "" for its place.
        num_train: int, rows of the official training file, or None.
        number_range: lowest and highest number, for answers that are numbers.
    """

    folder: str
    texts: tuple
    label: str
    labels: dict
    metrics: tuple
    train: str = "train"
    dev: dict = dataclasses.field(default_factory=lambda: {"dev": "dev"})
    test: dict = dataclasses.field(default_factory=lambda: {"test": "test"})
    answer_files: dict = dataclasses.field(default_factory=dict)
    header: tuple | None = None
    skips_broken: bool = False
    number: str = "index"
    num_train: int | None = None
    number_range: tuple | None = None


_PAIR = ("sentence1", "sentence2")
_ENTAILMENT = {name: name for name in ("entailment", "not_entailment")}
_THREE_WAYS = {name: name for name in ("entailment", "neutral", "contradiction")}
_SIMILARITY = {"label": "score", "labels": {}, "metrics": ("pearson", "spearman"), "number_range": (0.0, 5.0)}

LAYOUTS = {
    "cola": Layout(
        "CoLA", ("sentence",), "label", {"0": "unacceptable", "1": "acceptable"}, ("matthews",),
        header=("source", "label", "mark", "sentence"), answer_files={"test": "CoLA.tsv"}, num_train=8551,
    ),
    "sst2": Layout(
        "SST-2", ("sentence",), "label", {"0": "negative", "1": "positive"}, ("accuracy",),
        answer_files={"test": "SST-2.tsv"}, num_train=67349,
    ),
    "mrpc": Layout(
        "MRPC", ("#1 String", "#2 String"), "Quality", {"0": "not_equivalent", "1": "equivalent"}, ("f1", "accuracy"),
        answer_files={"test": "MRPC.tsv"}, num_train=3668,
    ),
    "stsb": Layout("STS-B", _PAIR, answer_files={"test": "STS-B.tsv"}, num_train=5749, **_SIMILARITY),
    "qqp": Layout(
        "QQP", ("question1", "question2"), "is_duplicate", {"0": "not_duplicate", "1": "duplicate"},
        ("f1", "accuracy"), answer_files={"test": "QQP.tsv"}, skips_broken=True,
    ),
    "mnli": Layout(
        "MNLI", _PAIR, "gold_label", _THREE_WAYS, ("accuracy",),
        dev={"matched": "dev_matched", "mismatched": "dev_mismatched"},
        test={"test_matched": "test_matched", "test_mismatched": "test_mismatched", "ax": "diagnostic/diagnostic"},
        answer_files={"test_matched": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv", "ax": "AX.tsv"},
        num_train=392702,
    ),
    "qnli": Layout(
        "QNLI", ("question", "sentence"), "label", _ENTAILMENT, ("accuracy",), answer_files={"test": "QNLI.tsv"},
        num_train=104743,
    ),
    "rte": Layout(
        "RTE", _PAIR, "label", _ENTAILMENT, ("accuracy",), answer_files={"test": "RTE.tsv"}, num_train=2490
    ),
    "wnli": Layout(
        "WNLI", _PAIR, "label", {"0": "not_entailment", "1": "entailment"}, ("accuracy",),
        answer_files={"test": "WNLI.tsv"}, num_train=635,
    ),
    "korsts": Layout(
        "KorSTS", _PAIR, train="sts-train", dev={"dev": "sts-dev"}, test={"test": "sts-test"}, num_train=5749,
        **_SIMILARITY,
    ),
    "nsmc": Layout(
        "nsmc", ("document",), "label", {"0": "negative", "1": "positive"}, ("accuracy",), train="ratings_train",
        dev={"dev": "ratings_test"}, test={}, skips_broken=True, number="id",
    ),
}  # fmt: skip


def read_glue(name, folder, encoding="utf-8"):
    """Read a task.

    Args:
        name: str, one of `LAYOUTS`.
        folder: the folder of all tasks, or the task's own.
        encoding: str, of the files.

    Returns:
        `ClassificationTask`.

    Raises:
        FileNotFoundError: there is no training or dev file.
        ValueError: a file is not as `Layout` says; see also `read_table`.
    """
    layout = LAYOUTS[name]
    folder = pathlib.Path(folder)
    folder = folder / layout.folder if (folder / layout.folder).is_dir() else folder
    notes = []
    train_path = _find(folder, layout.train)
    train = _read(layout, train_path, encoding, "train", notes)
    if layout.num_train and len(train) != layout.num_train:
        notes.append(f"{train_path} has {len(train):,} rows, the official file {layout.num_train:,}")
    dev = {}
    for set_name, stem in layout.dev.items():
        path = _find(folder, stem)
        dev[set_name] = _read(layout, path, encoding, "dev", notes)
        check_targets([example.target for example in dev[set_name]], layout.metrics, path)
    test = {}
    for set_name, stem in layout.test.items():
        path = find_file(folder, stem) or find_file(folder.parent, stem)
        if path is not None:
            test[set_name] = _read(layout, path, encoding, "test", notes)
            notes += not_scored_note([example.target for example in test[set_name]], path)
    return ClassificationTask(
        problem="one_class" if layout.labels else "regression",
        label_names=tuple(layout.labels.values()) or (layout.label,),
        written_labels=tuple(layout.labels),
        metrics=layout.metrics,
        train=train,
        dev=dev,
        test=test,
        answer_files=layout.answer_files,
        notes=tuple(notes),
        written_range=layout.number_range,
    )


def _find(folder, stem):
    path = find_file(folder, stem)
    if path is None:
        raise FileNotFoundError(f"There must be a {stem}.tsv. Received: --data {folder} without one.")
    return path


def _read(layout, path, encoding, split, notes):
    may_be_short = layout.skips_broken and split == "train"
    header = layout.header if split != "test" else None
    examples, num_broken = [], 0
    for position, line in enumerate(read_table(path, header, encoding, may_be_short)):
        columns = layout.texts if split == "test" else (*layout.texts, layout.label)
        absent = [column for column in columns if column not in line.cells]
        if absent and may_be_short:
            num_broken += 1
            continue
        if absent:
            raise ValueError(f"A table must have the columns {columns}. Received: {tuple(line.cells)} in {line.where}.")
        texts = tuple(line.cells[column] for column in layout.texts)
        if not layout.skips_broken and not all(text.strip() for text in texts):
            raise ValueError(f"A text must have at least one word. Received: {texts} in {line.where}.")
        target = None if layout.label not in line.cells else _target(layout, line)
        number = line.cells.get(layout.number, str(position))
        examples.append(Example(texts, target, number, line.where))
    if num_broken:
        notes.append(f"{path}: {num_broken:,} rows with a cell too few were left out")
    return examples


def _target(layout, line):
    value = line.cells[layout.label]
    if layout.labels:
        if value not in layout.labels:
            raise ValueError(f"A label must be one of {list(layout.labels)}. Received: {value!r} in {line.where}.")
        return list(layout.labels).index(value)
    return read_number(value, line.where)


def read_number(value, where):
    """Return a cell as float.

    Raises:
        ValueError: it is no finite number.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < float("inf"):
        raise ValueError(f"An answer must be a number. Received: {value!r} in {where}.")
    return number
