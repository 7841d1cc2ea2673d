"""training/finetune.py on each kind of task: the model learns what a tiny one can, and the folder answers."""

import json

import numpy as np
import pytest
from conftest import once_on_torch
from tiny_task import WORDS, animal_sentences, save_encoder

from kbert.inference import Answer, Choose, Classify, Tag
from training import finetune, finetune_peer

pytestmark = once_on_torch

FAST = ["--learning_rate", "0.01", "--epochs", "5", "--batch_size", "16"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def run(encoder, tmp_path):
    def start(task, *arguments):
        output = str(tmp_path / "out")
        finetune.main([task, "--data", str(tmp_path), "--init", encoder, "--output", output, *FAST, *arguments])
        return json.loads((tmp_path / "out" / "result.json").read_text())["best"]["runs"][0], tmp_path / "out"

    return start


@pytest.fixture
def peer(encoder, tmp_path):
    """What transformers' model scores on the same files by training/finetune_peer.py: it learns them too."""

    def start(task, *arguments):
        result = finetune_peer.main([task, "--data", str(tmp_path), "--init", encoder, *FAST, *arguments])
        return result["best"]["runs"][0]

    return start


def test_a_number(run, peer, tmp_path):
    for stem, number, seed in (("train", 160, 1), ("dev", 40, 2)):
        lines = (f"{text}\t{1.5 if animal == 'cat' else -0.5}\n" for text, animal in animal_sentences(number, seed))
        (tmp_path / f"{stem}.tsv").write_text("text\tlabel\n" + "".join(lines))
    result, folder = run("table", "--problem", "regression")
    assert result["scores"]["dev"]["pearson"] > 80
    assert peer("table", "--problem", "regression")["scores"]["dev"]["pearson"] > 80
    (number,) = Classify(folder)("the mat ran home , cat .")
    assert (number.name, number.probability) == ("label", None) and number.value == pytest.approx(1.5, abs=0.6)


def test_several_labels(run, peer, tmp_path):
    for stem, number, seed in (("train", 160, 1), ("dev", 40, 2)):
        with (tmp_path / f"{stem}.jsonl").open("w") as file:
            for text, animal in animal_sentences(number, seed):
                labels = [animal] + ["home"] * ("home" in text.split())
                file.write(json.dumps({"text": text, "label": labels}) + "\n")
    result, folder = run("table", "--problem", "several_labels", "--epochs", "10")
    assert result["scores"]["dev"]["f1_micro"] > 85
    assert peer("table", "--problem", "several_labels", "--epochs", "10")["scores"]["dev"]["f1_micro"] > 85
    labels = {label.name: label.probability for label in Classify(folder)("the cat ran home .")}
    assert labels["cat"] > 0.5 > labels["dog"] and labels["home"] > 0.5


def squad_file(number, seed):
    questions = []
    for index, (text, animal) in enumerate(animal_sentences(number, seed)):
        answer = {"text": animal, "answer_start": f" {text} ".index(f" {animal} ")}
        questions.append(
            {"context": text, "qas": [{"id": str(index), "question": "on the mat ?", "answers": [answer]}]}
        )
    return json.dumps({"data": [{"title": "", "paragraphs": questions}]})


def test_questions_without_answer(run, peer, tmp_path):
    for stem, number, seed in (("train", 200, 1), ("dev", 40, 2)):
        content = json.loads(squad_file(number, seed))
        for paragraph in content["data"][0]["paragraphs"][::2]:
            (entry,) = paragraph["qas"]
            paragraph["context"] = paragraph["context"].replace(entry["answers"][0]["text"], "mat")
            entry |= {"answers": [], "is_impossible": True}
        (tmp_path / f"{stem}-v2.0.json").write_text(json.dumps(content))
    result, folder = run("squad2", "--stride", "5")
    assert result["scores"]["dev"]["f1"] > 80
    assert peer("squad2", "--stride", "5")["scores"]["dev"]["f1"] > 80
    predictions = json.loads((folder / "answers" / "predictions.json").read_text())
    assert len(predictions) == 40 and {"cat", "dog", ""} <= set(predictions.values())
    threshold = result["scores"]["dev"]["threshold"]
    ask = Answer(folder)
    for paragraph in content["data"][0]["paragraphs"][:12]:  # Of dev.
        (entry,) = paragraph["qas"]
        (found,) = ask(entry["question"], paragraph["context"], may_be_absent=True, null_threshold=threshold)
        assert found.text == predictions[entry["id"]]


def test_names(run, peer, tmp_path):
    kinds = {"cat": "B-CAT", "dog": "B-DOG"}
    for stem, number, seed in (("train", 160, 1), ("dev", 40, 2), ("test", 20, 3)):
        with (tmp_path / f"{stem}.txt").open("w") as file:
            for text, _ in animal_sentences(number, seed):
                file.writelines(f"{word} {kinds.get(word, 'O')}\n" for word in text.split())
                file.write("\n")
    result, folder = run("tags", "--scheme", "BIOES")
    for found in (result, peer("tags", "--scheme", "BIOES")):
        assert found["scores"]["dev"]["f1"] > 90 and found["tests"]["test"]["f1"] > 90
    text = "the dog sat on a mat , home cat ."
    spans = Tag(folder)(text)
    assert [(span.label, span.text, span.start) for span in spans] == [("DOG", "dog", 4), ("CAT", "cat", 28)]
    words = (folder / "answers" / "test.tsv").read_text().split("\n\n")
    assert len(words) == 21 and all(len(line.split("\t")) == 3 for line in words[0].splitlines())


def test_endings(run, peer, tmp_path):
    rng = np.random.default_rng(0)
    for stem, number in (("train", 160), ("val", 40)):
        lines = ["sent1,sent2,ending0,ending1,ending2,label"]
        for _ in range(number):
            label = int(rng.integers(3))
            endings = [" ".join([*rng.choice(WORDS[:-2], 3), "cat" if place == label else "dog"]) for place in range(3)]
            endings = [ending.replace(",", ".") for ending in endings]
            lines.append(",".join([str(rng.choice(["the mat", "a home"])), "ran", *endings, str(label)]))
        (tmp_path / f"{stem}.csv").write_text("\n".join(lines) + "\n")
    result, folder = run("swag", "--epochs", "10")
    assert result["scores"]["dev"]["accuracy"] > 80
    assert peer("swag", "--epochs", "10")["scores"]["dev"]["accuracy"] > 80
    endings = ["ran the mat sat dog", "ran a mat sat cat", "ran the sat dog"]
    assert Choose(folder)("the mat", endings)[0].number == 1
