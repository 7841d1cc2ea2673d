"""Tiny transformers models with random weights, and the questions put to them and to ours."""

import keras
import numpy as np
import safetensors.numpy
import torch
import transformers

from kbert.text.vocabulary import SPECIAL_TOKENS, write_vocabulary

TOKENS = [*SPECIAL_TOKENS, *(f"word{index}" for index in range(24))]
SIZES = {
    "vocab_size": len(TOKENS),
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 12,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
}
INPUT_NAMES = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}


def hugging_face_model(architecture, seed=5, **settings):
    model_class = getattr(transformers, architecture)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(transformers.BertConfig(**(SIZES | settings))).eval()
        for parameter in model.parameters():  # Biases and LayerNorms too: fresh ones would hide a swap.
            torch.nn.init.normal_(parameter, std=0.4)
    return model


def save_folder(model, folder):
    model.save_pretrained(folder)
    write_vocabulary(TOKENS, folder / "vocab.txt")
    return folder


def random_inputs(*shape, seed=11, vocabulary_size=None, max_segment=1):
    """Ours: dict of int32 arrays, with padding and segments that differ from row to row."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, shape[-1] + 1, size=shape[:-1])
    lengths.flat[0] = shape[-1]
    return {
        "token_ids": rng.integers(0, vocabulary_size or len(TOKENS), size=shape).astype("int32"),
        "segment_ids": rng.integers(0, max_segment + 1, size=shape).astype("int32"),
        "padding_mask": (np.arange(shape[-1]) < lengths[..., None]).astype("int32"),
    }


def ask_hugging_face(model, inputs, **options):
    inputs = {INPUT_NAMES[name]: torch.tensor(value, dtype=torch.long) for name, value in inputs.items()}
    with torch.no_grad():
        return model(**inputs, **options)


def tensors_of(folder):
    return safetensors.numpy.load_file(folder / "model.safetensors")


def weights_of(model):
    return [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]


def assert_same_weights(model, other):
    for one, two in zip(weights_of(model), weights_of(other), strict=True):
        np.testing.assert_array_equal(one, two)
