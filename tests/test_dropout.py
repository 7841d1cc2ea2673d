"""Our dropout: what it drops, how it scales what stays, and that draws are independent and repeatable."""

import keras
import numpy as np
import pytest
from conftest import once, to_numpy
from keras import ops

from kbert.layers.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(400, 501), (3, 7, 97, 101)], ids=str)
def test_a_share_is_dropped_and_the_rest_scaled(rate, shape):
    dropped = to_numpy(Dropout(rate, seed=3)(np.full(shape, 2.0, "float32"), training=True))
    kept = dropped != 0
    deviation = np.sqrt(rate * (1 - rate) / kept.size)
    assert abs(kept.mean() - (1 - rate)) < 5 * deviation + 2**-16
    np.testing.assert_allclose(dropped[kept], 2.0 / (1 - rate), rtol=2**-13)
    for axis in range(len(shape)):  # No rows, columns or neighbours that fall together.
        across = tuple(other for other in range(len(shape)) if other != axis)
        assert np.abs(kept.mean(across) - kept.mean()).max() < 6 * deviation * np.sqrt(shape[axis])
    for distance in range(1, 9):
        pairs = kept.reshape(-1)[distance:] & kept.reshape(-1)[:-distance]
        assert abs(pairs.mean() - (1 - rate) ** 2) < 6 * deviation


def test_draws_follow_from_the_seed_and_differ_from_call_to_call():
    ones = np.ones((50, 40), "float32")
    layers = [Dropout(0.3, seed=seed) for seed in (1, 1, 2)]
    first, second = ([to_numpy(layer(ones, training=True)) for layer in layers] for _ in range(2))
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(second[0], second[1])
    assert (first[0] != second[0]).any() and (first[0] != first[2]).any()


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.4])
def test_without_training_or_rate_nothing_changes(rate):
    x = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(to_numpy(Dropout(rate)(x, training=False)), x)
    if rate < 0.1:
        np.testing.assert_allclose(to_numpy(Dropout(rate)(x, training=True)), x, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_it_keeps_the_dtype(dtype):
    x = ops.ones((20, 20), dtype=dtype)
    dropped = Dropout(0.25, dtype=dtype)(x, training=True)
    assert keras.backend.standardize_dtype(dropped.dtype) == dtype
    assert set(np.unique(to_numpy(ops.cast(dropped, "float32"))).round(1)) == {0.0, np.float32(1.3)}


@once
def test_the_gradient_goes_through_what_stayed():
    import tensorflow as tf

    x, layer = tf.ones([30, 30]), Dropout(0.5, seed=1)
    with tf.GradientTape() as tape:
        tape.watch(x)
        dropped = tf.function(lambda x: layer(x, training=True))(x)
    np.testing.assert_array_equal(tape.gradient(dropped, x), dropped)


def test_it_is_saved_as_ours():
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(Dropout(0.2, seed=7)))
    assert type(again) is Dropout and (again.rate, again.seed) == (0.2, 7)


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="PyTorch draws from its generator")
@pytest.mark.parametrize(("one", "other"), [((3, 4), (3, 5)), ((3, 4), (4, 3)), ((0, 0), (1, 0)), ((7, 1), (2**31, 1))])
def test_hashes_of_near_seeds_have_nothing_in_common(one, other):
    from kbert.layers.hashed_bits import keep_mask

    first, second = (
        to_numpy(keep_mask((500, 600), 0.3, ops.convert_to_tensor(seed, "uint32"))) for seed in (one, other)
    )
    assert abs(first.mean() - 0.7) < 6 * np.sqrt(0.3 * 0.7 / first.size)
    together = 0.3**2 + 0.7**2
    for distance in (0, 1, 2, 3, 64, 600):
        agree = (first.reshape(-1)[distance:] == second.reshape(-1)[: first.size - distance]).mean()
        assert abs(agree - together) < 6 * np.sqrt(together * (1 - together) / first.size)
