"""The way in to an export, from any backend."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import keras

from kbert.convert import load, save_checkpoint

DEFAULT_TOP_K = 10
# How weights are written; see `kbert.export.stored_weights`.
WEIGHT_FORMATS = ("float32", "float16", "int8")


def export_saved_model(source, folder, top_k=DEFAULT_TOP_K, weights="float32"):
    """Write a model as the next numbered version of a SavedModel that TensorFlow Serving loads.

    The SavedModel takes strings: tokenizer and vocabulary are inside. Its signatures are `fill_mask` and
    `sentence_pair`, as far as the checkpoint has the heads; `classify` and `classify_pair` of a `BertClassifier`; `tag`
    of a `BertTagger`; `answer` of a `BertSpanFinder`; and of each `embed`, `embed_pair` and `token_ids`.
    `serving_default` is the first of them.
    Number and length of the texts are free. It is loaded again and compared with `kbert.inference` before it gets its
    number; see `kbert.export.check`. On JAX and PyTorch a child process with TensorFlow does the work.

    Args:
        source: what `kbert.load` takes, or a `Checkpoint`.
        folder: of the versions, created if missing: the SavedModel is `folder/1`, the next one `folder/2`.
        top_k: int in [1, V], words a mask.
        weights: one of `WEIGHT_FORMATS`, how the files hold them. "float16" halves and "int8" quarters the size; the
            server computes in float32 either way, with the rounded numbers.

    Returns:
        `pathlib.Path` of the version.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: `top_k` is out of its range, there are no such `weights`, the model is of a kind that has no
            signatures, or the answers of the SavedModel are not those of the checkpoint (then nothing is left of it).
            From the child process every error comes as a ValueError.
        ImportError: TensorFlow or tensorflow_text is not installed.
    """
    if weights not in WEIGHT_FORMATS:
        raise ValueError(f"`weights` must be one of {', '.join(WEIGHT_FORMATS)}. Received: weights={weights!r}.")
    with contextlib.ExitStack() as stack:
        if hasattr(source, "missing_parts"):
            checkpoint, source = source, stack.enter_context(tempfile.TemporaryDirectory())
            save_checkpoint(checkpoint.model, checkpoint.tokenizer, source, missing_parts=checkpoint.missing_parts)
        if keras.backend.backend() == "tensorflow":
            return _write(source, folder, top_k, weights)
        return _write_in_child(source, folder, top_k, weights)


def _write(source, folder, top_k, weights):
    try:
        from kbert.export.saved_model import write_saved_model
    except ModuleNotFoundError as error:
        raise ImportError(
            f"An export needs {error.name}. Install it with `pip install keras-kbert[tensorflow]`."
        ) from error
    return write_saved_model(load(source, dtype="float32"), folder, top_k, weights)


def _write_in_child(source, folder, top_k, weights):
    # A backend cannot change inside a process.
    environment = os.environ | {"KERAS_BACKEND": "tensorflow"}
    command = [sys.executable, "-m", "kbert.export", str(source), str(folder), str(top_k), weights]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    last_lines = (finished.stdout if finished.returncode == 0 else finished.stderr).strip().splitlines()[-1:]
    if finished.returncode:
        raise ValueError("".join(last_lines) or f"The export ended with status {finished.returncode}.")
    return pathlib.Path(*last_lines)
