"""Write one SavedModel: signatures, check, warmup requests, and a file that says what it is."""

import contextlib
import hashlib
import importlib.metadata
import json

import keras
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from kbert.export.check import check_saved_model
from kbert.export.signatures import find_signatures
from kbert.export.stored_weights import StoredWeights
from kbert.export.versions import write_version
from kbert.export.warmup import write_warmup_requests

METADATA_FILE = "assets.extra/kbert.json"
_PACKAGES = ("keras-kbert", "keras", "tensorflow", "tensorflow-text", "tokenizers")


def write_saved_model(checkpoint, folder, top_k, weights="float32"):
    """Write a checkpoint as the next version in a folder, on the TensorFlow backend.

    Args:
        checkpoint: `kbert.convert.Checkpoint` with a float32 model. Its weights are rounded to what is written.
        folder: of the versions.
        top_k: int in [1, V], words a mask.
        weights: one of `kbert.export.front.WEIGHT_FORMATS`.

    Returns:
        `pathlib.Path` of the version.

    Raises:
        ValueError: see `kbert.export.export_saved_model`. Nothing is written then.
    """
    signatures = find_signatures(checkpoint, top_k)
    metadata = _describe(checkpoint, signatures, top_k) | {"weights": weights}

    def write(path):
        # Not `keras.export.ExportArchive`, which traces each function twice.
        with contextlib.nullcontext() if weights == "float32" else StoredWeights(checkpoint.model, weights) as stored:
            functions = {
                name: tf.function(answer, input_signature=inputs, autograph=False).get_concrete_function()
                for name, (answer, inputs) in signatures.items()
            }
        module = tf.Module()
        module.weights = [function.variables for function in functions.values()], stored and stored.used
        main = next(iter(functions.values()))
        tf.saved_model.save(module, str(path), functions | {"serving_default": main})
        check_saved_model(path, checkpoint)
        first, second = ["Where is the [MASK]?"], ["Here it is."]
        texts = {"text": first, "text_pair": second, "question": first, "context": second}
        requests = [
            (name, {spec.name: texts[spec.name] for spec in inputs})
            for name, (_, inputs) in signatures.items()
            if inputs[0].name in texts
        ]
        write_warmup_requests(path, requests)
        (path / METADATA_FILE).write_text(json.dumps(metadata, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    return write_version(folder, write)


def find_ops(path):
    """Return the names of all ops in a SavedModel, functions included, as a set of str.

    Args:
        path: `pathlib.Path` of its folder.
    """
    model = SavedModel.FromString((path / "saved_model.pb").read_bytes())
    graphs = [meta_graph.graph_def for meta_graph in model.meta_graphs]
    nodes = [graph.node for graph in graphs]
    nodes += [function.node_def for graph in graphs for function in graph.library.function]
    functions = {function.signature.name for graph in graphs for function in graph.library.function}
    return {node.op for part in nodes for node in part} - functions


def _describe(checkpoint, signatures, top_k):
    weights = hashlib.sha256()
    for variable in checkpoint.model.weights:
        weights.update(keras.ops.convert_to_numpy(variable).tobytes())
    vocabulary = "\n".join(checkpoint.tokenizer.vocabulary)
    return {
        "model": type(checkpoint.model).__name__,
        "signatures": {name: [spec.name for spec in inputs] for name, (_, inputs) in signatures.items()},
        "top_k": top_k,
        "labels": list(getattr(checkpoint.model, "label_names", ())),
        "max_sequence_length": checkpoint.model.backbone.config.max_sequence_length,
        "tokenizer": checkpoint.tokenizer.settings,
        "weights_sha256": weights.hexdigest(),
        "vocabulary_sha256": hashlib.sha256(vocabulary.encode()).hexdigest(),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }
