"""The benchmark and the endurance run at tiny settings: they ask both sides the same, and see what is wrong."""

import itertools
import json

import numpy as np
import pytest
import tiny_model
from conftest import once

from kbert.convert import save_checkpoint
from training import benchmark_serving, serving_endurance

pytest.importorskip("tensorflow_text")
pytestmark = once
LINES = ["the cat sat on a mat.", "the dog ran home", "학교에 the cats ran , the dogs sat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    save_checkpoint(tiny_model.make_model(num_layers=1), tiny_model.make_tokenizer(), folder / "bert")
    (folder / "texts.txt").write_text("\n".join(LINES), encoding="utf-8")
    return folder


def test_the_pipeline_of_transformers_gives_the_same_words(folder, capfd):
    pytest.importorskip("transformers")
    options = ["--texts", str(folder / "texts.txt"), "--seconds", "0.01", "--cores", "1", "--top_k", "2"]
    result = benchmark_serving.main([str(folder / "bert"), *options])
    assert [(row["cores"], row["batch"], row["same_first"]) for row in result["rows"]] == [(1, 1, 1.0), (1, 32, 1.0)]
    assert all(row["ms"] > 0 and row["their_ms"] > 0 for row in result["rows"]) and result["texts"] == 3
    *lines, last = capfd.readouterr().out.splitlines()
    assert json.loads(last)["rows"] == result["rows"] and "1 core(s), batch 32  kbert" in lines[-1]


def test_no_texts_is_one_sentence(folder):
    with pytest.raises(SystemExit, match="--texts must be given"):
        benchmark_serving.main([str(folder / "bert")])


def test_a_server_endures(folder, capfd):
    options = ["--texts", str(folder / "texts.txt"), "--count", "20", "--pool", "6", "--minutes", "0.1"]
    serving_endurance.main([str(folder / "bert"), *options])  # So short a run says nothing about memory.
    first, *_, last = capfd.readouterr().out.splitlines()
    assert first.startswith("6 requests, largest difference to kbert.inference ")
    result = json.loads(last)
    assert result["difference"] < 1e-5 and result["change"] < 1e-5 and result["failures"] == 0
    assert result["answered"] > 0 and result["refused"] > 0 and result["largest_megabytes"] > 50


class Client:
    """Answers each request with the next of a list."""

    def __init__(self, answers):
        self.answers = itertools.cycle(answers)

    def predict(self, signature, **inputs):
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        ([{"mean": np.array([1.0])}, {"mean": np.array([1.5])}], {"change": 0.5}),
        ([{"mean": np.array([1.0, 2.0])}], {"change": np.inf}),
        ([{"mean": np.array(["a"], object)}], {"change": np.inf}),
        ([OSError("gone")], {"answered": 0}),
        ([ValueError("The server refuses, with status 500: it failed")], {"refused": 0, "answered": 0}),
    ],
)
def test_what_is_wrong_is_seen(answers, seen):
    expected = {"mean": np.array([1.0])}
    load = serving_endurance.Load(Client(answers), [("embed", {"text": ["a"]}, expected)], "self")
    settings = serving_endurance.Settings("bert", minutes=0.001, threads=1)
    result = load.run(settings)
    assert {name: result[name] for name in seen} == seen
    assert result["failures"] > 0  # A wrong request was answered, or one failed.
