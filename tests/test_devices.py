"""Several devices and processes train what one device trains, to the rounding of float32; checked in real processes."""

import csv
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf
from conftest import once
from test_training import command, history, make_data

from kbert.data.pipelines import pretraining_dataset
from training import pretrain
from training.devices import NUM_PROCESSES, Devices
from training.state import saved_states

BACKEND = keras.backend.backend()
needs_jax = pytest.mark.skipif(BACKEND != "jax", reason="several processes train on JAX")
needs_devices = pytest.mark.skipif(BACKEND == "torch", reason="PyTorch trains on one device")
needs_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="about tf.distribute")
BATCH = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


def short_run(data, output, **changes):
    """The arguments of a run of 4 steps with two saves. Without warmup the second step is a long one."""
    changes = {"steps": 4, "save_every": 2, "warmup_steps": 0, "batch_size": BATCH, "held_out_batches": 1} | changes
    return [*command(data, output, **changes), "--no_dropout"]


def start(arguments, **environment):
    script = [sys.executable, "-m", "training.pretrain", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(script, env=os.environ | environment, **pipes)


def finish(*processes):
    """Return what each printed; fail with the error of the one that failed."""
    printed = []
    for process in processes:
        out, error = process.communicate(timeout=240)
        assert process.returncode == 0, error
        printed.append(out)
    return printed


def start_cluster(*arguments_of_each):
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
    names = {"KERAS_DISTRIBUTION_JOB_ADDRESSES": address, NUM_PROCESSES: str(len(arguments_of_each))}
    return [
        start(arguments, **names, KERAS_DISTRIBUTION_PROCESS_ID=str(number))
        for number, arguments in enumerate(arguments_of_each)
    ]


@pytest.fixture(scope="module")
def alone(data, tmp_path_factory):
    """The run of one device."""
    output = tmp_path_factory.mktemp("alone") / "run"
    pretrain.main(short_run(data, output))
    return output


@pytest.fixture(scope="module")
def shared(data, tmp_path_factory):
    """The run of two devices in one process."""
    output = tmp_path_factory.mktemp("shared") / "run"
    finish(start(short_run(data, output, devices=2)))
    return output


def assert_same_run(one, other):
    for row, expected in zip(history(one), history(other), strict=True):
        assert row == pytest.approx(expected, rel=2e-5)
    results = [json.loads((folder / "result.json").read_text()) for folder in (one, other)]
    for name in ("mlm_accuracy", "nsp_accuracy"):  # Over all held-out rows, the last batch included.
        assert results[0][name] == pytest.approx(results[1][name], abs=1e-6)
    weights = [safetensors.numpy.load_file(folder / "model.safetensors") for folder in (one, other)]
    for name, value in weights[0].items():
        np.testing.assert_allclose(value, weights[1][name], rtol=0, atol=2e-5, err_msg=name)


def half_way(run, folder):
    """A copy of a run as it was after its first save."""
    shutil.copytree(run, folder)
    (first, _), (_, last) = saved_states(folder / "state")
    last.unlink()
    (folder / "result.json").unlink()
    assert first == 2
    return folder


@needs_devices
def test_two_devices_are_one(alone, shared):
    assert_same_run(shared, alone)
    assert json.loads((shared / "run.json").read_text())["starts"][0]["devices"] == 2


@needs_devices
def test_a_run_goes_on_with_more_devices(data, alone, tmp_path):
    """On JAX in two processes."""
    output = half_way(alone, tmp_path / "run")
    arguments = short_run(data, output, devices=2)
    printed, *of_others = finish(*(start_cluster(arguments, arguments) if BACKEND == "jax" else [start(arguments)]))
    assert_same_run(output, alone)
    assert "step 4/4" in printed and not any("step 4/4" in other for other in of_others)
    # Two writers would have written each line twice, and two new files beside those of the first start.
    assert [row["epoch"] for row in csv.DictReader((output / "history.csv").open())] == ["0", "1"]
    assert len(list((output / "tensorboard" / "train").iterdir())) == 2
    assert json.loads((output / "run.json").read_text())["starts"][1]["processes"] == 1 + len(of_others)


@needs_devices
def test_a_run_goes_on_with_fewer_devices(data, alone, shared, tmp_path):
    output = half_way(shared, tmp_path / "run")
    pretrain.main(short_run(data, output))
    assert_same_run(output, alone)
    starts = json.loads((output / "run.json").read_text())["starts"]
    assert [(start["devices"], start["first_step"]) for start in starts] == [(2, 0), (1, 2)]


@needs_jax
def test_processes_that_start_from_different_things_are_refused(data, tmp_path):
    first, other = start_cluster(*(short_run(data, tmp_path / "run", devices=2, seed=seed) for seed in (1, 2)))
    for process in (first, other):
        error = process.communicate(timeout=240)[1]
        assert process.returncode == 1
        assert "All processes must start from the same settings, shards and saved state" in error


def test_what_cannot_be_shared_is_refused(data, tmp_path, monkeypatch):
    def refused(message, **changes):
        with pytest.raises(SystemExit, match=message):
            pretrain.main(short_run(data, tmp_path / "run", **changes))

    if BACKEND == "torch":
        refused("must be 1 on PyTorch, .* Received: --devices 2. Set KERAS_BACKEND=jax", devices=2)
        return
    refused("--batch_size must be a multiple of --devices. Received: --devices 4 --batch_size 6", devices=4)
    refused("must be a multiple of the number of processes, at least 1. Received: --devices 0, 1 processes", devices=0)
    keras.ops.zeros(1)  # From here on the backend of this process runs, with one device.
    refused("at most the number of devices .* Received: --devices 2, where there are 1: ", devices=2)
    if BACKEND == "tensorflow":
        refused("must go without --accumulate, .* Received: --devices 2 --accumulate 2", devices=2, accumulate=2)
        refused("without mixed_float16, .* --precision mixed_float16", devices=2, precision="mixed_float16")
    monkeypatch.setenv(NUM_PROCESSES, "2")
    refused("must be a multiple of the number of processes, at least 1. Received: --devices 3, 2 processes", devices=3)
    if BACKEND == "tensorflow":
        refused("TensorFlow must train in one process", devices=2)
    assert not (tmp_path / "run").exists()


def batches(data, count, **changes):
    dataset = pretraining_dataset(data, batch_size=BATCH, mask_selection_length=5, seed=3, start_step=2, **changes)
    return list(dataset.take(count).as_numpy_iterator())


@once
def test_the_rows_of_all_processes_are_the_batch(data):
    whole = batches(data, 40)  # More than one pass.
    parts = [batches(data, 40, num_processes=3, process_id=number) for number in range(3)]
    for batch, *shares in zip(whole, *parts, strict=True):
        assert {len(array) for share in shares for array in tf.nest.flatten(share)} == {BATCH // 3}
        joined = tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *shares)
        tf.nest.map_structure(np.testing.assert_array_equal, joined, batch)


@once
def test_held_out_batches_are_filled_and_shared(data):
    dataset = pretraining_dataset(data, batch_size=BATCH, mask_selection_length=5, split="held_out")
    whole = list(dataset.as_numpy_iterator())
    last = len(whole[-1][1]["nsp"])
    assert 0 < last < BATCH  # The corpus leaves a part of a batch.
    processes = [Devices(2, num_processes=2, process_id=number) for number in range(2)]
    shares = [list(devices.own_held_out(dataset, BATCH).as_numpy_iterator()) for devices in processes]
    for batch, *parts in zip(whole, *shares, strict=True):
        joined = tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts)
        rows = len(batch[1]["nsp"])
        for array, filled in zip(tf.nest.flatten(batch), tf.nest.flatten(joined), strict=True):
            np.testing.assert_array_equal(filled[:rows], array)
        assert joined[1]["nsp"].shape == (BATCH,)
        assert not joined[2]["mlm"][rows:].any() and not joined[2]["nsp"][rows:].any()
    assert Devices().own_held_out(dataset, BATCH) is dataset


@once
def test_shares_that_do_not_fit_are_refused(data):
    for changes, message in (
        ({"num_processes": 4}, "must divide `batch_size`.* Received: num_processes=4, process_id=0, batch_size=6"),
        ({"num_processes": 2, "process_id": 2}, r"`process_id` lie in \[0, num_processes\)"),
        ({"num_processes": 2, "split": "held_out", "start_step": 0}, "`num_processes` belongs to split='train'"),
    ):
        with pytest.raises(ValueError, match=message):
            pretraining_dataset(data, **({"batch_size": BATCH} | changes))


REPLICAS = """
import keras, numpy as np, tensorflow as tf
from conftest import CONFIG, make_batch, make_model
from kbert.optimization import BertAdamW, Lamb
from training.pretrain_settings import Settings
from training.devices import open_devices
from training.state import ReseedDropout

inputs, targets, weights = make_batch(np.random.default_rng(1), batch=6)
weights["mlm"][:3] *= np.arange(4) < 1  # One replica has fewer words.
devices = open_devices(Settings(data=(), devices=2))
batches = tf.data.Dataset.from_tensors((inputs, targets, weights)).repeat(5)

def train(devices, config, optimizer_class, callbacks=()):
    with devices.scope():
        model = make_model(np.random.default_rng(0), config)
        optimizer = devices.optimizer_class(optimizer_class)(0.01, weight_decay=0.3, global_clipnorm=0.1)
        model.compile(optimizer, loss=devices.losses(model.task_losses()[0]))
    logs = model.fit(batches, epochs=1, verbose=0, callbacks=list(callbacks), shuffle=False).history
    return model, logs

small = CONFIG.replace(num_layers=1)
quiet = small.replace(dropout=0.0, attention_dropout=0.0)
for optimizer_class in (BertAdamW, Lamb):
    one, expected = train(type(devices)(), quiet, optimizer_class)
    two, logs = train(devices, quiet, optimizer_class)
    for name in expected:
        np.testing.assert_allclose(logs[name], expected[name], rtol=1e-5, err_msg=name)
    for variable, of_one in zip(two.variables, one.variables, strict=True):
        copies = [copy.numpy() for copy in variable.value.values]
        assert len(copies) == 2
        np.testing.assert_array_equal(*copies, err_msg=variable.path)
        # The gradient of a key's bias is 0 but for rounding, of which Adam makes a step.
        np.testing.assert_allclose(copies[0], of_one.numpy(), rtol=0, atol=3e-5, err_msg=variable.path)

model, _ = train(devices, small, BertAdamW, devices.callbacks([ReseedDropout(4)]))
seeds = [variable for variable in model.variables if variable.name == "seed_generator_state"]
assert seeds and all(first.numpy()[0] != second.numpy()[0] for first, second in (v.value.values for v in seeds))
print("same")
"""


@needs_tensorflow
def test_replicas_stay_equal_and_draw_dropout_of_their_own():
    paths = {"PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])}
    finished = subprocess.run([sys.executable, "-c", REPLICAS], env=os.environ | paths, capture_output=True, text=True)
    assert finished.stdout == "same\n", finished.stderr
