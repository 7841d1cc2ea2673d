"""Tables of a person's own: classes, labels and numbers out of CSV, TSV and JSON lines."""

import json

import pytest
from conftest import once

from kbert.tasks.own_table import read_own_table

pytestmark = once


def write(folder, suffix=".tsv", **files):
    for stem, text in files.items():
        (folder / f"{stem}{suffix}").write_text(text, encoding="utf-8")
    return folder


def test_classes_of_a_pair(tmp_path):
    rows = "a,b,kind\nx,y,2\nx,z,10\nw,z,2\n"
    folder = write(tmp_path, ".csv", train=rows, dev="a,b,kind\nx,y,10\n", test="a,b\nq,r\n")
    task = read_own_table(folder, ("a", "b"), "kind")
    assert (task.label_names, task.metrics) == (("2", "10"), ("accuracy", "f1_macro"))  # Numbers by their size.
    assert [(example.texts, example.target) for example in task.train] == [
        (("x", "y"), 0), (("x", "z"), 1), (("w", "z"), 0),
    ]  # fmt: skip
    assert task.dev["dev"][0].target == 1 and task.test["test"][0].target is None
    assert task.write_answers("test", task.test["test"], [1], folder).read_text() == "index\tprediction\n0\t10\n"


def test_several_labels_in_cells_and_in_json(tmp_path):
    as_cells = "text\tlabel\none\tred, blue\ntwo\t\nthree\tgreen\n"
    task = read_own_table(write(tmp_path, train=as_cells, dev=as_cells), problem="several_labels")
    assert task.label_names == ("blue", "green", "red")
    assert [example.target for example in task.train] == [(1, 0, 1), (0, 0, 0), (0, 1, 0)]
    folder = tmp_path / "json"
    folder.mkdir()
    values = [["red", "blue"], [], ["green"]]
    lines = "".join(json.dumps({"text": "t", "label": value}) + "\n" for value in values)
    again = read_own_table(write(folder, ".jsonl", train=lines, dev=lines), problem="several_labels")
    assert [example.target for example in again.train] == [example.target for example in task.train]
    (folder / "train.jsonl").write_text(lines + json.dumps({"text": "t", "label": None}) + "\n")
    none = read_own_table(folder, problem="several_labels")
    assert none.label_names == task.label_names and none.train[3].target == (0, 0, 0)
    assert task.decode([], [], [([0.1, -0.1, 3.0],)]) == [(1, 0, 1)]
    assert task.write_answers("dev", task.dev["dev"][:1], [(1, 0, 1)], folder).read_text().endswith("\tblue,red\n")


def test_numbers(tmp_path):
    rows = "text\tlabel\none\t1.5\ntwo\t-2\n"
    task = read_own_table(write(tmp_path, train=rows, dev=rows), problem="regression")
    assert (task.label_names, [example.target for example in task.train]) == (("label",), [1.5, -2.0])
    assert task.decode([], [], [([0.25],)]) == [0.25]


ROWS = "text\tlabel\none\ta\ntwo\tb\n"
ONE_CLASS = "text\tlabel\none\ta\n"


@pytest.mark.parametrize(
    ("files", "settings", "message"),
    [
        ({"train": ROWS, "dev": "text\tlabel\none\tc\n"}, {}, r"\['a', 'b'\]. Received: \['c'\] in line 2 of .*dev"),
        ({"train": ROWS, "dev": ROWS}, {"texts": ("document",)}, r"'document'.*line 2 of .*--text, --text2"),
        ({"train": ROWS, "dev": ROWS}, {"label": "class"}, r"column 'class'. Received: \('text', 'label'\) in line 2"),
        ({"train": ROWS, "dev": ROWS}, {"problem": "labels"}, "`problem` must be one of.*problem='labels'"),
        ({"train": ROWS, "dev": ROWS}, {"texts": ("a", "b", "c")}, "one or two columns"),
        ({"train": ROWS, "dev": ROWS}, {"problem": "regression"}, "must be a number. Received: 'a' in line 2"),
        ({"train": ONE_CLASS, "dev": ROWS}, {}, r"two classes to choose from. Received: \['a'\] from line 2"),
        ({"train": ROWS + "\tb\n", "dev": ROWS}, {}, r"at least one word. Received: \('',\) in line 4 of .*train"),
        ({"train": ROWS + "three\t\n", "dev": ROWS}, {}, "must have one class. Received: '' in line 4"),
        ({"train": ROWS, "dev": "text\tlabel\n"}, {}, "must have rows. Received: none in .*dev.tsv"),
        (
            {"train": "text\tlabel\none\t1\n", "dev": "text\tlabel\none\t1\ntwo\t1\n"},
            {"problem": "regression"},
            "two different answers for pearson and spearman.*2 rows, all with the same, in .*dev.tsv",
        ),
        (
            {"train": ROWS, "dev": "text\tlabel\none\t\ntwo\t,\n"},
            {"problem": "several_labels"},
            "must have labels. Received: 2 rows without in .*dev.tsv",
        ),
    ],
)  # fmt: skip
def test_bad_tables_are_refused(tmp_path, files, settings, message):
    with pytest.raises(ValueError, match=message):
        read_own_table(write(tmp_path, **files), **settings)


@pytest.mark.parametrize("label", [{"red": 1}, [None], [["red"]]])
def test_labels_that_are_no_names_are_refused(tmp_path, label):
    lines = json.dumps({"text": "t", "label": ["red"]}) + "\n" + json.dumps({"text": "t", "label": label}) + "\n"
    with pytest.raises(ValueError, match="Labels must be a list of names, or one text. Received: .* in line 2 of"):
        read_own_table(write(tmp_path, ".jsonl", train=lines, dev=lines), problem="several_labels")


@pytest.mark.parametrize(("test", "is_scored"), [("1\n2", True), ("0\n0", False)])
def test_a_test_set_of_placeholders_is_not_scored(tmp_path, test, is_scored):
    rows = "text\tlabel\none\t1\ntwo\t2\n"
    held = "text\tlabel\n" + "".join(f"t\t{value}\n" for value in test.split("\n"))
    task = read_own_table(write(tmp_path, train=rows, dev=rows, test=held), problem="regression")
    assert task.has_answers(task.test["test"]) is is_scored
    told = () if is_scored else (f"{tmp_path}/test.tsv is not scored: all of its answers are the same",)
    assert task.notes == told


def test_a_test_set_of_one_class_or_of_nothing_is_not_scored(tmp_path):
    rows = "text\tlabel\none\ta\ntwo\tb\n"
    task = read_own_table(write(tmp_path, train=rows, dev=rows, test="text\tlabel\nthree\ta\nfour\ta\n"))
    assert not task.has_answers(task.test["test"]) and len(task.notes) == 1
    task = read_own_table(write(tmp_path, train=rows, dev=rows, test="text\tlabel\n"))
    assert task.test["test"] == [] and not task.has_answers([]) and task.notes == ()


def test_without_a_test_set_there_is_no_note(tmp_path):
    rows = "text\tlabel\none\t1\ntwo\t2\n"
    assert read_own_table(write(tmp_path, train=rows, dev=rows), problem="regression").notes == ()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="train and dev files.*without dev"):
        read_own_table(write(tmp_path, train=ROWS))
