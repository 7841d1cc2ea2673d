"""Training state on disk, so that a killed run goes on from its last save as if it had never stopped."""

import csv
import math
import pathlib
import re

import keras
import numpy as np
from safetensors import SafetensorError

_NAME = re.compile(r"step-(\d{8})\.weights\.h5")


class SaveState(keras.callbacks.Callback):
    """Write weights and optimizer after every epoch, each file whole or not at all.

    Belongs last in the list of callbacks: whatever else an epoch writes must be there before the state that says the
    epoch is over. An epoch whose loss is not a finite number is not saved, and ends the training.

    Args:
        folder: created if missing. Holds `step-00000400.weights.h5`: the step is in the name, so the newest file says
            all a restart has to know.
        step_after: called with the number of an epoch; returns the updates made when it is over.
        before_save: called with no argument before each save.
        keep: int, newest files kept.
    """

    def __init__(self, folder, step_after, before_save, keep=2):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.step_after = step_after
        self.before_save = before_save
        self.keep = keep

    def on_epoch_end(self, epoch, logs=None):
        if not all(math.isfinite(logs.get(name, 0)) for name in ("loss", "val_loss")):
            self.model.stop_training = True
            return
        unfinished = self.folder / "unfinished.weights.h5"
        try:
            self.before_save()
            self.folder.mkdir(parents=True, exist_ok=True)
            self.model.save_weights(unfinished, overwrite=True)
        except (OSError, RuntimeError, SafetensorError) as error:  # RuntimeError: h5py's, as it closes a file.
            unfinished.unlink(missing_ok=True)
            reason = " ".join(str(error).split())
            raise OSError(f"the save of step {self.step_after(epoch):,} failed ({reason})") from error
        # Not the optimizer's iterations: with mixed_float16 it does not count steps whose gradients overflowed.
        unfinished.replace(self.folder / f"step-{self.step_after(epoch):08d}.weights.h5")
        for _, path in saved_states(self.folder)[: -self.keep]:
            path.unlink()


class ReseedDropout(keras.callbacks.Callback):
    """Let the dropout of an epoch depend on (seed, epoch) alone.

    Keras saves no state of random generators with the weights, so a restarted run would draw what it had drawn before.

    Args:
        seed: int >= 0.
    """

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        # At the first batch, not before: on PyTorch, opening the data takes a number from the global generator, which
        # is also dropout's, and only the first epoch of a start opens it.
        if batch > 0:
            return
        states = [state for state in self.model.non_trainable_variables if state.name == "seed_generator_state"]
        seeds = np.random.SeedSequence([self.seed, self.epoch]).generate_state(1 + len(states)) % 2**31
        keras.utils.set_random_seed(int(seeds[0]))
        for state, seed in zip(states, seeds[1:], strict=True):
            state.assign(np.array([seed, 0]))


def saved_states(folder):
    """Return (step, path) of every saved state in a folder, oldest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in pathlib.Path(folder).glob("step-*.weights.h5"))
    return sorted((int(match[1]), path) for match, path in found if match)


def restore_state(model, folder):
    """Load the newest whole state into a compiled model.

    Returns:
        int, the steps it had made; 0 if the folder holds no state.

    Raises:
        ValueError: there are states, and all are damaged.
    """
    states = saved_states(folder)
    if not states:
        return 0
    model.optimizer.build(model.trainable_variables)
    for step, path in reversed(states):
        try:
            model.load_weights(path)
            return step
        except (OSError, KeyError) as error:  # What h5py raises for a file that is cut off or empty.
            print(f"{path} is damaged ({error}): taking the one before.")
    raise ValueError(f"A saved state must be whole. Received: {folder} without any. Delete it to start anew.")


def cut_history(path, num_epochs):
    """Keep the rows of the first `num_epochs` epochs in a file of `keras.callbacks.CSVLogger`, if there is one."""
    path = pathlib.Path(path)
    if not path.is_file():
        return
    with path.open(newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    place = header.index("epoch") if header else 0
    kept = [row for row in rows if len(row) == len(header) and int(row[place]) < num_epochs]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *kept] if header else [])
