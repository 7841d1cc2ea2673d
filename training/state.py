"""Training state on disk, so that a killed run goes on from its last save."""

import pathlib
import re

import keras

_NAME = re.compile(r"step-(\d{8})\.weights\.h5")


class SaveState(keras.callbacks.Callback):
    """Write weights, optimizer and dropout seeds after every epoch, each file whole or not at all.

    Args:
        folder: created if missing. Holds `step-00000400.weights.h5`: the step is in the name, so the newest file says
            all a restart has to know.
        after_save: called with no argument after each save.
        keep: int, newest files kept.
    """

    def __init__(self, folder, after_save, keep=2):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.after_save = after_save
        self.keep = keep

    def on_epoch_end(self, epoch, logs=None):
        self.folder.mkdir(parents=True, exist_ok=True)
        step = int(self.model.optimizer.iterations)
        unfinished = self.folder / "unfinished.weights.h5"
        self.model.save_weights(unfinished, overwrite=True)
        unfinished.replace(self.folder / f"step-{step:08d}.weights.h5")
        for _, path in saved_states(self.folder)[: -self.keep]:
            path.unlink()
        self.after_save()


def saved_states(folder):
    """Return (step, path) of every saved state in a folder, oldest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in pathlib.Path(folder).glob("step-*.weights.h5"))
    return sorted((int(match[1]), path) for match, path in found if match)


def restore_state(model, folder):
    """Load the newest saved state into a compiled model.

    Returns:
        int, the steps it had made; 0 if the folder holds no state.
    """
    states = saved_states(folder)
    if not states:
        return 0
    step, path = states[-1]
    model.optimizer.build(model.trainable_variables)
    model.load_weights(path)
    return step
