"""training/pretrain.py: learning, resuming after a kill, refusals, and what it leaves on disk."""

import csv
import dataclasses
import io
import json
import math
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout

import keras
import numpy as np
import pytest
import safetensors.numpy
from conftest import once_on_torch

from kbert.convert import load
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, read_shard
from kbert.text.tokenizer import WordPieceTokenizer
from training import evaluate, prepare, pretrain
from training.phases import warn_of_few_slots
from training.state import saved_states

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NUM_TOPICS, TOPIC_WORDS = 10, 4
WORDS = [f"{chr(97 + topic)}{chr(111 + word)}" for topic in range(NUM_TOPICS) for word in range(TOPIC_WORDS)]
SLOTS = 5


def make_data(folder, num_documents, block_characters):
    """Write shards of a text in which a document has a topic, and a topic four words of its own."""
    draw = random.Random(7)
    documents = []
    for _ in range(num_documents):
        topic = TOPIC_WORDS * draw.randrange(NUM_TOPICS)
        words = WORDS[topic : topic + TOPIC_WORDS]
        sentences = (" ".join(draw.choices(words, k=draw.randint(4, 8))) + "." for _ in range(draw.randint(4, 9)))
        documents.append("\n".join(sentences))
    (folder / "corpus.txt").write_text("\n\n".join(documents))
    (folder / "words.txt").write_text("\n".join([*SPECIAL_TOKENS, ".", *WORDS]) + "\n")
    command = [folder / "corpus.txt", "--vocabulary", folder / "words.txt", "--output", folder / "shards"]
    sizes = {"max_sequence_length": 29, "held_out_rate": 0.15, "block_characters": block_characters, "workers": 1}
    prepare.main([*map(str, command), *flags(sizes)])
    return folder / "shards"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=120, block_characters=3000)


def flags(settings):
    return [text for name, value in settings.items() for text in (f"--{name}", str(value))]


def command(data, output, **changes):
    """The arguments of a run of 60 steps with three saves, dropout on."""
    settings = {"size": "1x64", "steps": 60, "save_every": 20, "batch_size": 6, "learning_rate": 3e-3}
    settings |= {"mask_selection_length": SLOTS, "held_out_batches": 3, "seed": 5}
    return [str(data), "--output", str(output), *flags(settings | changes)]


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A run that nobody disturbed, and what it printed."""
    output = tmp_path_factory.mktemp("finished") / "run"
    with redirect_stdout(io.StringIO()) as printed:
        pretrain.main(command(data, output))
    (output / "printed.txt").write_text(printed.getvalue())
    return output


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished run that has not told its result yet."""
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    return tmp_path / "run"


def history(folder):
    with (folder / "history.csv").open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def assert_same_run(one, other):
    weights = [safetensors.numpy.load_file(folder / "model.safetensors") for folder in (one, other)]
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        np.testing.assert_allclose(value, weights[1][name], rtol=0, atol=1e-6, err_msg=name)
    rows = history(one)
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    for row, expected in zip(rows, history(other), strict=True):
        assert row == pytest.approx(expected, rel=1e-4)


def test_what_a_run_leaves(finished, data):
    names = {path.name for path in finished.iterdir()}
    assert {"config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"} <= names
    assert {"history.csv", "run.json", "result.json", "state", "tensorboard"} <= names
    assert list((finished / "tensorboard").rglob("events.out.tfevents.*"))
    assert [step for step, _ in saved_states(finished / "state")] == [40, 60]
    assert not [path for path in finished.rglob("*") if "partial" in path.name or "unfinished" in path.name]
    assert load(finished).missing_parts == ()

    printed = (finished / "printed.txt").read_text().strip().split("\n")
    assert printed[0].startswith(f"backend {keras.backend.backend()} on ")
    result = json.loads(printed[-1])
    assert result == json.loads((finished / "result.json").read_text())
    assert result["steps"] == 60 and math.isfinite(result["loss"] + result["nsp_accuracy"] + result["mlm_perplexity"])
    assert [line.split("  ")[0] for line in printed if line.startswith("step ")] == [
        f"step {n}/60" for n in (20, 40, 60)
    ]

    run = json.loads((finished / "run.json").read_text())
    assert run["settings"]["learning_rate"] == 3e-3 and run["settings"]["data"] == [str(data)]
    assert run["starts"][0]["backend"] == keras.backend.backend() and run["starts"][0]["versions"]["keras"]


def test_killed_and_started_again_is_the_run_that_was_never_killed(finished, data, tmp_path):
    output = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-m", "training.pretrain", *command(data, output)])
    while not saved_states(output / "state"):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pretrain.main(command(data, output))
    assert_same_run(output, finished)
    starts = json.loads((output / "run.json").read_text())["starts"]
    assert starts[0]["first_step"] == 0 < starts[1]["first_step"] < 60


@once_on_torch
def test_a_damaged_state_gives_way_to_the_one_before(copy, finished, data, capsys):
    newest = saved_states(copy / "state")[-1][1]
    newest.write_bytes(newest.read_bytes()[:1000])
    pretrain.main(command(data, copy))
    assert f"{newest} is damaged" in capsys.readouterr().out
    assert_same_run(copy, finished)
    for _, path in saved_states(copy / "state"):
        path.write_bytes(b"")
    with pytest.raises(SystemExit, match="A saved state must be whole. Received: .*state without any"):
        pretrain.main(command(data, copy))


def test_finished_and_started_again_trains_nothing(finished, data, capsys):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.name != "run.json"}
    result = pretrain.main(command(data, finished))
    printed = capsys.readouterr().out.strip().split("\n")
    assert "is finished: nothing left to train" in printed[-2]
    assert json.loads(printed[-1]) == result == json.loads((finished / "result.json").read_text())
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_killed_between_the_last_save_and_the_result(copy, finished, data):
    result = pretrain.main(command(data, copy))
    expected = json.loads((finished / "result.json").read_text())
    assert result["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert_same_run(copy, finished)


@once_on_torch
def test_what_does_not_fit_is_refused_by_name(data, finished, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(data, other)
    (other / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, ".", *reversed(WORDS)]) + "\n")
    output = tmp_path / "run"
    for arguments, message in (
        (command(data, finished, seed=6, batch_size=7), "Received: another batch_size and seed than in .*run.json"),
        (command(tmp_path, output), "must hold vocab.txt. Received: "),
        (command(data, output, size="1x65"), "`size` must be one of"),
        (command(data, output, init="none"), "A checkpoint must be a folder"),
        (command(other, output, init=finished), "--init must have the vocabulary of the shards"),
    ):
        with pytest.raises(SystemExit, match=message):
            pretrain.main(arguments)
    assert not output.exists()  # So the command with the mistake mended is not refused.


@once_on_torch
def test_pairs_and_running_text_in_one_run(data, tmp_path):
    texts = tmp_path / "texts"
    corpus = [data.parent / "corpus.txt", "--vocabulary", data, "--output", texts, "--nsp", "none"]
    sizes = {"max_sequence_length": 23, "held_out_rate": 0.5, "block_characters": 3000, "workers": 1}
    prepare.main([*map(str, corpus), *flags(sizes)])
    first, *rest = command(data, tmp_path / "run", steps=1, batch_size=400)  # One batch holds all held-out rows.
    result = pretrain.main([first, str(texts), *rest])
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["settings"]["data"] == [str(data), str(texts)]
    # Rows without a pair count in the masked words and not in the next sentences.
    checkpoint = load(tmp_path / "run")
    losses = held_out_losses(checkpoint, [data, texts])
    assert result["mlm_loss"] == pytest.approx(losses["mlm"], rel=1e-5)
    assert result["nsp_loss"] == pytest.approx(losses["nsp"], rel=1e-5)
    pretrain.main([first, str(texts), *rest])  # And a finished run is recognised.

    run_without_pairs = pretrain.main([str(texts), *command(data, tmp_path / "none", steps=2)[1:]])
    assert run_without_pairs["nsp_loss"] == 0 and run_without_pairs["mlm_loss"] > 1
    # What no row has trained is not written as if it were.
    assert checkpoint.missing_parts == () and set(load(tmp_path / "none").missing_parts) == {"pooler", "nsp"}
    assert evaluate.main([str(tmp_path / "none"), str(texts)])[str(texts)]["mlm_perplexity"] > 1
    with pytest.raises(SystemExit, match="for pairs that for the next sentence. Received: .*none without nsp, pooler"):
        evaluate.main([str(tmp_path / "none"), str(data)])
    pretrain.main([str(texts), *command(data, tmp_path / "more", steps=2, init=str(tmp_path / "run"))[1:]])
    assert load(tmp_path / "more").missing_parts == ()


@once_on_torch
def test_nan_stops_the_run_and_keeps_the_last_good_save(data, tmp_path):
    # The rate of the first step is 0, of the second beyond all bounds: what it leaves has no finite held-out loss.
    output = tmp_path / "run"
    changes = {"steps": 6, "save_every": 1, "warmup_steps": 3, "learning_rate": 3e38}
    with pytest.raises(SystemExit, match="must stay a finite number. Received: NaN or infinity after step 1, "):
        pretrain.main(command(data, output, **changes))
    assert [step for step, _ in saved_states(output / "state")] == [1]
    weights = safetensors.numpy.load_file(output / "model.safetensors")
    assert all(np.abs(value).max() < 2 for value in weights.values())


def held_out_losses(checkpoint, data):
    """The losses of all held-out rows by their formula: mean cross entropy of the masked words, and of the pairs."""
    inputs, targets, weights = next(
        pretraining_dataset(data, batch_size=10**6, mask_selection_length=SLOTS, split="held_out").as_numpy_iterator()
    )
    logits = {name: np.asarray(keras.ops.convert_to_numpy(x)) for name, x in checkpoint.model(inputs).items()}
    losses = {}
    for name, target in targets.items():
        log_sums = np.log(np.exp(logits[name]).sum(axis=-1))
        chosen = np.take_along_axis(logits[name], target[..., None], axis=-1)[..., 0]
        losses[name] = np.average(log_sums - chosen, weights=weights[name])
    return losses


@once_on_torch
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("mixed_bfloat16", 2e-2)])
def test_init_keeps_the_heads_and_no_dropout_the_rates(finished, data, tmp_path, precision, tolerance):
    # A step of a rate near 0 leaves the weights as they are.
    start = tmp_path / "start"
    shutil.copytree(finished, start)
    config = json.loads((start / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.2}
    (start / "config.json").write_text(json.dumps(config))
    changes = {"steps": 1, "batch_size": 200, "learning_rate": 1e-30, "init": start, "precision": precision}
    result = pretrain.main([*command(data, tmp_path / "run", **changes), "--no_dropout"])
    loss = sum(held_out_losses(load(finished), data).values())
    assert result["loss"] == pytest.approx(loss, rel=tolerance)
    assert (result["loss"] == pytest.approx(loss, rel=1e-6)) == (precision == "float32")  # bfloat16 is rounder.
    after = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (after["hidden_dropout_prob"], after["attention_probs_dropout_prob"]) == (0.3, 0.2)
    weights = [safetensors.numpy.load_file(folder / "model.safetensors") for folder in (tmp_path / "run", start)]
    for name, value in weights[0].items():
        np.testing.assert_array_equal(value, weights[1][name])


def test_a_run_says_that_long_rows_have_too_few_mask_slots(data, capsys):
    settings = pretrain.Settings(data=(str(data),), steps=4, mask_selection_length=3)
    warn_of_few_slots(settings)  # 15 % of 29 tokens are 4.
    assert "of a row of 29 tokens 4 would be selected, and there are 3 mask slots" in capsys.readouterr().out
    warn_of_few_slots(dataclasses.replace(settings, mask_selection_length=4))
    assert capsys.readouterr().out == ""


def test_init_names_the_heads_that_are_missing(finished, data, tmp_path, capsys):
    start = tmp_path / "start"
    shutil.copytree(finished, start)
    weights = safetensors.numpy.load_file(start / "model.safetensors")
    encoder = {name: value for name, value in weights.items() if name.startswith("bert.")}
    safetensors.numpy.save_file(encoder, start / "model.safetensors")
    settings = pretrain.Settings(data=(str(data),), init=str(start), no_dropout=True)
    model, config = pretrain._build_model(settings, WordPieceTokenizer.from_folder(data))
    assert capsys.readouterr().out == f"{start} has no mlm, nsp: starting from random weights there\n"
    assert (model.backbone.config.dropout, model.backbone.config.attention_dropout) == (0, 0)
    assert (config.dropout, config.attention_dropout) == (0.1, 0.1)
    pooler = keras.ops.convert_to_numpy(model.backbone.pooler.dense.kernel)
    np.testing.assert_array_equal(pooler, weights["bert.pooler.dense.weight"].T)


@once_on_torch
def test_a_dataset_without_held_out_rows(data, tmp_path, capsys):
    shutil.copytree(data, tmp_path / "shards")
    info = json.loads((data / "dataset.json").read_text()) | {"held_out": []}
    (tmp_path / "shards" / "dataset.json").write_text(json.dumps(info))
    result = pretrain.main(command(tmp_path / "shards", tmp_path / "run", steps=2))
    assert set(result) == {"steps", "seconds", "rows_per_second"}
    assert "no held-out rows" in capsys.readouterr().out
    assert [row["epoch"] for row in csv.DictReader((tmp_path / "run" / "history.csv").open())] == ["0"]


def test_it_learns_what_can_be_known_and_no_more(tmp_path):
    """Without context a word costs the entropy of the words; the topic leaves four words; less would be cheating.

    Whether a pair has one topic can be seen. With a sixth of the documents the model learns the pairs by heart instead.
    """
    data = make_data(tmp_path, num_documents=700, block_characters=20000)
    changes = {"steps": 600, "save_every": 600, "batch_size": 16, "learning_rate": 2e-3}
    result = pretrain.main([*command(data, tmp_path / "run", **changes), "--no_dropout"])
    shards = DatasetInfo.from_folder(data).held_out
    token_ids = np.concatenate([row.token_ids for shard in shards for row in read_shard(data / shard.file)])
    rates = np.bincount(token_ids)[len(SPECIAL_TOKENS) :] / np.sum(token_ids >= len(SPECIAL_TOKENS))
    entropy = -np.sum(rates * np.log(np.where(rates > 0, rates, 1)))
    # The words of a topic are drawn evenly, so a hidden one (80 % of the masked are) cannot cost less than log 4.
    least = (1 - rates[0]) * 0.8 * math.log(TOPIC_WORDS)
    assert entropy > 3
    assert 0.9 * least < result["mlm_loss"] < 0.65 * entropy
    assert result["nsp_loss"] < 0.75 * math.log(2) and result["nsp_accuracy"] > 0.8
