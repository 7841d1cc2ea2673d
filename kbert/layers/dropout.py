"""Dropout that draws few random numbers."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout`, on TensorFlow from 16 random bits an element: half of what Keras has it draw.

    Args:
        rate: float in [0, 1). On TensorFlow it is rounded to a multiple of 2**-16.
        **kwargs: as in `keras.layers.Dropout`.
    """

    def call(self, inputs, training=False):
        is_plain = keras.backend.backend() != "tensorflow" or self.noise_shape is not None
        if is_plain or not training or not 2**-17 < self.rate < 1 - 2**-17:
            return super().call(inputs, training=training)
        from kbert.tensorflow_kernels import keep_mask

        kept = keep_mask(ops.shape(inputs), self.rate, self.seed_generator.next())
        share = 1 - round(self.rate * 2**16) / 2**16
        return ops.where(kept, inputs * ops.cast(1 / share, inputs.dtype), ops.cast(0.0, inputs.dtype))
