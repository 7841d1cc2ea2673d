"""The loss of classes and the activation that it is trained through, values and gradients, against closed forms."""

import keras
import numpy as np
import pytest
from scipy import special

from kbert.layers.activations import gelu_erf
from kbert.models.cross_entropy import ClassLoss


def gradient_of(function, value):
    """Return d sum(function) / d value as NumPy."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(function(x))
        return tape.gradient(total, x).numpy()
    if backend == "jax":
        import jax

        return np.asarray(jax.jit(jax.grad(lambda x: function(x).sum()))(value))
    import torch

    x = torch.tensor(value, requires_grad=True)
    function(x).sum().backward()
    return x.grad.numpy()


def logits_and_targets():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, 4, 50)).astype("float32") * 5
    logits[0, 0] += 1e4  # exp of it is no float32.
    logits[1, 2, 7] = -1e4  # What a masked score may be.
    return logits, rng.integers(0, 50, (3, 4)).astype("int32"), rng.uniform(0.5, 2, (3, 4)).astype("float32")


def test_cross_entropy_and_its_gradient():
    logits, targets, weights = logits_and_targets()
    expected = (
        special.logsumexp(logits.astype("float64"), -1) - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    )
    loss = ClassLoss(reduction=None)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loss(targets, logits)), expected, rtol=1e-5, atol=1e-5)
    slope = special.softmax(logits.astype("float64"), -1) - np.eye(50)[targets]
    found = gradient_of(lambda x: loss(targets, x, sample_weight=weights), logits)
    np.testing.assert_allclose(found, slope * weights[..., None], rtol=0, atol=1e-6)


def test_a_mean_is_over_what_is_weighed():
    logits, targets, weights = logits_and_targets()
    weights[:, 1:] = 0
    losses = keras.ops.convert_to_numpy(ClassLoss(reduction=None)(targets, logits))
    mean = float(ClassLoss()(targets[..., None], logits, sample_weight=weights))
    assert mean == pytest.approx(np.average(losses, weights=weights), rel=1e-6)


def test_rows_without_weight_cost_nothing():
    logits, targets, weights = logits_and_targets()
    assert float(ClassLoss()(targets, logits, sample_weight=0 * weights)) == 0
    assert not gradient_of(lambda x: ClassLoss()(targets, x, sample_weight=0 * weights), logits).any()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("bfloat16", 2**-8), ("float16", 2**-10)])
def test_gelu_and_its_slope(dtype, tolerance):
    x = np.concatenate([np.linspace(-6, 6, 1001), [-60, -14, 0, 14, 60]]).astype("float32")
    x = keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.cast(x, dtype), "float32")).astype("float64")
    wide = x.astype("float32")

    def function(x):
        return keras.ops.cast(gelu_erf(keras.ops.cast(x, dtype)), "float32")

    # Relative where large, absolute where small.
    found = keras.ops.convert_to_numpy(function(keras.ops.convert_to_tensor(wide)))
    np.testing.assert_allclose(found, x * special.ndtr(x), rtol=tolerance, atol=tolerance)
    slope = special.ndtr(x) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(gradient_of(function, wide), slope, rtol=tolerance, atol=tolerance)
