"""The model without its tokenizer in one file, written by Keras' exporters, for ONNX and LiteRT."""

import os
import pathlib

import keras
import numpy as np

from kbert.export.comparison import compare_outputs
from kbert.export.signatures import token_ids_signature

# In proportion to the largest number of an output: other kernels add up in another order.
TOLERANCE = 1e-4
# (rows, tokens, masks) to compare at, where they are free.
_SHAPES = ((1, 5, 1), (3, 17, 4))
DEFAULT_LENGTH = 128


def write_token_ids(checkpoint, path, runtime, length):
    """Write, run and compare the signature `token_ids`, on the TensorFlow backend; see `kbert.export.export_token_ids`.

    Args:
        checkpoint: `kbert.convert.Checkpoint` with a float32 model.
        path: of the file.
        runtime: "onnx" or "litert".
        length: int, tokens of the row of LiteRT; or None.
    """
    answer, specs = token_ids_signature(checkpoint)
    config = checkpoint.model.backbone.config
    length = min(DEFAULT_LENGTH, config.max_sequence_length) if length is None else length
    if not 2 <= length <= config.max_sequence_length:
        raise ValueError(f"`length` must be between 2 and {config.max_sequence_length}. Received: {length=}.")
    inputs = {spec.name: keras.Input(spec.shape[1:], dtype="int32", name=spec.name) for spec in specs}
    model = keras.Model(inputs, answer(**inputs))
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".writing-{path.name}")
    try:
        write, open_file, shapes = {
            "onnx": (_write_onnx, _open_onnx, [(rows, min(tokens, length), masks) for rows, tokens, masks in _SHAPES]),
            "litert": (_write_litert, _open_litert, [(1, length, 1)]),
        }[runtime]
        write(model, unfinished, shapes[0])
        run = open_file(unfinished)
        for shape in shapes:
            rows = _example_rows(config, list(inputs), *shape)
            expected = {name: keras.ops.convert_to_numpy(value) for name, value in answer(**rows).items()}
            difference = compare_outputs(run(rows), expected)
            if not difference <= TOLERANCE:
                raise ValueError(
                    f"A file must give the numbers of its checkpoint, within {TOLERANCE}. Received: a difference of "
                    f"{difference} at {shape} rows, tokens and masks. Nothing was written; see that the weights are "
                    "finite numbers."
                )
        return unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _example_rows(config, names, rows, tokens, masks):
    draw = np.random.default_rng(tokens)
    values = {
        "token_ids": draw.integers(0, config.vocabulary_size, (rows, tokens)),
        "segment_ids": draw.integers(0, config.num_segments, (rows, tokens)),
        "padding_mask": np.arange(tokens) < draw.integers(tokens // 2, tokens + 1, (rows, 1)),
        "mask_positions": draw.integers(0, tokens // 2, (rows, masks)),
    }
    return {name: values[name].astype("int32") for name in names}


def _write_onnx(model, path, shape):
    import onnxruntime  # noqa: F401  # What it is run with; missing, it must be so before the work.

    from kbert.export import onnx_erfc  # noqa: F401  # An op of gelu that tf2onnx does not know.

    model({name: np.zeros(shape[:2], "int32") for name in model.input})  # Keras writes no model that was never asked.
    model.export(os.fspath(path), format="onnx", verbose=False)


def _write_litert(model, path, shape):
    import ai_edge_litert.interpreter  # noqa: F401

    # With free sizes the converter puts in ops that LiteRT alone does not have.
    rows, tokens, masks = shape
    signature = {
        name: keras.InputSpec(dtype="int32", shape=(rows, masks if name == "mask_positions" else tokens), name=name)
        for name in model.input
    }
    model.export(os.fspath(path), format="litert", verbose=False, input_signature=[signature])


def _open_onnx(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda rows: dict(zip(names, session.run(names, rows), strict=True))


def _open_litert(path):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(os.fspath(path)).get_signature_runner()
    return lambda rows: run(**rows)
