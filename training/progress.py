"""What a person sees while a model trains: a bar on a terminal, and one line a save anywhere."""

import time

import keras
from tqdm import tqdm

from training.phases import epoch_ends, phase_at, rows_between


class PrintProgress(keras.callbacks.Callback):
    """Print a line of numbers after every epoch; on a terminal also show a bar over all steps.

    Args:
        settings: `training.pretrain_settings.Settings`.
        first_step: int, updates made before this start.
        unigram_loss: float, see `training.unigram.unigram_loss`; stands behind the loss that it explains.
    """

    def __init__(self, settings, first_step, unigram_loss):
        super().__init__()
        self.settings = settings
        self.done = first_step
        self.unigram_loss = unigram_loss

    def on_train_begin(self, logs=None):
        # `disable=None`: no bar where the output is not a terminal.
        self.bar = tqdm(total=self.settings.steps, initial=self.done, unit=" steps", disable=None, leave=False)
        self.epoch_start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.settings.accumulate:
            return
        self.bar.update()
        self.bar.set_postfix_str(f"loss {float(logs['loss']):.3f}", refresh=False)

    def on_epoch_end(self, epoch, logs=None):
        done = epoch_ends(self.settings)[epoch]
        phase = phase_at(self.settings, self.done)
        steps, rows = done - self.done, rows_between(self.settings, self.done, done)
        self.done = done
        now = time.perf_counter()
        seconds, self.epoch_start = now - self.epoch_start, now
        line = f"step {done:,}/{self.settings.steps:,}  {_numbers(logs)}"
        if "val_loss" in logs:
            held_out = {name.removeprefix("val_"): value for name, value in logs.items() if name.startswith("val_")}
            line += f" | held out: {_numbers(held_out)}"
        line += f" | by frequency alone: mlm {self.unigram_loss:.3f} | {rows / seconds:,.0f} rows/s"
        if done < phase.last_step:
            line += f", {seconds / steps * (phase.last_step - done) / 60:,.0f} min left"
            # How long the updates on longer rows take is not known yet.
            line += " to the long rows" if phase.last_step < self.settings.steps else ""
        self.bar.write(line)

    def on_train_end(self, logs=None):
        self.bar.close()


def _numbers(logs):
    return (
        f"loss {logs['loss']:.3f}  mlm {logs['mlm_loss']:.3f} ({logs['mlm_accuracy']:.1%})  "
        f"nsp {logs['nsp_loss']:.3f} ({logs['nsp_accuracy']:.1%})"
    )
