"""KerasHub's BertBackbone in and out, and its BertTextClassifier in. Both compute the tanh form of GELU."""

import json
import pathlib
import tempfile
import warnings

import keras
import numpy as np

from kbert.config import BertConfig
from kbert.convert.checkpoint import Checkpoint
from kbert.convert.tokenizer_fit import check_tokenizer
from kbert.models import BertBackbone, BertClassifier, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.tokenizer_files import has_hangul_syllables

_LAYER_NORM_EPSILON = 1e-12  # What KerasHub's has, always.
_SHARED_FIELDS = (
    "vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_sequence_length",
    "num_segments", "dropout",
)  # fmt: skip


def load_keras_hub(preset, dtype=None, **config_changes):
    """Load a KerasHub preset: a name, a handle or a folder, through KerasHub's own loader; see `kbert.load`.

    The tokenizer is kbert's over the preset's vocabulary, so that uncased presets strip accents, as BERT does, whatever
    theirs is told to. One with whole Hangul syllables does not: stripping takes them apart.

    Raises:
        ValueError: the preset is damaged, no BERT, or out of reach.
    """
    keras_hub = import_keras_hub()
    try:
        theirs = keras_hub.models.BertBackbone.from_preset(str(preset), dtype="float32")
        their_tokenizer = keras_hub.models.BertTokenizer.from_preset(str(preset))
    except Exception as error:  # HDF5, JSON, Keras and the HTTP client raise kinds of their own.
        reason = " ".join(str(error).split())
        raise ValueError(
            f"A KerasHub preset must be a whole BERT, on this disk or within reach. Received: {preset}: "
            f"{type(error).__name__}: {reason}. Check the network, or copy the folder again."
        ) from error
    vocabulary = their_tokenizer.get_vocabulary()
    tokenizer = WordPieceTokenizer(
        vocabulary,
        lowercase=their_tokenizer.lowercase,
        strip_accents=False if has_hangul_syllables(vocabulary) else None,
        split_chinese=their_tokenizer.split_on_cjk,
    )
    backbone = from_keras_hub(theirs, dtype=dtype, **config_changes)
    check_tokenizer(tokenizer, backbone.config.vocabulary_size, f"the vocabulary of {preset}")
    model = _with_head(backbone, preset) or BertPretrainer(backbone)
    return Checkpoint(model, tokenizer, ("mlm", "nsp"), str(preset), _config_of(theirs))


def _with_head(backbone, preset):
    """Return the `BertClassifier` of a folder that holds a `BertTextClassifier`; None where there is no head.

    A head that is none of kbert's models is left out, with a warning.
    """
    path = pathlib.Path(preset) / "task.json"
    if not path.is_file():
        return None
    name = json.loads(path.read_text(encoding="utf-8"))["class_name"]
    if name != "BertTextClassifier":
        warnings.warn(f"Of {preset}, a {name}, kbert reads the encoder; its head is left out.", stacklevel=3)
        return None
    theirs = import_keras_hub().models.BertTextClassifier.from_preset(str(preset), dtype="float32")
    # KerasHub has no regression but one class.
    problem = "regression" if theirs.num_classes == 1 else "one_class"
    ours = BertClassifier(backbone, theirs.num_classes, problem, dropout=theirs.dropout)
    ours.classifier_head.dense.set_weights(theirs.output_dense.get_weights())
    return ours


def from_keras_hub(keras_hub_backbone, dtype=None, **config_changes):
    """Return a `BertBackbone` with the weights of a `keras_hub.models.BertBackbone`.

    Args:
        keras_hub_backbone: theirs.
        dtype: dtype policy of the result; None takes the global policy.
        **config_changes: fields of `BertConfig` that differ. Without any, the activation is "gelu_tanh" and both
            dropouts are the one of theirs.
    """
    ours = BertBackbone(_config_of(keras_hub_backbone).replace(**config_changes), dtype=dtype)
    for our_variable, their_variable in _pairs(ours, keras_hub_backbone):
        value = keras.ops.convert_to_numpy(their_variable)
        our_variable.assign(np.reshape(value, our_variable.shape))
    return ours


def to_keras_hub(backbone):
    """Return a `keras_hub.models.BertBackbone` with the weights of a `BertBackbone`.

    Raises:
        ValueError: the model computes what KerasHub's cannot: another activation than "gelu_tanh", another LayerNorm
            epsilon than 1e-12, or attention to the left only.
    """
    config = backbone.config
    if config.activation != "gelu_tanh" or config.layer_norm_epsilon != _LAYER_NORM_EPSILON:
        raise ValueError(
            "KerasHub's BertBackbone computes gelu_tanh with a LayerNorm epsilon of 1e-12 and nothing else. Received: "
            f"activation={config.activation!r}, layer_norm_epsilon={config.layer_norm_epsilon}. To accept numbers that "
            'differ a little, load the model with activation="gelu_tanh", layer_norm_epsilon=1e-12.'
        )
    if config.is_causal:
        raise ValueError("KerasHub's BertBackbone reads in both directions. Received: is_causal=True.")
    sizes = {name: getattr(config, name) for name in _SHARED_FIELDS}
    theirs = import_keras_hub().models.BertBackbone(**sizes, dtype="float32")
    for our_variable, their_variable in _pairs(backbone, theirs):
        value = keras.ops.convert_to_numpy(our_variable)
        their_variable.assign(np.reshape(value, their_variable.shape))
    return theirs


def save_keras_hub(model, tokenizer, folder, missing_parts=()):
    """Write the encoder and the vocabulary as a KerasHub preset folder.

    Args:
        model: a model with a `backbone`. Its head is not written: KerasHub has no place for it.
        tokenizer: `WordPieceTokenizer`.
        folder: must not exist, or be empty.
        missing_parts: parts of the model with random weights, such as the `missing_parts` of its `Checkpoint`.

    Raises:
        ValueError: as `to_keras_hub`, the tokenizer does not fit, the folder holds something, or the pooler, which
            KerasHub's encoder always has, is missing.
    """
    if "pooler" in missing_parts:
        raise ValueError(
            "A KerasHub preset must have a pooler; random weights are not written. "
            f"Received: missing_parts={tuple(missing_parts)}."
        )
    check_tokenizer(tokenizer, model.backbone.config.vocabulary_size, "the tokenizer")
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"The folder of a KerasHub preset must be new or empty. Received: {folder}.")
    theirs = to_keras_hub(model.backbone)
    keras_hub = import_keras_hub()
    their_tokenizer = keras_hub.models.BertTokenizer(
        tokenizer.vocabulary,
        lowercase=tokenizer.lowercase,
        strip_accents=tokenizer.lowercase if tokenizer.strip_accents is None else tokenizer.strip_accents,
        split_on_cjk=tokenizer.split_chinese,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as unfinished:
        unfinished = pathlib.Path(unfinished) / "preset"
        theirs.save_to_preset(str(unfinished))
        their_tokenizer.save_to_preset(str(unfinished))
        unfinished.replace(folder)


def import_keras_hub():
    """Return the keras_hub package, or say how to get it."""
    try:
        import keras_hub
    except ImportError as error:
        raise ImportError(
            "keras-hub must be installed for KerasHub's models. Install it with `pip install 'keras-kbert[hub]'`."
        ) from error
    return keras_hub


def _config_of(theirs):
    return BertConfig(
        **{name: getattr(theirs, name) for name in _SHARED_FIELDS},
        attention_dropout=theirs.dropout,
        activation="gelu_tanh",
        layer_norm_epsilon=_LAYER_NORM_EPSILON,
    )


def _pairs(ours, theirs):
    """Yield (our variable, their variable). Theirs keep heads on an axis of their own: the same numbers, reshaped."""
    norm = theirs.embeddings_layer_norm
    yield ours.embeddings.token_embedding.embeddings, theirs.token_embedding.embeddings
    yield ours.embeddings.position_embedding.embeddings, theirs.position_embedding.position_embeddings
    yield ours.embeddings.segment_embedding.embeddings, theirs.segment_embedding.embeddings
    yield from zip((ours.embeddings.norm.gamma, ours.embeddings.norm.beta), (norm.gamma, norm.beta), strict=True)
    for our_block, their_block in zip(ours.blocks, theirs.transformer_layers, strict=True):
        attention = their_block._self_attention_layer
        for our_layer, their_layer in (
            (our_block.attention.query, attention.query_dense),
            (our_block.attention.key, attention.key_dense),
            (our_block.attention.value, attention.value_dense),
            (our_block.attention.projection, attention.output_dense),
            (our_block.attention_norm, their_block._self_attention_layer_norm),
            (our_block.intermediate, their_block._feedforward_intermediate_dense),
            (our_block.feed_forward, their_block._feedforward_output_dense),
            (our_block.feed_forward_norm, their_block._feedforward_layer_norm),
        ):
            yield from zip(our_layer.weights, their_layer.weights, strict=True)
    yield from zip(ours.pooler.dense.weights, theirs.pooled_dense.weights, strict=True)
