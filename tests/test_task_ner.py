"""Rows of tagged sentences, what is read off their logits, and scores."""

import numpy as np
import pytest
import seqeval.metrics
from conftest import once
from hypothesis import given, settings
from hypothesis import strategies as st
from test_task_tags import CONLL
from tiny_model import make_tokenizer

from kbert.tasks.ner import open_tagging

pytestmark = once

TOKENIZER = make_tokenizer()
WORDS = ["the", "cats", "학교에", "dog,", "xyz", "ran"]


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


def open_text(folder, text, name="tags", **options):
    files = {"tags": ("train.txt", "dev.txt"), "conll2003": ("eng.train", "eng.testa")}[name]
    for file in files:
        write(folder, file, text)
    return open_tagging(name, folder, **options)


def perfect(task, rows):
    """The logits of a model that gives every target."""
    outputs = []
    for row in rows:
        logits = np.zeros((len(row.targets["logits"]) + 3, len(task.label_names)))
        logits[np.arange(len(row.targets["logits"])), row.targets["logits"]] = 5
        outputs.append((logits,))
    return outputs


def test_the_first_piece_of_a_word_bears_its_tag(tmp_path):
    task = open_text(tmp_path, "the O\ncats B-X\nran I-X\n학교에 B-Y\n")
    assert task.label_names == ("O", "B-X", "I-X", "B-Y", "I-Y")
    (row,) = task.rows(TOKENIZER, task.train, 40)
    pieces = [TOKENIZER.id_to_token(token_id) for token_id in row.parts[0].token_ids]
    assert pieces == ["[CLS]", "the", "cat", "##s", "ran", "학교", "##에", "[SEP]"]
    assert row.targets["logits"] == [0, 0, 1, 0, 2, 3, 0, 0] and row.weights["logits"] == [0, 1, 1, 0, 1, 1, 0, 0]
    assert set(row.parts[0].segment_ids) == {0}


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES"])
@pytest.mark.parametrize(("length", "stride"), [(40, 128), (8, 3)])
def test_a_perfect_model_gives_every_tag(tmp_path, scheme, length, stride):
    task = open_text(tmp_path, CONLL, "conll2003", scheme=scheme, stride=stride)
    rows = task.rows(TOKENIZER, task.train, length)
    answers = task.decode(task.train, rows, perfect(task, rows))
    assert [tuple(answer) for answer in answers] == [sentence.tags for sentence in task.train]
    first = {"IOB1": "I-PER I-PER", "IOB2": "B-PER I-PER", "BIOES": "B-PER E-PER"}[scheme]
    assert " ".join(task.train[1].tags) == first
    assert task.score(task.train, answers) == dict.fromkeys(("precision", "recall", "f1", "f1_macro"), 100.0)


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(["O", "B-X", "I-X", "B-Y"])), min_size=1, max_size=60)
)
@settings(max_examples=40, deadline=None)
def test_tags_come_back_through_any_windows(tmp_path_factory, pairs):
    text = "".join(f"{word} {tag}\n" for word, tag in [*pairs, ("the", "B-X")])
    task = open_text(tmp_path_factory.mktemp("tags"), text, stride=4)
    rows = task.rows(TOKENIZER, task.train, 12)
    assert task.decode(task.train, rows, perfect(task, rows)) == [list(task.train[0].tags)]
    # Every word counts once in training, in whichever window shows it best.
    assert sum(sum(row.weights["logits"]) for row in rows) == len(task.train[0].words)


def test_documents_are_read_whole_and_scored_by_sentence(tmp_path):
    task = open_text(tmp_path, CONLL, "conll2003", document_context=True)
    assert [len(sentence.lengths) for sentence in task.train] == [2, 1]
    assert not task.tags_pieces  # "." is one character; not all words are.
    (first, second) = task.rows(TOKENIZER, task.train, 40)
    assert len(first.parts[0].token_ids) > len(second.parts[0].token_ids)
    # A span that would go on over the end of a sentence is two.
    answers = [["O", "O", "B-PER", "I-PER", "I-PER"], ["B-LOC"]]
    found = seqeval.metrics.f1_score(
        [["B-ORG", "O", "O"], ["B-PER", "I-PER"], ["B-LOC"]], [["O", "O", "B-PER"], ["I-PER", "I-PER"], ["B-LOC"]]
    )
    assert task.score(task.train, answers)["f1"] == pytest.approx(100 * found) and 0 < found < 1
    path = task.write_answers("dev", task.train, answers, tmp_path / "answers")
    assert path.read_text() == (
        "EU\tB-ORG\tO\nrejects\tO\tO\n.\tO\tB-PER\n\nPeter\tB-PER\tI-PER\nBlackburn\tI-PER\tI-PER\n\n"
        "BRUSSELS\tB-LOC\tB-LOC\n\n"
    )


def test_characters_of_klue(tmp_path):
    tags = ["B-LC", "I-LC", "O", "O", "B-X", "I-X", "I-X", "I-X"]
    lines = "".join(f"{character}\t{tag}\n" for character, tag in zip("학교에 home", tags, strict=True))
    for split in ("train", "dev"):
        write(tmp_path, f"klue-ner-v1.1_{split}.tsv", f"## 주석 : ##\n{lines}\n김\tB-PS\n모\tO\n")
    task = open_tagging("klue-ner", tmp_path)
    assert task.tags_pieces
    rows = task.rows(TOKENIZER, task.train, 40)
    answers = task.decode(task.train, rows, perfect(task, rows))
    # 김모 is one unknown word, so its two characters share a tag.
    assert answers == [tags, ["B-PS", "I-PS"]]
    assert task.score(task.train, answers)["f1"] == pytest.approx(200 / 3)


def test_a_test_file_of_placeholders_is_not_scored(tmp_path):
    for stem, text in {"train": "a B-X\n", "dev": "a B-X\n", "test": "a O\nb O\n"}.items():
        write(tmp_path, f"{stem}.txt", text)
    task = open_tagging("tags", tmp_path)
    assert task.has_answers(task.dev["dev"]) and not task.has_answers(task.test["test"])
    assert task.notes == (f"the test set from line 1 of {tmp_path}/test.txt on is not scored: all of its tags are O",)
    write(tmp_path, "test.txt", "a B-X\n")
    assert open_tagging("tags", tmp_path).notes == ()


def test_scores_of_a_model_that_errs(tmp_path):
    task = open_text(tmp_path, "a B-X\nb I-X\nc O\nd B-Y\n\ne B-X\n")
    scores = task.score(task.train, [["B-X", "O", "O", "B-Y"], ["B-X"]])  # Half a span is no span.
    assert scores == pytest.approx({"precision": 200 / 3, "recall": 200 / 3, "f1": 200 / 3, "f1_macro": 75.0})
    nothing = task.score(task.train, [["O"] * 4, ["O"]])
    assert nothing == dict.fromkeys(scores, 0.0)
    assert task.main_score({"dev": scores}) == scores["f1"]


def test_parts_of_speech_are_scored_by_accuracy(tmp_path):
    task = open_text(tmp_path, "the DET\ncats NOUN\nran VERB\n")
    assert (task.scheme, task.label_names, task.tags_pieces) == (None, ("DET", "NOUN", "VERB"), False)
    rows = task.rows(TOKENIZER, task.train, 40)
    answers = task.decode(task.train, rows, perfect(task, rows))
    assert answers == [["DET", "NOUN", "VERB"]]
    assert task.score(task.train, [["DET", "NOUN", "NOUN"]]) == {"accuracy": pytest.approx(200 / 3)}


@pytest.mark.parametrize(
    ("train", "dev", "options", "message"),
    [
        ("a B-X\n", "a O\n\nb B-Y\n", {}, "in the training file: .*'X'.*Received: B-Y .* line 3 of .*dev.txt"),
        ("a B-X\n", "a O\n", {}, "must have spans. Received: none from line 1 of .*dev.txt"),
        ("a B-X\n", "a X\n", {}, "one of B-, I-, E-, S- and a kind. Received: 'X'. In the sentence from line 1 of"),
        ("a B-X\nb X\n", "a B-X\n", {}, "Received: 'X'. In the sentence from line 1 of .*train.txt"),
        ("a B-X\n", "a B-X\n", {"document_context": True}, "needs a file with -DOCSTART- lines. Received: .*train.txt"),
        ("a B-X\n", "a B-X\n", {"scheme": "BILOU"}, "`scheme` must be one of"),
        ("a O\nb B\nc I\n", "a B\n", {}, "spans with a kind.* Received: B beside O in the sentence from line 1 of"),
        ("a O\n\nb PER_B\n", "a PER_B\n", {}, "Received: PER_B beside O in the sentence from line 3 of .*train.txt"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, train, dev, options, message):
    write(tmp_path, "train.txt", train)
    write(tmp_path, "dev.txt", dev)
    with pytest.raises(ValueError, match=message):
        open_tagging("tags", tmp_path, **options)


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path, "train.txt", "a B-X\n")
    with pytest.raises(FileNotFoundError, match="must be a file dev. Received: --data"):
        open_tagging("tags", tmp_path)
