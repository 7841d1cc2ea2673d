"""How many updates fit into the minutes of a run: measured on its own batches before it starts.

The number is then fixed and stands in run.json, so that the learning rate reaches 0 at the last update whatever the
machine does meanwhile, and a run that was stopped goes on with the updates that are left.
"""

import dataclasses
import time

import keras

from training.phases import phases_of

TRIAL_UPDATES = 30
TRIAL_SHARE = 0.1  # Of the time, at most, once two updates are made.
_ANY_STEPS = 1000  # Enough for the shares of two phases, and a schedule that no trial finishes.


def updates_in(settings, model, devices, compile_model, open_data):
    """Train for a moment, measure, and give the weights back.

    Counted are the updates, the checks at the saves, this trial, and the compilation, which comes again in the run;
    not the writing of the saves, and not the evaluation on all held-out rows behind the last update.

    Args:
        settings: `training.pretrain_settings.Settings` with `minutes`.
        model: `BertPretrainer`. Its weights are the same afterwards; compile it again.
        devices: `training.devices.Devices`.
        compile_model: called with (model, settings, devices).
        open_data: called with (settings, step, devices); returns (training batches, held-out batches or None).

    Returns:
        int, at least 1, and enough that each of two phases has one.
    """
    started = time.perf_counter()
    settings = dataclasses.replace(settings, steps=_ANY_STEPS, warmup_steps=0)
    phases = phases_of(settings)
    limit = 60 * settings.minutes * TRIAL_SHARE / len(phases)
    weights = model.get_weights()
    compile_model(model, settings, devices)
    once, an_update = 0.0, 0.0
    for phase in phases:
        training, held_out = open_data(settings, phase.first_step, devices)
        clock = _Clock(settings.accumulate, limit)
        model.fit(
            training, steps_per_epoch=TRIAL_UPDATES * settings.accumulate, callbacks=[clock], shuffle=False, verbose=0
        )
        check = 0.0 if held_out is None else _seconds_of_check(model, held_out.take(settings.held_out_batches))
        once += clock.first
        share = (phase.last_step - phase.first_step) / _ANY_STEPS
        an_update += share * (clock.mean + check / settings.save_every)
    model.set_weights(weights)
    seconds = 60 * settings.minutes - (time.perf_counter() - started) - once
    fewest = 1 if len(phases) == 1 else round(1 / min(settings.long_share, 1 - settings.long_share))
    updates = max(fewest, int(seconds / an_update))
    print(f"{settings.minutes:g} minutes are {updates:,} updates of {an_update:.3g} s")
    return updates


class _Clock(keras.callbacks.Callback):
    """Seconds of the first update, and the mean of the others, until `limit` seconds are over."""

    def __init__(self, accumulate, limit):
        super().__init__()
        self.accumulate = accumulate
        self.limit = limit

    def on_train_begin(self, logs=None):
        self.started = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # Waits for the batch, which some backends have only promised.
        update, is_inside = divmod(batch + 1, self.accumulate)
        if is_inside:
            return
        seconds = time.perf_counter() - self.started
        if update == 1:
            self.first = seconds
        else:
            self.mean = (seconds - self.first) / (update - 1)
            self.model.stop_training = seconds > self.limit


def _seconds_of_check(model, batches):
    model.evaluate(batches.take(1), verbose=0)  # Compiles.
    started = time.perf_counter()
    model.evaluate(batches, verbose=0)
    return time.perf_counter() - started
