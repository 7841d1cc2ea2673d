"""LayerNorm in one pass."""

import functools

import keras
from keras import ops

from kbert.layers.one_pass import in_one_pass


@keras.saving.register_keras_serializable(package="kbert")
class LayerNorm(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` over the last axis; the same numbers, in fewer passes on TensorFlow.

    Args:
        epsilon: float, under the root.
        **kwargs: as in `keras.layers.Layer`.

    Call arguments:
        inputs: float `[..., D]`.

    Returns:
        float `[..., D]` in the compute dtype.
    """

    def __init__(self, epsilon=1e-12, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)

    def call(self, inputs, training=None):
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        gamma, beta = (ops.cast(weight, dtype) for weight in (self.gamma, self.beta))
        outputs = in_one_pass(_normalize(self.epsilon), inputs, gamma, beta, training=training)
        return ops.cast(outputs, self.compute_dtype)


@functools.cache
def _normalize(epsilon):
    return lambda x, gamma, beta: ops.layer_normalization(x, gamma, beta, -1, epsilon)
