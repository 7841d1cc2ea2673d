"""Load a backend without the notes of its C++ side, which bury a program's first lines."""

import contextlib
import os


@contextlib.contextmanager
def without_native_notes():
    """Send what native code writes to stderr nowhere while the body, an import, runs.

    Some of TensorFlow's notes come before it reads TF_CPP_MIN_LOG_LEVEL. Set that variable to 0 to see all of
    them. Python's own errors still reach the person: they are raised, not written.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "0":
        yield
        return
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def load_keras():
    """Import Keras and its backend without such notes."""
    with without_native_notes():
        import keras  # noqa: F401
