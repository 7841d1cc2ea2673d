"""The vector of a row in a model that reads from left to right."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class LastToken(keras.layers.Layer):
    """Take the vector of the last real token of each row, the only one that has seen all of it.

    Call arguments:
        hidden_states: float `[B, T, D]`.
        padding_mask: int32 `[B, T]`. 1 = real token, 0 = padding, which stands behind the tokens.

    Returns:
        float `[B, 1, D]`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def call(self, hidden_states, padding_mask):
        last = ops.maximum(ops.sum(padding_mask, axis=1) - 1, 0)  # [B]
        return ops.take_along_axis(hidden_states, last[:, None, None], axis=1)

    def compute_output_shape(self, hidden_states_shape, padding_mask_shape=None):
        return (hidden_states_shape[0], 1, hidden_states_shape[2])

    def get_config(self):
        return super().get_config()  # Keras writes no config of a layer with `**kwargs` by itself.
