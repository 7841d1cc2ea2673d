"""What a person sees while a model trains: a bar on a terminal, and one line a save anywhere."""

import time

import keras
from tqdm import tqdm


class PrintProgress(keras.callbacks.Callback):
    """Print a line of numbers after every epoch; on a terminal also show a bar over all steps.

    Args:
        total_steps: int, steps of the whole run.
        first_step: int, steps made before this start.
        batch_size: int, for the speed.
    """

    def __init__(self, total_steps, first_step, batch_size):
        super().__init__()
        self.total_steps = total_steps
        self.first_step = first_step
        self.batch_size = batch_size

    def on_train_begin(self, logs=None):
        # `disable=None`: no bar where the output is not a terminal.
        self.bar = tqdm(total=self.total_steps, initial=self.first_step, unit=" steps", disable=None, leave=False)
        self.epoch_start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.bar.update()
        self.bar.set_postfix_str(f"loss {float(logs['loss']):.3f}", refresh=False)

    def on_epoch_end(self, epoch, logs=None):
        steps = self.params["steps"]
        done = (epoch + 1) * steps
        now = time.perf_counter()
        seconds, self.epoch_start = now - self.epoch_start, now
        line = f"step {done:,}/{self.total_steps:,}  {_numbers(logs)}"
        if "val_loss" in logs:
            held_out = {name.removeprefix("val_"): value for name, value in logs.items() if name.startswith("val_")}
            line += f" | held out: {_numbers(held_out)}"
        line += f" | {steps * self.batch_size / seconds:,.0f} rows/s"
        if done < self.total_steps:
            line += f", {seconds / steps * (self.total_steps - done) / 60:,.0f} min left"
        self.bar.write(line)

    def on_train_end(self, logs=None):
        self.bar.close()


def _numbers(logs):
    return f"loss {logs['loss']:.3f}  mlm {logs['mlm_accuracy']:.1%}  nsp {logs['nsp_accuracy']:.1%}"
