"""Every public layer once: how to build it, what to feed it, what comes out, how many numbers it learns.

No argument has its default value, so that one forgotten in `get_config` shows.
"""

import dataclasses
from collections.abc import Callable

import keras
from conftest import B, P, T

from kbert.layers import (
    BertEmbeddings,
    DenseHead,
    EncoderBlock,
    LastToken,
    MaskedLMHead,
    NextSentenceHead,
    Pooler,
    SelfAttention,
)

V, D, N, F, S, L = 29, 12, 3, 20, 11, 2  # As in CONFIG, but for the segments.
SEGMENTS = 5
DENSE = D * D + D
BLOCK = 4 * DENSE + 2 * D * F + F + D + 4 * D


@dataclasses.dataclass(frozen=True)
class Row:
    """One layer, its inputs drawn from a generator, and what must come of them."""

    build: Callable
    inputs: Callable
    output_shape: tuple
    parameters: int


def token_ids(rng):
    return rng.integers(0, V, (B, T)).astype("int32")


def states(rng):
    return rng.normal(size=(B, T, D)).astype("float32")


def holed_mask(rng):
    """Padding at random places; the last row is nothing else."""
    mask = rng.integers(0, 2, (B, T)).astype("int32")
    mask[0, :2], mask[-1] = (1, 0), 0
    return mask


def masked_lm_head():
    table = keras.layers.Embedding(V, D)
    table.build((None,))
    return MaskedLMHead(table, "gelu_tanh", 1e-3, 0.3)


LAYERS = {
    "BertEmbeddings": Row(
        lambda: BertEmbeddings(V, D, S, SEGMENTS, 0.2, 1e-3, 0.3),
        lambda rng: (token_ids(rng), rng.integers(0, SEGMENTS, (B, T)).astype("int32")),
        (B, T, D),
        (V + SEGMENTS + S) * D + 2 * D,
    ),
    "SelfAttention": Row(
        lambda: SelfAttention(N, D, 0.2, 0.3, True), lambda rng: (states(rng), holed_mask(rng)), (B, T, D), 4 * DENSE
    ),
    "EncoderBlock": Row(
        lambda: EncoderBlock(N, D, F, 0.2, 0.3, "gelu_tanh", 1e-3, 0.4, True),
        lambda rng: (states(rng), holed_mask(rng)),
        (B, T, D),
        BLOCK,
    ),
    "LastToken": Row(LastToken, lambda rng: (states(rng), holed_mask(rng)), (B, 1, D), 0),
    "Pooler": Row(lambda: Pooler(D, 0.3), lambda rng: (states(rng),), (B, D), DENSE),
    "MaskedLMHead": Row(
        masked_lm_head,
        lambda rng: (states(rng), rng.integers(0, T, (B, P)).astype("int32")),
        (B, P, V),
        V * D + DENSE + 2 * D + V,
    ),
    "DenseHead": Row(lambda: DenseHead(5, 0.2, 0.3), lambda rng: (states(rng),), (B, T, 5), 5 * D + 5),
    "NextSentenceHead": Row(lambda: NextSentenceHead(0.3), lambda rng: (states(rng)[:, 0],), (B, 2), 2 * D + 2),
}


def bert_parameters(vocabulary, width, inner, layers, positions):
    """Return the numbers in (the encoder with its pooler, the same with both heads), two segments."""
    dense = width * width + width
    block = 4 * dense + 2 * width * inner + inner + width + 4 * width
    encoder = (vocabulary + 2 + positions) * width + 2 * width + layers * block + dense
    return encoder, encoder + dense + 2 * width + vocabulary + 2 * width + 2
