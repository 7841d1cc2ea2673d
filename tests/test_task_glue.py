"""GLUE's files in their own layouts, and the files that its leaderboard takes."""

import dataclasses

import pytest
from conftest import once

from kbert.tasks.glue import LAYOUTS, read_glue

pytestmark = once

# File -> text, as they are downloaded: columns, quirks and all. Two rows each.
MNLI = "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
MNLI += "sentence2_parse\tsentence1\tsentence2\t"
FILES = {
    "cola": {
        "CoLA/train.tsv": "gj04\t1\t\tOur friends won't buy it.\ngj04\t0\t*\tThey drank the pub.\n",
        "CoLA/dev.tsv": "gj04\t1\t\tThe sailors rode.\ngj04\t0\t*\tThe sailors \"rode the.\n",
        "CoLA/test.tsv": "index\tsentence\n0\tBill whistled.\n1\tThe car honked.\n",
    },
    "sst2": {
        "SST-2/train.tsv": "sentence\tlabel\nno wit \t0\nlovely \t1\n",
        "SST-2/dev.tsv": "sentence\tlabel\nbad \t0\ngood \t1\n",
        "SST-2/test.tsv": "index\tsentence\n0\tuneasy mishmash .\n1\tgood .\n",
    },
    "mrpc": {
        "MRPC/train.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        "1\t7\t8\tHe said \"a .\tA .\n0\t9\t10\tb\tc\n",
        "MRPC/dev.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\td\te\n0\t9\t10\tf\tg\n",
        "MRPC/test.tsv": "\ufeffindex\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t7\t8\th\ti\n1\t9\t10\tj\tk\n",
    },
    "stsb": {
        f"STS-B/{stem}.tsv": f"index\tgenre\tsentence1\tsentence2{column}\n0\tm\ta\tb{one}\n1\tm\tc\td{two}\n"
        for stem, column, one, two in (
            ("train", "\tscore", "\t5.000", "\t0.250"), ("dev", "\tscore", "\t1.0", "\t2.0"), ("test", "", "", ""),
        )
    },
    "qqp": {
        "QQP/train.tsv": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "1\t1\t2\ta?\tb?\t1\n2\t3\t4\tbroken\n3\t5\t6\tc?\t\t0\n",
        "QQP/dev.tsv": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\ta?\tb?\t1\n3\t5\t6\tc?\td?\t0\n",
        "QQP/test.tsv": "id\tquestion1\tquestion2\n0\ta?\tb?\n1\tc?\td?\n",
    },
    "mnli": {
        "MNLI/train.tsv": f"{MNLI}label1\tgold_label\n" + "0\t" * 8 + "a\tb\tneutral\tneutral\n",
        "MNLI/dev_matched.tsv": f"{MNLI}label1\tgold_label\n" + "0\t" * 8 + "a\tb\tneutral\tentailment\n",
        "MNLI/dev_mismatched.tsv": f"{MNLI}label1\tgold_label\n" + "0\t" * 8 + "a\tb\tneutral\tcontradiction\n",
        "MNLI/test_matched.tsv": MNLI[:-1] + "\n" + "0\t" * 8 + "a\tb\n" + "1\t" * 8 + "c\td\n",
        "MNLI/test_mismatched.tsv": MNLI[:-1] + "\n" + "0\t" * 8 + "a\tb\n" + "1\t" * 8 + "c\td\n",
        "diagnostic/diagnostic.tsv": "index\tsentence1\tsentence2\n0\tThe cat sat.\tIt did not.\n1\ta\tb\n",
    },
    "qnli": {
        f"QNLI/{stem}.tsv": f"index\tquestion\tsentence{column}\n0\tq?\ta.{one}\n1\tr?\tb.{two}\n"
        for stem, column, one, two in (
            ("train", "\tlabel", "\tentailment", "\tnot_entailment"),
            ("dev", "\tlabel", "\tentailment", "\tnot_entailment"),
            ("test", "", "", ""),
        )
    },
}  # fmt: skip
FILES["rte"] = {
    name.replace("QNLI", "RTE"): text.replace("question", "sentence1").replace("\tsentence\t", "\tsentence2\t")
    .replace("\tsentence\n", "\tsentence2\n")
    for name, text in FILES["qnli"].items()
}  # fmt: skip
FILES["wnli"] = {
    name.replace("RTE", "WNLI"): text.replace("\tnot_entailment", "\t0").replace("\tentailment", "\t1")
    for name, text in FILES["rte"].items()
}
FILES["korsts"] = {
    f"KorSTS/sts-{stem}.tsv": "genre\tfilename\tyear\tid\tscore\tsentence1\tsentence2\n"
    "m\tv\t2012\t1\t5.0\t비행기가 \"이륙\tb\nm\tv\t2012\t2\t0.5\tc\td\n"
    for stem in ("train", "dev", "test")
}  # fmt: skip
FILES["nsmc"] = {
    "nsmc/ratings_train.txt": "id\tdocument\tlabel\n9\t영화\t1\n8\t\t0\n",
    "nsmc/ratings_test.txt": "id\tdocument\tlabel\n9\t영화\t1\n8\t나쁨\t0\n",
}


@pytest.fixture(params=LAYOUTS)
def task(request, tmp_path):
    return request.param, write(tmp_path, FILES[request.param])


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# Texts and target of the first row of the training file.
FIRST = {
    "cola": (("Our friends won't buy it.",), "acceptable"),
    "sst2": (("no wit ",), "negative"),
    "mrpc": (('He said "a .', "A ."), "equivalent"),
    "stsb": (("a", "b"), 5.0),
    "qqp": (("a?", "b?"), "duplicate"),
    "mnli": (("a", "b"), "neutral"),
    "qnli": (("q?", "a."), "entailment"),
    "rte": (("q?", "a."), "entailment"),
    "wnli": (("q?", "a."), "entailment"),
    "korsts": (('비행기가 "이륙', "b"), 5.0),
    "nsmc": (("영화",), "positive"),
}


def test_every_layout_is_read(task):
    name, folder = task
    read = read_glue(name, folder)
    texts, answer = FIRST[name]
    assert read.train[0].texts == texts
    target = read.train[0].target
    assert (target if read.problem == "regression" else read.label_names[target]) == answer
    assert {example.where.split(" of ")[0] for examples in read.dev.values() for example in examples} == (
        {"line 1", "line 2"} if name == "cola" else {"line 2"} if name == "mnli" else {"line 2", "line 3"}
    )
    if name != "korsts":
        assert all(example.target is None for examples in read.test.values() for example in examples)
    own = read_glue(name, folder / LAYOUTS[name].folder)
    assert own.train[0].texts == texts


# What the leaderboard's own example files hold: https://gluebenchmark.com/faq.
SUBMISSIONS = {
    "cola": {"CoLA.tsv": ("0", "1")},
    "sst2": {"SST-2.tsv": ("0", "1")},
    "mrpc": {"MRPC.tsv": ("0", "1")},
    "stsb": {"STS-B.tsv": ("5.000", "0.250")},
    "qqp": {"QQP.tsv": ("0", "1")},
    "mnli": dict.fromkeys(("MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"), ("entailment", "contradiction")),
    "qnli": {"QNLI.tsv": ("entailment", "not_entailment")},
    "rte": {"RTE.tsv": ("entailment", "not_entailment")},
    "wnli": {"WNLI.tsv": ("0", "1")},
}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_the_leaderboards_files(name, tmp_path):
    task = read_glue(name, write(tmp_path, FILES[name]))
    answers = [5.7, 0.25] if name == "stsb" else [0, len(task.label_names) - 1]
    written = {}
    for set_name, examples in task.test.items():
        path = task.write_answers(set_name, examples, answers, tmp_path / "answers")
        written[path.name] = path.read_text()
    assert written == {
        file: f"index\tprediction\n0\t{one}\n1\t{two}\n" for file, (one, two) in SUBMISSIONS[name].items()
    }


def test_ids_that_name_several_rows_name_none(tmp_path):
    """In KorSTS an id counts within a year's file only."""
    folder = write(tmp_path, FILES["korsts"])
    path = folder / "KorSTS" / "sts-dev.tsv"
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *rows, *rows]) + "\n")
    task = read_glue("korsts", folder)
    written = task.write_answers("dev", task.dev["dev"], [1.0] * 2 * len(rows), tmp_path / "answers").read_text()
    assert [line.split("\t")[0] for line in written.splitlines()[1:]] == [str(n) for n in range(2 * len(rows))]
    assert read_glue("nsmc", write(tmp_path, FILES["nsmc"])).train[0].number != "0"  # Its ids are a review's own.


def test_rows_that_are_missing_are_told(tmp_path):
    notes = read_glue("qqp", write(tmp_path, FILES["qqp"])).notes
    assert len(notes) == 1 and notes[0].endswith("train.tsv: 1 rows with a cell too few were left out")
    notes = read_glue("mrpc", write(tmp_path, FILES["mrpc"])).notes
    assert notes == (f"{tmp_path}/MRPC/train.tsv has 2 rows, the official file 3,668",)


def test_qqp_keeps_an_empty_question(tmp_path):
    task = read_glue("qqp", write(tmp_path, FILES["qqp"]))
    assert [example.texts for example in task.train] == [("a?", "b?"), ("c?", "")]


def test_scores_of_all_dev_sets_make_the_main_one(tmp_path):
    task = read_glue("mnli", write(tmp_path, FILES["mnli"]))
    assert [task.label_names[example.target] for example in task.dev["matched"]] == ["entailment"]
    scores = {"matched": {"accuracy": 80.0}, "mismatched": {"accuracy": 70.0}}
    assert task.main_score(scores) == 75.0
    mrpc = dataclasses.replace(task, metrics=("f1", "accuracy"))
    examples = [dataclasses.replace(task.train[0], target=target) for target in (1, 1, 0, 0)]
    assert mrpc.score(examples, [1, 0, 0, 0]) == {"f1": pytest.approx(200 / 3), "accuracy": 75.0}


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "message"),
    [
        ("rte", "RTE/dev.tsv", "\tentailment", "\tneutral", r"label must be one of.*Received: 'neutral' in line 2 of"),
        ("rte", "RTE/dev.tsv", "\ta.\t", "\t \t", r"at least one word. Received: \('q\?', ' '\) in line 2 of .*dev"),
        ("rte", "RTE/train.tsv", "\tb.\t", "\t", "as the header, 4. Received: 3 cells in line 3 of .*train.tsv"),
        ("rte", "RTE/train.tsv", "sentence2", "hypothesis", r"must have the columns.*'hypothesis'.* in line 2 of"),
        ("rte", "RTE/dev.tsv", "\n1\tr?\tb.\tnot_entailment", "", None),
        ("cola", "CoLA/dev.tsv", "\t0\t", "\t1\t", "two different answers for matthews.*all with the same, in .*dev"),
        ("stsb", "STS-B/train.tsv", "5.000", "high", "must be a number. Received: 'high' in line 2 of .*train.tsv"),
        ("stsb", "STS-B/dev.tsv", "1.0", "nan", "must be a number. Received: 'nan' in line 2 of .*dev.tsv"),
        ("qqp", "QQP/dev.tsv", "d?\t0", "d?", "as the header, 6. Received: 5 cells in line 3 of .*dev.tsv"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(tmp_path, name, file, old, new, message):
    folder = write(tmp_path, FILES[name])
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    if message is None:
        assert len(read_glue(name, folder).dev["dev"]) == 1  # One class is enough for accuracy.
        return
    with pytest.raises(ValueError, match=message):
        read_glue(name, folder)


def test_a_missing_file_is_named(tmp_path):
    folder = write(tmp_path, FILES["rte"])
    (folder / "RTE/dev.tsv").unlink()
    with pytest.raises(FileNotFoundError, match=f"must be a dev.tsv. Received: --data {folder}/RTE without"):
        read_glue("rte", folder)
