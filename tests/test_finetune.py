"""training/finetune.py from files to a model that answers: what it learns, writes, repeats and refuses."""

import json
import pathlib

import keras
import numpy as np
import pytest
import sklearn.utils.class_weight
import torch
import transformers
from conftest import once_on_torch
from tiny_task import save_encoder, write_animals

from kbert.convert import load
from kbert.inference import Classify
from kbert.tasks.batches import Row
from kbert.text.tokenizer import PackedText
from training import finetune, finetune_plan, finetune_run

FAST = ["--learning_rate", "0.01", "--epochs", "5", "--batch_size", "16"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_animals(tmp_path_factory.mktemp("data"))


@pytest.fixture
def run(encoder, data, tmp_path):
    def start(*arguments):
        output = str(tmp_path / "out")
        return finetune.main(["table", "--data", data, "--init", encoder, "--output", output, *arguments])

    return start


def texts_of(data, stem):
    lines = (pathlib.Path(data) / f"{stem}.tsv").read_text().splitlines()
    return [line.split("\t")[0] for line in lines[1:]]


def losses_of(printed, epochs):
    """The losses of the epochs of each run."""
    losses = [line.split("loss ")[1].split()[0] for line in printed if line.startswith("  epoch")]
    return [losses[start : start + epochs] for start in range(0, len(losses), epochs)]


def probabilities(folder, texts):
    return [{label.name: label.probability for label in labels}["cat"] for labels in Classify(folder)(texts)]


def test_the_whole_road(run, data, tmp_path, capsys):
    result = run(*FAST, "--seeds", "2")
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[-1]) == json.loads(json.dumps(result))
    values = [entry["scores"]["dev"]["accuracy"] for entry in result["best"]["runs"]]
    dev = result["best"]["dev"]["dev accuracy"]
    assert min(values) > 90  # Guessing gives 50.
    assert result["best"]["runs"][0]["seed"] == 0 and losses_of(printed, 5)[0] != losses_of(printed, 5)[1]
    assert dev["mean"] == pytest.approx(np.mean(values)) and dev["spread"] == pytest.approx(np.std(values, ddof=1))
    assert f"2 seed(s): dev accuracy {dev['mean']:.2f} ± {dev['spread']:.2f}" in "\n".join(printed)

    out = tmp_path / "out"
    answers = Classify(out)(texts_of(data, "test"))
    lines = (out / "answers" / "test.tsv").read_text().splitlines()
    assert lines == ["index\tprediction", *(f"{index}\t{labels[0].name}" for index, labels in enumerate(answers))]
    saved = json.loads((out / "result.json").read_text())
    assert saved["settings"]["batch_size"] == 16 and saved["environment"]["backend"] == keras.backend.backend()

    model, report = transformers.BertForSequenceClassification.from_pretrained(out, output_loading_info=True)
    assert not any(report.get(kind) for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert model.config.id2label == {0: "cat", 1: "dog"}
    tokenizer = transformers.BertTokenizerFast.from_pretrained(out)
    texts = texts_of(data, "dev")[:6]
    with torch.no_grad():
        logits = model.eval()(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(probabilities(out, texts), logits.softmax(-1)[:, 0].numpy(), atol=1e-5)


@once_on_torch
def test_a_seed_repeats_whatever_the_padding(run, data, tmp_path, monkeypatch):
    texts = texts_of(data, "dev")
    settings = [*FAST, "--max_train_rows", "48"]
    run(*settings)
    expected = probabilities(tmp_path / "out", texts)
    assert np.std(expected) > 0.01
    # Every row as long as the model, in place of the longest of its batch. Adam makes much of small differences.
    monkeypatch.setattr(finetune_run, "length_step", lambda: 40)
    run(*settings)
    np.testing.assert_allclose(probabilities(tmp_path / "out", texts), expected, atol=2e-3)


@once_on_torch
def test_the_grid_keeps_the_best(run, tmp_path, monkeypatch):
    grid = {"batch_size": (16,), "learning_rate": (1e-9, 0.01), "epochs": (5,)}
    monkeypatch.setattr(finetune_plan, "GRID", grid)
    result = run("--grid")
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [(entry["batch_size"], entry["learning_rate"]) for entry in saved["all"]] == [
        (16, 1e-9),
        (16, 0.01),
    ]
    assert result["best"]["main"] == max(entry["main"] for entry in saved["all"])
    assert (result["best"]["batch_size"], result["best"]["learning_rate"]) == (16, 0.01)
    assert Classify(tmp_path / "out")("the mat ran home , cat .")[0].name == "cat"


@once_on_torch
def test_what_is_kept_is_the_best_run_of_the_best_mean(run, tmp_path, monkeypatch):
    monkeypatch.setattr(
        finetune_plan, "GRID", {"batch_size": (16,), "learning_rate": (1e-9, 0.01, 1e-8), "epochs": (1,)}
    )
    mains, weights = iter([0.0, -1.0, 70.0, 80.0, 90.0, 55.0]), []

    def score(scorer):
        weights.append(scorer.source.model.get_weights())
        main = next(mains)
        return {"dev": {"accuracy": main}}, main, {"dev": [len(weights) % 2] * 40}

    monkeypatch.setattr(finetune_run.Scorer, "score", score)
    result = run("--grid", "--seeds", "2", "--max_train_rows", "16")
    assert (result["best"]["learning_rate"], result["best"]["main"]) == (0.01, 75.0)  # Not the one of 90.
    assert [entry["is_kept"] for entry in result["best"]["runs"]] == [False, True]
    for ours, fourth in zip(load(tmp_path / "out").model.get_weights(), weights[3], strict=True):
        np.testing.assert_array_equal(ours, fourth)
    answers = (tmp_path / "out" / "answers" / "dev.tsv").read_text().splitlines()[1:]
    assert {line.split("\t")[1] for line in answers} == {load(tmp_path / "out").model.label_names[0]}
    assert not (tmp_path / "out" / "candidate").exists()


@once_on_torch
def test_a_score_of_zero_is_not_forgotten(run, tmp_path, monkeypatch):
    mains, weights = iter([0.0, -3.0, -1.0]), []

    def score(scorer):
        weights.append(scorer.source.model.get_weights())
        main = next(mains)
        return {"dev": {"accuracy": main}}, main, {"dev": [0] * 40}

    monkeypatch.setattr(finetune_run.Scorer, "score", score)
    run("--seeds", "3", "--max_train_rows", "16", "--epochs", "1")
    for ours, first in zip(load(tmp_path / "out").model.get_weights(), weights[0], strict=True):
        np.testing.assert_array_equal(ours, first)


@once_on_torch
def test_the_grid_leaves_alone_what_is_given(run, tmp_path, monkeypatch):
    monkeypatch.setattr(
        finetune_plan, "GRID", {"batch_size": (16, 32), "learning_rate": (1e-9, 1e-8), "epochs": (3, 4)}
    )
    run("--grid", "--epochs", "1", "--batch_size", "20", "--max_train_rows", "16")
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    names = ("batch_size", "learning_rate", "epochs")
    assert [tuple(entry[name] for name in names) for entry in saved["all"]] == [(20, 1e-9, 1), (20, 1e-8, 1)]


@once_on_torch
def test_early_stopping_takes_the_best_epoch(run, tmp_path, monkeypatch):
    mains, weights = iter([50.0, 70.0, 60.0, 65.0, 99.0]), []

    def score(scorer):
        weights.append(scorer.source.model.get_weights())
        main = next(mains)
        return {"dev": {"accuracy": main}}, main, {"dev": [0] * 40}

    monkeypatch.setattr(finetune_run.Scorer, "score", score)
    result = run("--patience", "2", "--epochs", "5", "--max_train_rows", "16")
    (entry,) = result["best"]["runs"]
    assert (entry["main"], entry["epochs"], next(mains)) == (70.0, 4, 99.0)
    kept = load(tmp_path / "out").model.get_weights()
    for ours, second in zip(kept, weights[1], strict=True):
        np.testing.assert_array_equal(ours, second)
    assert any(not np.array_equal(second, last) for second, last in zip(weights[1], weights[-1], strict=True))


@once_on_torch
def test_frozen_layers_stay(run, tmp_path):
    encoder = save_encoder(tmp_path / "encoder", num_layers=2)
    settings = ["--freeze", "2", "--layer_decay", "0.9", "--class_weights", "--learning_rate", "0.01"]
    run("--init", encoder, "--epochs", "1", "--max_train_rows", "16", *settings)
    before, after = (load(folder).model.backbone for folder in (encoder, tmp_path / "out"))
    for layer, stays in (("embeddings", True), ("block_0", True), ("block_1", False), ("pooler", False)):
        pairs = zip(before.get_layer(layer).get_weights(), after.get_layer(layer).get_weights(), strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs) == stays, layer


def test_class_weights_are_balanced():
    classes = np.array([0] * 6 + [1] * 2)
    rows = [Row((PackedText([1], [0], [(0, 0)]),), {"logits": int(index)}) for index in classes]

    class Task:
        problem, label_names = "one_class", ("a", "b")

    wanted = sklearn.utils.class_weight.compute_sample_weight("balanced", classes)
    np.testing.assert_allclose([row.weights["logits"] for row in finetune_plan._weigh(Task, rows)], wanted)


@once_on_torch
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--init", ""], "checkpoint must be a folder"),
        (["--epochs", "0"], "--epochs must be at least 1. Received: --epochs 0"),
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--warmup", "1.5"], "at least 0 and below 1. Received: --warmup 1.5"),
        (["--freeze", "9"], "between 0 and 2. Received: --freeze 9"),
        (["--max_sequence_length", "41"], "at most what the model reads, 40. Received: --max_sequence_length 41"),
        (["--text", "document"], "must have the columns .*'document'"),
        (["--problem", "several_labels", "--class_weights"], "one class a row"),
    ],
)
def test_refusals_are_one_sentence(run, arguments, message):
    with pytest.raises(SystemExit, match=message):
        run(*arguments)


def test_no_init_and_no_such_task(data):
    with pytest.raises(SystemExit, match="--init must be given"):
        finetune.main(["table", "--data", data])
    with pytest.raises(SystemExit, match="TASK must be one of cola,.*table.* Received: tabel"):
        finetune.main(["tabel", "--data", data, "--init", "kbert-small-en"])
