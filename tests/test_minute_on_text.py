"""training/minute_on_text.py, and the examples that a run writes at each save."""

import json
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from conftest import once

import kbert
from demo.minute_text import example_text
from training import minute_on_text


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of three seconds on the example text."""
    folder = tmp_path_factory.mktemp("minute")
    (folder / "text.txt").write_text(example_text("en"), encoding="utf-8")
    minute_on_text.main([str(folder / "text.txt"), "--output", str(folder), "--minutes", "0.05"])
    return folder


def test_a_text_becomes_a_checkpoint(finished):
    history = (finished / "run" / "history.csv").read_text().splitlines()
    settings = json.loads((finished / "run" / "run.json").read_text())["settings"]
    assert len(history) == 1 + -(-settings["steps"] // settings["save_every"])
    assert (finished / "corpus.txt").read_text() == example_text("en") + "\n"
    tokenizer = kbert.load(finished / "run").tokenizer
    assert [tokenizer.id_to_token(token_id) for token_id in tokenizer.encode("Lisbon zloty")] == ["lisbon", "zloty"]


def test_examples_are_what_the_saved_model_answers(finished):
    rows = json.loads((finished / "run" / "examples.json").read_text(encoding="utf-8"))
    checkpoint = kbert.load(finished / "run")
    ids = {token: number for number, token in enumerate(checkpoint.tokenizer.vocabulary)}
    text = " ".join(re.findall(r"\w+|\.", example_text("en").lower()))
    assert len(rows) == 4
    for row in rows:
        token_ids = np.array([[ids[token] for token in row["tokens"]]], "int32")
        place = row["tokens"].index("[SEP]") + 1  # Of the second part.
        inputs = {
            "token_ids": token_ids,
            "segment_ids": (np.arange(token_ids.shape[1]) >= place).astype("int32")[None],
            "padding_mask": np.ones_like(token_ids),
            "mask_positions": np.array([[one["position"] for one in row["masked"]]], "int32"),
        }
        outputs = checkpoint.model(inputs, training=False)
        answers = {name: keras.ops.convert_to_numpy(keras.ops.softmax(logits)) for name, logits in outputs.items()}
        for probabilities, one in zip(answers["mlm"][0], row["masked"], strict=True):
            best = [float(probabilities[ids[token]]) for token, _ in one["candidates"]]
            assert best == pytest.approx(sorted(probabilities, reverse=True)[:3], abs=1e-5)
            assert [share for _, share in one["candidates"]] == pytest.approx(best, abs=1e-4)
        assert row["follows"] == pytest.approx(float(answers["nsp"][0, 0]), abs=1e-4)
        whole = list(row["tokens"])
        for one in row["masked"]:
            whole[one["position"]] = one["token"]
        parts = " ".join(whole[1:-1]).split(" [SEP] ")
        assert len(parts) == 2 and all(part in text for part in parts)
        if not row["is_random_next"]:
            assert " ".join(parts) in text


@once
def test_it_ends_with_its_input(tmp_path):
    (tmp_path / "text.txt").write_text(example_text("ko"), encoding="utf-8")
    command = [sys.executable, "-m", "training.minute_on_text", str(tmp_path / "text.txt"), "--language", "ko"]
    command += ["--output", str(tmp_path), "--until_end_of_input"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(timeout=120) == 1
    assert not (tmp_path / "run").exists()
