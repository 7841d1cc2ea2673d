"""What a person sees while a model trains: a bar on a terminal, and one line a save anywhere."""

import time

import keras
from tqdm import tqdm

from training.budget import step_after


class PrintProgress(keras.callbacks.Callback):
    """Print a line of numbers after every epoch; on a terminal also show a bar over all steps.

    Args:
        settings: `training.pretrain_settings.Settings`.
        first_step: int, updates made before this start.
    """

    def __init__(self, settings, first_step):
        super().__init__()
        self.settings = settings
        self.done = first_step

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
        total, done = self.settings.steps, step_after(self.settings, epoch)
        steps, self.done = done - self.done, done
        now = time.perf_counter()
        seconds, self.epoch_start = now - self.epoch_start, now
        line = f"step {done:,}/{total:,}  {_numbers(logs)}"
        if "val_loss" in logs:
            held_out = {name.removeprefix("val_"): value for name, value in logs.items() if name.startswith("val_")}
            line += f" | held out: {_numbers(held_out)}"
        rows = steps * self.settings.accumulate * self.settings.batch_size
        line += f" | {rows / seconds:,.0f} rows/s"
        if done < total:
            line += f", {seconds / steps * (total - done) / 60:,.0f} min left"
        self.bar.write(line)

    def on_train_end(self, logs=None):
        self.bar.close()


def _numbers(logs):
    return f"loss {logs['loss']:.3f}  mlm {logs['mlm_accuracy']:.1%}  nsp {logs['nsp_accuracy']:.1%}"
