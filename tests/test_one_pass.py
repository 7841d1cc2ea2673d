"""Loops that TensorFlow compiles in training: the same numbers, and none of them where nothing is trained."""

import keras
import numpy as np
import pytest
from conftest import once
from keras import ops

from kbert.layers import EncoderBlock
from kbert.layers.activations import get_activation
from kbert.layers.norm import LayerNorm, _normalize
from kbert.layers.one_pass import MIN_WIDTH, in_one_pass
from kbert.models.cross_entropy import _cross_entropy

pytestmark = once
WIDTH = MIN_WIDTH + 3  # No multiple of anything.


def value_and_slopes(function, arrays):
    import tensorflow as tf

    arrays = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(arrays)
        result = function(*arrays)
    upstream = tf.reshape(tf.range(tf.size(result)) % 7 / 6, tf.shape(result))
    return [
        result,
        *(slope for slope in tape.gradient(result, arrays, tf.cast(upstream, result.dtype)) if slope is not None),
    ]


def chains(rng):
    rows = rng.normal(size=(3, 5, WIDTH)).astype("float32") * 3
    gamma, beta = rng.normal(size=(2, WIDTH)).astype("float32")
    return {
        "gelu_erf": (get_activation("gelu_erf"), [rows]),
        "gelu_tanh": (get_activation("gelu_tanh"), [rows]),
        "norm": (_normalize(1e-12), [rows, gamma, beta]),
        "cross entropy": (_cross_entropy, [rows[0], rng.integers(0, WIDTH, 5).astype("int32")]),
    }


@pytest.mark.parametrize("name", ["gelu_erf", "gelu_tanh", "norm", "cross entropy"])
def test_a_compiled_chain_and_its_gradient_are_the_plain_ones(rng, name):
    function, arrays = chains(rng)[name]
    plain = value_and_slopes(function, arrays)
    compiled = value_and_slopes(lambda *arrays: in_one_pass(function, *arrays), arrays)
    assert len(plain) == len(compiled) >= 2
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_computed_in_float32(rng, dtype):
    rows = ops.cast(rng.normal(size=(4, WIDTH)), dtype)
    wide = ops.cast(rows, "float32")
    activated = in_one_pass(get_activation("gelu_erf"), rows)
    assert activated.dtype == dtype
    expected = get_activation("gelu_erf")(wide)
    np.testing.assert_allclose(ops.cast(activated, "float32"), expected, rtol=2**-7, atol=2**-8)


def compiled_functions(layer, inputs, training):
    """Return how many functions that XLA must compile a call of a layer has, nested ones counted."""
    import tensorflow as tf

    graph = tf.function(lambda *inputs: layer(*inputs, training=training)).get_concrete_function(*inputs).graph
    library = graph.as_graph_def().library.function
    return sum(function.attr["_XlaMustCompile"].b for function in library)


def test_only_training_compiles(rng):
    import tensorflow as tf

    block = EncoderBlock(4, WIDTH // 4 * 4, 4 * MIN_WIDTH)
    inputs = tf.ones((2, 6, WIDTH // 4 * 4)), tf.ones((2, 6), tf.int32)
    block(*inputs)
    assert compiled_functions(block, inputs, training=True) >= 2
    assert compiled_functions(block, inputs, training=False) == 0  # A SavedModel runs where there may be no compiler.


def test_narrow_arrays_are_not_compiled():
    import tensorflow as tf

    norm = LayerNorm()
    inputs = (tf.ones((2, MIN_WIDTH - 1)),)
    norm(*inputs)
    assert compiled_functions(norm, inputs, training=True) == 0


@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_layer_norm_is_keras(rng, epsilon):
    ours, theirs = LayerNorm(epsilon), keras.layers.LayerNormalization(epsilon=epsilon)
    rows = rng.normal(2, 3, size=(4, WIDTH)).astype("float32")
    weights = [rng.normal(size=WIDTH), rng.normal(size=WIDTH)]
    for layer in (ours, theirs):
        layer.build(rows.shape)
        layer.set_weights(weights)
    for training in (False, True):
        np.testing.assert_allclose(ours(rows, training=training), theirs(rows), rtol=1e-5, atol=1e-5)
    assert LayerNorm.from_config(ours.get_config()).epsilon == epsilon
