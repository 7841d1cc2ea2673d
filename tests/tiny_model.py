"""A random model small enough to ask many times, and what it must say, computed in NumPy from its weights."""

import functools
import pathlib
import tempfile

import keras
import numpy as np
import reference
import safetensors.numpy

from kbert.config import BertConfig
from kbert.convert import save_checkpoint
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "##s", "##ning", "학교", "##에", ".", ",", "home"]
TOKENS = [*SPECIAL_TOKENS, *WORDS]
MASK_ID = TOKENS.index("[MASK]")
CONFIG = BertConfig(
    vocabulary_size=len(TOKENS),
    num_layers=5,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=22,
    max_sequence_length=40,
    initializer_stddev=0.5,
)


def make_tokenizer():
    return WordPieceTokenizer(TOKENS, strip_accents=False)


def make_model(dtype="float32", **config_changes):
    """Return a model whose weights are float32 numbers, whatever it computes in."""
    keras.utils.set_random_seed(5)
    model = BertPretrainer(BertBackbone(CONFIG.replace(**config_changes), dtype=dtype))
    model.set_weights([weight.astype("float32") for weight in model.get_weights()])
    return model


@functools.cache
def read_weights(model):
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(model, make_tokenizer(), folder)
        return safetensors.numpy.load_file(pathlib.Path(folder) / "model.safetensors")


def read_log_probabilities(model, token_ids):
    """Float64 `[T, V]` of one row, or `[B, T, V]` of several of one length, without padding, in plain NumPy."""
    token_ids = np.array(token_ids)
    rows = np.atleast_2d(token_ids)
    inputs = {
        "token_ids": rows,
        "segment_ids": np.zeros_like(rows),
        "padding_mask": np.ones_like(rows),
        "mask_positions": np.tile(np.arange(rows.shape[1]), (len(rows), 1)),
    }
    logits = reference.forward(read_weights(model), model.backbone.config, inputs)["mlm"]
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return log_probabilities if token_ids.ndim == 2 else log_probabilities[0]
