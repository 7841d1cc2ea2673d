"""What ends a run early: a clear sentence, the last good save kept, and the same command that goes on from it."""

import json
import os
import re
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import safetensors.numpy
from conftest import once_on_torch
from test_training import assert_same_run, command, make_data

from kbert.data.schema import DatasetInfo
from training import prepare, pretrain
from training.state import saved_states

pytestmark = once_on_torch


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    output = tmp_path_factory.mktemp("finished") / "run"
    pretrain.main(command(data, output))
    return output


@pytest.fixture
def stopped(finished, tmp_path):
    """A run that was stopped after step 40 of 60."""
    output = tmp_path / "run"
    shutil.copytree(finished, output)
    (output / "result.json").unlink()
    saved_states(output / "state")[-1][1].unlink()
    return output


def states(output):
    return {path.name: path.read_bytes() for _, path in saved_states(output / "state")}


def damage(path, place=0.5):
    """Change one byte of a shard, as a bad disk or cable does."""
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def test_a_shard_that_is_damaged_from_its_first_row_on_is_named(data, tmp_path):
    shard = data / DatasetInfo.from_folder(data).shards[0].file
    good = shard.read_bytes()
    damage(shard, 0.0)
    try:
        with pytest.raises(SystemExit, match=f"{shard.name}.*the same command goes on from step 0"):
            pretrain.main(command(data, tmp_path / "run"))
    finally:
        shard.write_bytes(good)


def test_a_damaged_shard_is_named_and_the_run_goes_on_with_a_good_one(data, finished, stopped):
    shard = data / DatasetInfo.from_folder(data).shards[-1].file
    good, before = shard.read_bytes(), states(stopped)
    damage(shard)
    try:
        with pytest.raises(SystemExit) as stop:
            pretrain.main(command(data, stopped))
    finally:
        shard.write_bytes(good)
    message = str(stop.value)
    assert re.match(f"A shard must be as it was written. Received: {shard}, (corrupted|truncated) record", message)
    assert message.endswith("the same command goes on from step 40.")
    assert states(stopped) == before
    pretrain.main(command(data, stopped))
    assert_same_run(stopped, finished)


def test_a_shard_of_another_vocabulary_is_named(data, stopped):
    """Ids that the vocabulary lacks: a shard from elsewhere, under the right name and with as many rows."""
    info = json.loads((data / "dataset.json").read_text())
    shard = data / info["shards"][0]["file"]
    good = shard.read_bytes()
    larger = data.parent / "larger"
    (data.parent / "larger.txt").write_text((data / "vocab.txt").read_text().replace("[MASK]\n", "[MASK]\nnew\n"))
    if not larger.exists():
        flags = ["--max_sequence_length", "29", "--held_out_rate", "0.15", "--block_characters", "3000"]
        corpus = [str(data.parent / "corpus.txt"), "--vocabulary", str(data.parent / "larger.txt")]
        prepare.main([*corpus, "--output", str(larger), *flags, "--workers", "1"])
    shutil.copy(larger / shard.name, shard)
    try:
        with pytest.raises(
            SystemExit, match=rf"lie in \[0, 46\). Received: 2 to 46, shard=.*{shard.name}, row=.* step 40"
        ):
            pretrain.main(command(data, stopped))
    finally:
        shard.write_bytes(good)


def test_another_vocabulary_beside_the_shards_is_refused(data, stopped):
    vocabulary = data / "vocab.txt"
    good = vocabulary.read_text()
    vocabulary.write_text(good + "new\n")
    try:
        with pytest.raises(
            SystemExit, match="rows of a run must be prepared with its vocabulary. .* of 46 tokens, .* 47"
        ):
            pretrain.main(command(data, stopped))
    finally:
        vocabulary.write_text(good)


def run_with_small_disk(arguments, most_bytes):
    """Run in a process whose files the system does not let grow beyond a size, as on a disk that is full."""
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
        "from training import pretrain; pretrain.main(sys.argv[2:])"
    )
    environment = os.environ | {"KERAS_BACKEND": keras.backend.backend()}
    process = [sys.executable, "-c", limited, str(most_bytes), *arguments]
    return subprocess.run(process, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("full", ["state", "checkpoint"])
def test_a_full_disk_keeps_the_last_good_save(data, finished, stopped, full):
    checkpoint = stopped / "model.safetensors"
    sizes = {path: path.stat().st_size for path in (checkpoint, saved_states(stopped / "state")[-1][1])}
    assert sizes[checkpoint] < 0.5 * max(sizes.values())
    before = states(stopped)
    # Beside them only small files are written.
    most = sizes[checkpoint] * (1.5 if full == "state" else 0.9)
    process = run_with_small_disk(command(data, stopped), int(most))
    assert process.returncode == 1
    *_, message = process.stderr.strip().split("\n")
    assert re.match(f"A run must be able to write its files. Received: {stopped}: .*step 60", message), process.stderr
    assert message.endswith("the same command goes on from step 40.")
    assert "Traceback" not in process.stderr
    assert states(stopped) == before
    assert {path.name for path in (stopped / "state").iterdir()} == set(before)
    weights = safetensors.numpy.load_file(checkpoint)
    assert all(np.isfinite(value).all() for value in weights.values())
    pretrain.main(command(data, stopped))
    assert_same_run(stopped, finished)
