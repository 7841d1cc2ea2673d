"""The commands that ask a model, on a small random one: what they print is what Python answers."""

import io
import json

import numpy as np
import pytest
from conftest import once_on_torch
from tiny_model import make_model, make_tokenizer

from kbert.cli import main
from kbert.convert import save_checkpoint
from kbert.inference import EmbedText, FillMask, ScoreText, extract_features

pytestmark = once_on_torch

TEXT = "The [MASK] sat on [MASK]."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(make_model(), make_tokenizer(), folder)
    return str(folder)


@pytest.fixture
def answer(folder, capsys):
    def run(*arguments):
        assert main([*arguments, "--model", folder]) == 0
        return capsys.readouterr().out

    return run


def test_fill_mask_ranks_targets(answer, folder):
    masks = json.loads(answer("fill-mask", TEXT, "--json", "--targets", "cat", "dogs"))
    expected = FillMask(folder)(TEXT, targets=["cat", "dogs"])
    assert [[c["word"] for c in mask["candidates"]] for mask in masks] == [
        [c.word for c in mask.candidates] for mask in expected
    ]
    assert masks[1]["candidates"][0]["probability"] == pytest.approx(expected[1].candidates[0].probability)
    assert len(answer("fill-mask", TEXT, "--targets", "cat", "dogs", "a mat").splitlines()) == 2 * (1 + 3)
    assert len(answer("fill-mask", TEXT).splitlines()) == 2 * (1 + 5)


def test_fill_mask_jointly(answer, folder):
    fillings = json.loads(answer("fill-mask", TEXT, "--json", "--joint", "--top-k", "3", "--beam-size", "20"))
    expected = FillMask(folder).jointly(TEXT, top_k=3, beam_size=20)
    assert [filling["text"] for filling in fillings] == [filling.text for filling in expected]
    lines = answer("fill-mask", TEXT, "--joint", "--beam-size", "2").splitlines()
    assert len(lines) == 2 and float(lines[0].split()[0]) >= float(lines[1].split()[0])


def test_score(answer, folder):
    scores = json.loads(answer("score", "the cat ran", "ran the a", "--json"))
    expected = ScoreText(folder)(["the cat ran", "ran the a"])
    assert [score["perplexity"] for score in scores] == pytest.approx([score.perplexity for score in expected])
    lines = answer("score", "the cats ran").splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["the", "cat", "##s", "ran"]


def test_embed_takes_texts_and_pairs(answer, folder):
    lines = answer("embed", "the cat", "a dog ||| ran home", "--layers", "second_to_last", "--pooling", "cls")
    vectors = [json.loads(line)["vector"] for line in lines.splitlines()]
    expected = EmbedText(folder, layers="second_to_last", pooling="cls")(["the cat", ("a dog", "ran home")])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_features_of_a_file_and_of_standard_input(answer, folder, tmp_path, monkeypatch):
    lines = "the cat sat\na dog ||| 학교에\n"
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    output = tmp_path / "features.jsonl"
    settings = ["--layers", "-1", "-2", "--max-sequence-length", "6"]
    answer("features", str(tmp_path / "lines.txt"), "--output", str(output), *settings)
    expected = list(extract_features(folder, lines.splitlines(), (-1, -2), max_sequence_length=6))
    assert [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()] == expected
    assert [len(row["features"]) for row in expected] == [5, 6]
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert answer("features", "-", *settings) == output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fill-mask", TEXT, "--targets", "zebra"], "can spell"),
        (["fill-mask", TEXT, "--joint", "--top-k", "9", "--beam-size", "2"], "between 1 and `beam_size`"),
        (["score", "the [MASK]"], "must be whole"),
        (["embed", "the cat", "--layers", "first"], "`layers` must be one of"),
        (["embed", "cat " * 60], "at most 40 tokens"),
        (["features", "no-such-file.txt"], "no-such-file.txt"),
    ],
)
def test_refusals_are_one_sentence_and_status_2(folder, capsys, arguments, message):
    assert main([*arguments, "--model", folder]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and len(printed.err.splitlines()) == 1


def test_a_refused_question_leaves_no_file(folder, tmp_path, capsys):
    (tmp_path / "lines.txt").write_text("the cat\n", encoding="utf-8")
    arguments = ["features", str(tmp_path / "lines.txt"), "--output", str(tmp_path / "out.jsonl"), "--layers", "3"]
    assert main([*arguments, "--model", folder]) == 2
    assert "count from the last" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
