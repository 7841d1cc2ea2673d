"""The way in to an export, from any backend."""

import contextlib
import pathlib
import tempfile

import keras

from kbert.convert import load, save_checkpoint
from kbert.export.child import run_in_child

DEFAULT_TOP_K = 10
# How weights are written; see `kbert.export.stored_weights`.
WEIGHT_FORMATS = ("float32", "float16", "int8")
RUNTIMES = {"onnx": ".onnx", "litert": ".tflite"}


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
        ValueError: `folder` is the name of a file for another runtime, `top_k` is out of its range, there are no such
            `weights`, the model is of a kind that has no signatures, or the answers of the SavedModel are not those of
            the checkpoint (then nothing is left of it).
            From the child process every error comes as a ValueError.
        ImportError: TensorFlow or tensorflow_text is not installed.
    """
    if weights not in WEIGHT_FORMATS:
        raise ValueError(f"`weights` must be one of {', '.join(WEIGHT_FORMATS)}. Received: weights={weights!r}.")
    for runtime, ending in RUNTIMES.items():
        if pathlib.Path(folder).suffix == ending:
            raise ValueError(
                f"`folder` must not end in {ending}, as a file for {runtime} does. Received: folder={str(folder)!r}. "
                f"Such a file is written by --format {runtime}, or `export_token_ids`."
            )
    return _run(export_saved_model, _write_saved_model, source, folder, top_k, weights)


def export_token_ids(source, path, runtime, length=None):
    """Write the model without its tokenizer into one file: the signature `token_ids` of `export_saved_model`.

    Keras writes it. The file is run and compared with the model before it gets its name. On JAX and PyTorch a child
    process with TensorFlow does the work.

    Args:
        source: what `kbert.load` takes, or a `Checkpoint`.
        path: of the file, ".onnx" or ".tflite". An older one is replaced once the new one is found good.
        runtime: "onnx", with free numbers of rows, tokens and masks; or "litert", for one row with one mask.
        length: int in [2, the model's longest], the tokens of LiteRT's row, to which shorter texts are padded; None for
            128, or the model's longest if that is less.

    Returns:
        `pathlib.Path` of the file.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: `runtime`, the ending of `path` or `length` is none of these, or the file does not give the numbers
            of the model. From the child process every error comes as a ValueError.
        ImportError: a package is missing; it names the extra to install.
    """
    ending = RUNTIMES.get(runtime)
    if ending is None or pathlib.Path(path).suffix != ending:
        raise ValueError(
            "`runtime` must be one of onnx, litert, and `path` end in .onnx or .tflite with it. "
            f"Received: runtime={runtime!r}, path={str(path)!r}."
        )
    return _run(export_token_ids, _write_token_ids, source, path, runtime, length)


def _run(function, write, source, path, *arguments):
    with contextlib.ExitStack() as stack:
        if hasattr(source, "missing_parts"):
            checkpoint, source = source, stack.enter_context(tempfile.TemporaryDirectory())
            save_checkpoint(checkpoint.model, checkpoint.tokenizer, source, missing_parts=checkpoint.missing_parts)
        if keras.backend.backend() == "tensorflow":
            return write(source, path, *arguments)
        return run_in_child(function.__name__, str(source), str(path), *arguments)


def _write_saved_model(source, *arguments):
    try:
        from kbert.export.saved_model import write_saved_model
    except ModuleNotFoundError as error:
        raise _missing(error, "tensorflow") from error
    return write_saved_model(load(source, dtype="float32"), *arguments)


def _write_token_ids(source, path, runtime, *arguments):
    try:
        from kbert.export.runtimes import write_token_ids

        return write_token_ids(load(source, dtype="float32"), path, runtime, *arguments)
    except ModuleNotFoundError as error:
        raise _missing(error, runtime) from error


def _missing(error, extra):
    return ImportError(f"An export needs {error.name}. Install it with `pip install 'keras-kbert[{extra}]'`.")
