"""Dropout that draws few random numbers."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout`, but that an element's fate is drawn from 16 random bits, where Keras draws 32 or more.

    On JAX, which gains nothing by that, and with PyTorch on a GPU, which has a kernel, it is Keras'.

    Args:
        rate: float in [0, 1), rounded to a multiple of 2**-16.
        **kwargs: as in `keras.layers.Dropout`.
    """

    def call(self, inputs, training=False):
        is_plain = self.noise_shape is not None or not 2**-17 < self.rate < 1 - 2**-17
        keep_mask = None if is_plain or not training else _keep_mask(inputs)
        if keep_mask is None:
            return super().call(inputs, training=training)
        kept = keep_mask(ops.shape(inputs), self.rate, self.seed_generator.next())
        share = 1 - round(self.rate * 2**16) / 2**16
        return ops.where(kept, inputs * ops.cast(1 / share, inputs.dtype), ops.cast(0.0, inputs.dtype))


def _keep_mask(inputs):
    """Return the function that draws what to keep, or None."""
    if keras.backend.backend() == "tensorflow":
        from kbert.tensorflow_kernels import keep_mask

        return keep_mask
    if keras.backend.backend() == "torch" and getattr(inputs, "is_cpu", False):
        from kbert.torch_kernels import keep_mask

        return keep_mask
    return None
