"""The benchmark of answers in Python at tiny settings: both sides are asked the same and answer the same."""

import json

import pytest
import tiny_model
from conftest import once

from kbert.convert import save_checkpoint
from training import benchmark_answers

pytestmark = once
LINES = ["the cat sat on a [MASK].", "the [MASK] ran home\tdog", "two [MASK] and [MASK]", "no mask"]


@pytest.fixture
def folder(tmp_path):
    save_checkpoint(tiny_model.make_model(num_layers=1), tiny_model.make_tokenizer(), tmp_path / "bert")
    (tmp_path / "texts.txt").write_text("\n".join(LINES), encoding="utf-8")
    return tmp_path


def test_both_sides_give_the_same_words_and_vectors(folder, capfd):
    pytest.importorskip("transformers")
    options = ["--texts", str(folder / "texts.txt"), "--seconds", "0.01", "--backends", "tensorflow"]
    rows = benchmark_answers.main([str(folder / "bert"), *options])
    asked = [(row["question"], row["batch"]) for row in rows]
    assert asked == [("fill mask", 1), ("fill mask", 32), ("vectors", 1), ("vectors", 32)]
    assert all(row["ms"] > 0 and row["their_ms"] > 0 for row in rows)
    assert rows[-1]["same_first"] == 1.0 and rows[-1]["difference"] < 1e-5
    *lines, last = capfd.readouterr().out.splitlines()
    summary = json.loads(last)
    assert (summary["rows"], summary["texts"]) == (rows, 2)
    assert lines[-1].startswith("tensorflow: same first word 100.0%") and "batch 32  kbert" in lines[-2]


def test_a_file_without_masks_is_one_sentence(folder):
    (folder / "texts.txt").write_text("no mask\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"A line with one \[MASK\] must be in "):
        benchmark_answers.main([str(folder / "bert"), "--texts", str(folder / "texts.txt")])
