"""A budget in minutes: measured once, then a fixed number of updates."""

import dataclasses
import itertools
import json
import types

import keras
import numpy as np
import pytest
from conftest import once_on_torch
from test_pretrain_recipe import assert_same_weights
from test_training import command, make_data

from kbert.text.tokenizer import WordPieceTokenizer
from training import minutes, pretrain
from training.devices import Devices
from training.minutes import updates_in
from training.state import saved_states

pytestmark = once_on_torch


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is 0.1 s later at each look, so that an update and a check take 0.1 s on any machine."""
    ticks = itertools.count()
    monkeypatch.setattr(minutes, "time", types.SimpleNamespace(perf_counter=lambda: next(ticks) / 10))


def new_model(settings):
    keras.utils.set_random_seed(1)
    return pretrain._build_model(settings, WordPieceTokenizer.from_folder(settings.data[0]))[0]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_updates_that_fit(data, clock, accumulate):
    """Six seconds, of which the trial may take 0.6: it ends with the seventh update.

    Looks at the clock: start, start of the fit, seven updates, two at the check, end, together 1.1 s. Another 0.1 s is
    the first update, which compiles again. The rest are updates of 0.1 s, and a fourth of a check each.
    """
    settings = pretrain.Settings(data=(str(data),), size="1x64", batch_size=2, minutes=0.1, accumulate=accumulate)
    settings = dataclasses.replace(settings, save_every=4, held_out_batches=2)
    model = new_model(settings)
    before = model.get_weights()
    assert updates_in(settings, model, Devices(), pretrain._compile, pretrain._open_data) == int((6 - 1.2) / 0.125)
    assert int(model.optimizer.iterations) == 7
    for value, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(value, expected)


def minutes_command(data, output, minutes="0.03"):
    changes = command(data, output, save_every=5)
    place = changes.index("--steps")
    return [*changes[:place], "--minutes", minutes, *changes[place + 2 :]]


def test_a_run_keeps_to_what_it_measured_once(data, tmp_path, clock, monkeypatch):
    output = tmp_path / "run"
    pretrain.main(minutes_command(data, output))
    settings = json.loads((output / "run.json").read_text())["settings"]
    # The trial is two updates and a check: 0.7 s and the compilation.
    assert (settings["minutes"], settings["steps"]) == (0.03, int((1.8 - 0.7) / 0.12))
    # The same updates, asked for by their number: nothing of the trial is left in the run.
    counted = tmp_path / "counted"
    pretrain.main(command(data, counted, save_every=5, steps=9))
    assert_same_weights(output, counted)

    # Started again it goes on with the updates that are left, and measures nothing.
    monkeypatch.setattr(pretrain, "updates_in", None)
    saved_states(output / "state")[-1][1].unlink()
    (output / "result.json").unlink()
    pretrain.main(minutes_command(data, output))
    assert_same_weights(output, counted)
    assert json.loads((output / "run.json").read_text())["settings"]["steps"] == 9
    with pytest.raises(SystemExit, match="Received: another minutes than in"):
        pretrain.main(minutes_command(data, output, minutes="5"))


def test_a_warmup_of_more_updates_than_the_trial_knows_of(data):
    settings = pretrain.Settings(data=(str(data),), size="1x64", batch_size=2, minutes=1e-6, warmup_steps=5000)
    assert updates_in(settings, new_model(settings), Devices(), pretrain._compile, pretrain._open_data) == 1


def test_two_phases_are_measured_each(data):
    settings = pretrain.Settings(data=(str(data),), size="1x64", batch_size=2, minutes=1e-6, long_data=(str(data),))
    settings = dataclasses.replace(settings, long_share=0.2)
    opened = []

    def open_data(settings, step, devices):
        opened.append(step)
        return pretrain._open_data(settings, step, devices)

    # No time is left, and still each phase has an update.
    assert updates_in(settings, new_model(settings), Devices(), pretrain._compile, open_data) == 5
    assert opened == [0, 800]
