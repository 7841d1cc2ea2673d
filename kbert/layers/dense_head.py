"""The one layer that fine-tuning puts on top of the encoder."""

import keras
from keras import ops

from kbert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="kbert")
class DenseHead(keras.layers.Layer):
    """Dropout, then one dense layer, for a vector a row or a vector a token.

    Args:
        num_classes: int, C.
        dropout: float in [0, 1), on the input.
        initializer_stddev: float.

    Call arguments:
        hidden_states: float `[B, D]` or `[B, T, D]`.

    Returns:
        float32 logits `[B, C]` or `[B, T, C]`.

    Source: paper section 4.1; google-research/bert `run_classifier.create_model`.
    """

    def __init__(self, num_classes, dropout=0.1, initializer_stddev=0.02, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = num_classes
        self.dropout_rate = dropout
        self.initializer_stddev = initializer_stddev
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.dense = keras.layers.Dense(
            num_classes,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=initializer_stddev),
            dtype=self.dtype_policy,
            name="dense",
        )

    def build(self, hidden_states_shape):
        self.dropout.build(hidden_states_shape)
        self.dense.build(hidden_states_shape)
        self.built = True

    def call(self, hidden_states, training=None):
        return ops.cast(self.dense(self.dropout(hidden_states, training=training)), "float32")

    def compute_output_spec(self, hidden_states, training=None):
        return keras.KerasTensor((*hidden_states.shape[:-1], self.num_classes), dtype="float32")

    def get_config(self):
        return super().get_config() | {
            "num_classes": self.num_classes,
            "dropout": self.dropout_rate,
            "initializer_stddev": self.initializer_stddev,
        }
