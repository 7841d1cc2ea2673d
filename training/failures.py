"""What ends a run early, said in one sentence, and where the same command goes on."""

import contextlib
import pathlib

import tensorflow as tf

from kbert.data.check_dataset import check_dataset
from training.state import saved_states

# What reading a damaged shard, a row that does not fit, or too few rows raises. So may the model on TensorFlow.
_DATA_ERRORS = (tf.errors.DataLossError, tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)


@contextlib.contextmanager
def clear_stop(settings):
    """End the script with the reason, without a traceback, where it is the user who can help.

    Args:
        settings: `training.pretrain_settings.Settings`.

    Raises:
        SystemExit: Ctrl-C, a damaged shard, a disk that takes no more.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit("Stopped. The same command goes on from the last save.") from None
    except OSError as error:
        raise SystemExit(
            f"A run must be able to write its files. Received: {settings.output}: {error}. Make room there: "
            f"{_where_it_goes_on(settings)}"
        ) from error
    except _DATA_ERRORS as error:
        print("The data cannot be read on: looking for the place.")
        for folder in (*settings.data, *(settings.long_data or ())):
            try:
                check_dataset(folder)
            except (TypeError, ValueError) as damage:
                raise SystemExit(
                    f"{damage} Put the file back, or prepare the text again in a folder of this name: "
                    f"{_where_it_goes_on(settings)}"
                ) from error
        raise


def _where_it_goes_on(settings):
    step = max((step for step, _ in saved_states(pathlib.Path(settings.output) / "state")), default=0)
    return f"the same command goes on from step {step:,}."
