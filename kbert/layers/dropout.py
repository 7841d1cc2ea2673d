"""Dropout that draws its random numbers cheaply."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` with cheaper random numbers, but for PyTorch on a GPU.

    On JAX they are hashes, which compile into the loop that they serve; on TensorFlow and PyTorch an element takes 16
    bits of the generator, of which Keras draws 32 or more.

    Args:
        rate: float in [0, 1), rounded to a multiple of 2**-16.
        **kwargs: as in `keras.layers.Dropout`.
    """

    def call(self, inputs, training=False):
        is_plain = self.noise_shape is not None or not 2**-17 < self.rate < 1 - 2**-17
        keep_mask = None if is_plain or not training else _keep_mask_for(inputs)
        if keep_mask is None:
            return super().call(inputs, training=training)
        rate = round(self.rate * 2**16) / 2**16
        kept = keep_mask(ops.shape(inputs), rate, self.seed_generator.next())
        return ops.where(kept, inputs * ops.cast(1 / (1 - rate), inputs.dtype), ops.cast(0.0, inputs.dtype))


def _keep_mask_for(inputs):
    """Return the function that draws what to keep, or None for Keras' dropout."""
    if keras.backend.backend() == "jax":
        from kbert.layers.hashed_bits import keep_mask
    elif keras.backend.backend() == "tensorflow":
        from kbert.tensorflow_kernels import keep_mask
    elif getattr(inputs, "is_cpu", False):
        from kbert.torch_kernels import keep_mask
    else:
        return None
    return keep_mask
