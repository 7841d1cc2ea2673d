"""Answers out of texts: exact characters, windows, no answer, and what is refused."""

import io
import json

import keras
import numpy as np
import pytest
from tiny_model import CONFIG, make_model, make_tokenizer

from kbert.cli import main
from kbert.convert import save_checkpoint
from kbert.inference import Answer
from kbert.models import BertBackbone, BertSpanFinder

QUESTION = "the cat sat on a mat ?"
CONTEXT = "A dog ran home. The cats, on  the mat, sat on 학교에 the mat."


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    return BertSpanFinder(BertBackbone(CONFIG.replace(num_layers=2)))


@pytest.fixture(scope="module")
def answer(model):
    return Answer(model, make_tokenizer(), stride=8)


def logits_of(model, question, context):
    """(offsets, start, end) of a context that fits, from the row as `WordPieceTokenizer.pack` makes it."""
    row = make_tokenizer().pack(question, context)
    inputs = {
        "token_ids": np.array([row.token_ids]),
        "segment_ids": np.array([row.segment_ids]),
        "padding_mask": np.ones((1, len(row.token_ids))),
    }
    outputs = model({name: value.astype("int32") for name, value in inputs.items()}, training=False)
    first = row.segment_ids.index(1)
    start, end = (keras.ops.convert_to_numpy(outputs[name])[0] for name in ("start", "end"))
    return row.offsets[first:-1], start, end, first


def test_the_best_of_all_spans(model, answer):
    offsets, start, end, first = logits_of(model, QUESTION, CONTEXT)
    tried = {
        (offsets[i][0], offsets[j][1]): start[first + i] + end[first + j]
        for i in range(len(offsets)) for j in range(i, min(i + 30, len(offsets)))
    }  # fmt: skip
    wanted = sorted(tried.items(), key=lambda item: -item[1])[:20]
    found = answer(QUESTION, CONTEXT, top_k=20)
    assert [(a.start, a.end) for a in found[:5]] == [key for key, _ in wanted[:5]]
    np.testing.assert_allclose([a.score for a in found[:5]], [score for _, score in wanted[:5]], atol=1e-4)
    assert all(a.text == CONTEXT[a.start : a.end] for a in found)
    assert sum(a.probability for a in found) == pytest.approx(1)
    # The best span of all may be longer than is allowed.
    assert all(
        make_tokenizer().encode(a.text).__len__() <= 2 for a in answer(QUESTION, CONTEXT, 20, max_answer_length=2)
    )


def test_no_answer_against_a_threshold(model, answer):
    _, start, end, _ = logits_of(model, QUESTION, CONTEXT)
    best = answer(QUESTION, CONTEXT)[0]
    difference = start[0] + end[0] - best.score
    first = answer(QUESTION, CONTEXT, 2, may_be_absent=True, null_threshold=difference - 0.01)
    assert (first[0].text, first[0].start, first[0].end) == ("", 0, 0) and first[1].text == best.text
    assert first[0].score == pytest.approx(start[0] + end[0], abs=1e-4)
    other = answer(QUESTION, CONTEXT, 20, may_be_absent=True, null_threshold=difference + 0.01)
    assert other[0].text == best.text and [a.text for a in other].count("") <= 1


def test_a_long_context_is_read_in_windows(model, answer):
    long = " ".join([CONTEXT] * 30)
    asked = []
    counted = Answer(
        lambda inputs: asked.append(inputs["token_ids"].shape) or model(inputs, training=False), make_tokenizer(), 40, 8
    )
    found = counted(QUESTION, long, top_k=20)
    assert sum(rows for rows, _ in asked) > 60 and max(length for _, length in asked) <= 40
    assert all(a.text == long[a.start : a.end] for a in found)
    assert [(a.start, a.end) for a in found] == [(a.start, a.end) for a in answer(QUESTION, long, top_k=20)]


def test_lists_are_answered_as_each_alone(answer):
    questions, contexts = [QUESTION, "home ?", "dog ran ?"], [CONTEXT, " ".join([CONTEXT] * 4), "the dog ."]
    for question, context, found in zip(questions, contexts, answer(questions, contexts, top_k=3), strict=True):
        alone = answer(question, context, top_k=3)
        assert [(a.start, a.end) for a in found] == [(a.start, a.end) for a in alone]
        np.testing.assert_allclose([a.score for a in found], [a.score for a in alone], atol=1e-4)


def test_a_context_of_blanks_has_none(answer):
    assert answer(QUESTION, " \n ") == []
    assert [a.text for a in answer(QUESTION, "", may_be_absent=True)] == [""]


def test_what_is_refused(answer):
    with pytest.raises(ValueError, match="at least one word. Received: an empty question"):
        answer(" ", CONTEXT)
    with pytest.raises(ValueError, match="between 1 and 20. Received: top_k=21"):
        answer(QUESTION, CONTEXT, top_k=21)
    with pytest.raises(ValueError, match="must be a BertSpanFinder. Received: a BertPretrainer"):
        Answer(make_model(), make_tokenizer())
    with pytest.raises(ValueError, match="shorter|longer"):
        answer([QUESTION], [])


def test_the_command_prints_what_python_answers(model, tmp_path, capsys, monkeypatch):
    save_checkpoint(model, make_tokenizer(), tmp_path)
    expected = Answer(tmp_path)(QUESTION, CONTEXT, top_k=3)
    arguments = ["answer", QUESTION, CONTEXT, "--top-k", "3", "--model", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    assert [entry["text"] for entry in json.loads(capsys.readouterr().out)] == [a.text for a in expected]
    monkeypatch.setattr("sys.stdin", io.StringIO(CONTEXT))
    arguments[2] = "-"
    assert main([*arguments, "--may-be-absent", "--null-threshold", "-1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("  (no answer)") and lines[1].endswith(f"  {expected[0].text}")
