"""A person's own tables: one or two columns of text, and a class, labels, or a number."""

import pathlib

from kbert.tasks.classification import ClassificationTask, Example
from kbert.tasks.glue import read_number
from kbert.tasks.metrics import check_targets, not_scored_note
from kbert.tasks.tables import find_file, read_table

METRICS = {
    "one_class": ("accuracy", "f1_macro"),
    "several_labels": ("f1_micro", "f1_macro"),
    "regression": ("pearson", "spearman"),
}


def read_own_table(folder, texts=("text",), label="label", problem="one_class", encoding="utf-8"):
    """Read train, dev and, if there is one, test: .tsv, .csv or .jsonl files with these names.

    Labels are what the training file has, in the order of the alphabet, numbers by their size. Several labels stand in
    one cell with commas between, or in a list of JSON; none is allowed.

    Args:
        folder: holds the files.
        texts: tuple of one or two columns.
        label: str, the column with the answer. A test file may lack it.
        problem: "one_class", "several_labels" or "regression".
        encoding: str, of the files.

    Returns:
        `ClassificationTask`.

    Raises:
        FileNotFoundError: there is no train or dev file.
        ValueError: a column is missing, a text is empty, a label of dev or test is not in train, an answer is no
            number; see also `read_table`.
    """
    if problem not in METRICS:
        raise ValueError(f"`problem` must be one of {tuple(METRICS)}. Received: problem={problem!r}.")
    if len(texts) not in (1, 2):
        raise ValueError(f"`texts` must be one or two columns. Received: texts={texts}.")
    paths = {stem: find_file(folder, stem) for stem in ("train", "dev", "test")}
    absent = [stem for stem in ("train", "dev") if paths[stem] is None]
    if absent:
        raise FileNotFoundError(
            f"There must be train and dev files, .tsv, .csv or .jsonl. Received: {pathlib.Path(folder)} without "
            f"{' and '.join(absent)}."
        )
    sets = {stem: list(read_table(path, encoding=encoding)) for stem, path in paths.items() if path is not None}
    labels = () if problem == "regression" else _labels(sets["train"], label, problem)
    examples = {
        stem: [_example(line, texts, label, problem, labels, stem, position) for position, line in enumerate(lines)]
        for stem, lines in sets.items()
    }
    _check_sets(examples, paths, problem)
    test_targets = [example.target for example in examples.get("test", ())]
    return ClassificationTask(
        problem=problem,
        label_names=labels or (label,),
        written_labels=labels,
        metrics=METRICS[problem],
        train=examples["train"],
        dev={"dev": examples["dev"]},
        test={"test": examples["test"]} if "test" in examples else {},
        answer_files={},
        notes=tuple(not_scored_note(test_targets, paths["test"])),
    )


def _check_sets(examples, paths, problem):
    if not examples["train"]:
        raise ValueError(f"A training file must have rows. Received: none in {paths['train']}.")
    targets = [example.target for example in examples["dev"]]
    check_targets(targets, METRICS[problem], paths["dev"])
    if problem == "several_labels" and not any(map(any, targets)):
        raise ValueError(
            f"A file to be scored must have labels. Received: {len(targets)} rows without in {paths['dev']}."
        )


def _labels(lines, label, problem):
    found = {name for line in lines for name in _names(line, label, problem)}
    if problem == "one_class" and len(found) < 2:
        where = lines[0].where if lines else "an empty file"
        raise ValueError(f"There must be two classes to choose from. Received: {sorted(found)} from {where} on.")
    return tuple(sorted(found, key=_order))


def _order(name):
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def _names(line, label, problem):
    if label not in line.cells:
        raise ValueError(f"A row must have the column {label!r}. Received: {tuple(line.cells)} in {line.where}.")
    value = line.cells[label]
    if problem == "several_labels":
        names = value if isinstance(value, list) else [] if value is None else str(value).split(",")
        if isinstance(value, dict) or not all(isinstance(name, str | int | float) for name in names):
            raise ValueError(f"Labels must be a list of names, or one text. Received: {value!r} in {line.where}.")
        return tuple(name for name in (str(name).strip() for name in names) if name)
    if isinstance(value, (list, dict)) or value is None or not str(value).strip():
        raise ValueError(f"A row must have one class. Received: {value!r} in {line.where}.")
    return (str(value),)


def _example(line, texts, label, problem, labels, stem, position):
    absent = [column for column in texts if column not in line.cells]
    if absent:
        raise ValueError(
            f"A table must have the columns {texts}. Received: {tuple(line.cells)} in {line.where}. "
            "Name yours with --text, --text2 and --label."
        )
    values = tuple(line.cells[column] for column in texts)
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise ValueError(f"A text must have at least one word. Received: {values} in {line.where}.")
    target = None if stem == "test" and label not in line.cells else _target(line, label, problem, labels)
    return Example(values, target, str(line.cells.get("id", position)), line.where)


def _target(line, label, problem, labels):
    if problem == "regression":
        return read_number(line.cells.get(label), line.where)
    names = _names(line, label, problem)
    unknown = [name for name in names if name not in labels]
    if unknown:
        raise ValueError(f"A label must be in the training file: {list(labels)}. Received: {unknown} in {line.where}.")
    if problem == "one_class":
        return labels.index(names[0])
    return tuple(int(name in names) for name in labels)
