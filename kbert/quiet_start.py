"""Load a backend fast, and without the notes of its C++ side, which bury a program's first lines."""

import contextlib
import json
import os
import pathlib
import sys

# Keras imports these where they are installed, for its scikit-learn wrappers, its pictures and its data frames, which
# no program here uses: with them a question on the command line takes longer by 1.5 s to 2.4 s (docs/performance.md).
UNUSED_BY_KERAS = ("matplotlib", "pandas", "sklearn")


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


@contextlib.contextmanager
def without_unused_packages():
    """Let Keras and TensorFlow find none of the packages that they import on the chance of a use, while the body runs.

    These stay what they are for everyone else, and can be imported afterwards. JAX is among them where Keras takes
    another backend: TensorFlow's converter to LiteRT would load it.
    """
    unused = [*UNUSED_BY_KERAS, *(["jax"] if _backend() != "jax" else [])]
    hidden = [name for name in unused if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _backend():
    """Return the name of the backend that Keras will take, which cannot be asked before it has."""
    if "KERAS_BACKEND" in os.environ:
        return os.environ["KERAS_BACKEND"]
    folder = pathlib.Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / "keras.json").read_text(encoding="utf-8")).get("backend", "tensorflow")
    return "tensorflow"


def load_keras():
    """Import Keras and its backend."""
    with without_native_notes(), without_unused_packages():
        import keras  # noqa: F401
