"""What sits on top of the encoder: the pooler and the two pretraining heads."""

import keras
from keras import ops

from kbert.layers.activations import get_activation
from kbert.layers.norm import LayerNorm
from kbert.layers.one_pass import in_one_pass


def _dense(units, initializer_stddev, **kwargs):
    initializer = keras.initializers.TruncatedNormal(stddev=initializer_stddev)
    return keras.layers.Dense(units, kernel_initializer=initializer, **kwargs)


@keras.saving.register_keras_serializable(package="kbert")
class Pooler(keras.layers.Layer):
    """Pass the vector of the first token, [CLS], through a dense layer and tanh.

    Args:
        hidden_dim: int, D.
        initializer_stddev: float.

    Call arguments:
        sequence_output: float `[B, T, D]`.

    Returns:
        float `[B, D]` in the compute dtype.

    Source: google-research/bert `modeling.BertModel`, scope "pooler".
    """

    def __init__(self, hidden_dim, initializer_stddev=0.02, **kwargs):
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.initializer_stddev = initializer_stddev
        self.dense = _dense(hidden_dim, initializer_stddev, activation="tanh", dtype=self.dtype_policy, name="dense")

    def build(self, sequence_output_shape):
        self.dense.build((sequence_output_shape[0], self.hidden_dim))
        self.built = True

    def call(self, sequence_output):
        return self.dense(sequence_output[:, 0, :])

    def get_config(self):
        return super().get_config() | {"hidden_dim": self.hidden_dim, "initializer_stddev": self.initializer_stddev}


@keras.saving.register_keras_serializable(package="kbert")
class MaskedLMHead(keras.layers.Layer):
    """Score the whole vocabulary at the P masked places of each row.

    Gathers the P rows, then dense, activation, LayerNorm, and the product with the token table (tied: the head owns
    no copy of it) plus a bias of its own. The other T - P rows never meet the V-wide table.

    Args:
        token_embedding: the `keras.layers.Embedding` whose table is tied.
        activation: one of `kbert.config.ACTIVATIONS`, the encoder's.
        layer_norm_epsilon: float, the encoder's.
        initializer_stddev: float.

    Call arguments:
        sequence_output: float `[B, T, D]`.
        mask_positions: int32 `[B, P]`, 0 <= position < T. Unused slots hold any position; weigh them 0 in the loss.

    Returns:
        float32 logits `[B, P, V]`.

    Source: google-research/bert `run_pretraining.get_masked_lm_output`.
    """

    def __init__(
        self, token_embedding, activation="gelu_erf", layer_norm_epsilon=1e-12, initializer_stddev=0.02, **kwargs
    ):
        super().__init__(**kwargs)
        self.token_embedding = token_embedding
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_stddev = initializer_stddev
        self.dense = _dense(
            token_embedding.output_dim,
            initializer_stddev,
            activation=get_activation(activation),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.norm = LayerNorm(layer_norm_epsilon, dtype=self.dtype_policy, name="norm")

    def build(self, sequence_output_shape, mask_positions_shape=None):
        self.dense.build(sequence_output_shape)
        self.norm.build(sequence_output_shape)
        size = (self.token_embedding.input_dim,)
        self.bias = self.add_weight(shape=size, initializer="zeros", name="bias", autocast=False)
        self.built = True

    def call(self, sequence_output, mask_positions, training=None):
        masked = _rows_at(sequence_output, mask_positions)  # [B, P, D]
        transformed = self.norm(self.dense(masked), training=training)  # [B, P, D]
        table = ops.cast(self.token_embedding.embeddings, self.compute_dtype)  # [V, D]
        scores = _products(transformed, table)  # [B, P, V]
        return in_one_pass(_add_in_float32, scores, ops.cast(self.bias, "float32"), training=training)

    def compute_output_spec(self, sequence_output, mask_positions, training=None):
        shape = (*mask_positions.shape, self.token_embedding.input_dim)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        return super().get_config() | {
            "token_embedding": keras.saving.serialize_keras_object(self.token_embedding),
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_stddev": self.initializer_stddev,
        }

    @classmethod
    def from_config(cls, config):
        config["token_embedding"] = keras.saving.deserialize_keras_object(config["token_embedding"])
        return cls(**config)


def _rows_at(sequence_output, mask_positions):
    """Return `[B, P, D]`, of each row of `[B, T, D]` the vectors at its positions `[B, P]`."""
    if keras.backend.backend() == "tensorflow":
        from kbert.tensorflow_kernels import rows_at

        return rows_at(sequence_output, mask_positions)
    if keras.backend.backend() == "jax":  # Vectors at once, where take_along_axis gathers number by number.
        return ops.vectorized_map(lambda row: ops.take(row[0], row[1], axis=0), (sequence_output, mask_positions))
    return ops.take_along_axis(sequence_output, mask_positions[:, :, None], axis=1)


def _products(vectors, table):
    """Return `[B, P, V]`, the products of `[B, P, D]` with the rows of `[V, D]`."""
    if keras.backend.backend() == "tensorflow":
        from kbert.tensorflow_kernels import products

        return products(vectors, table)
    return ops.matmul(vectors, ops.transpose(table))


def _add_in_float32(scores, bias):
    return ops.cast(scores, "float32") + bias


@keras.saving.register_keras_serializable(package="kbert")
class NextSentenceHead(keras.layers.Layer):
    """Score whether the second sentence follows the first.

    Args:
        initializer_stddev: float.

    Call arguments:
        pooled_output: float `[B, D]`.

    Returns:
        float32 logits `[B, 2]`: column 0 = follows, column 1 = random (the value of `is_random_next`).

    Source: google-research/bert `run_pretraining.get_next_sentence_output`.
    """

    def __init__(self, initializer_stddev=0.02, **kwargs):
        super().__init__(**kwargs)
        self.initializer_stddev = initializer_stddev
        self.dense = _dense(2, initializer_stddev, dtype=self.dtype_policy, name="dense")

    def build(self, pooled_output_shape):
        self.dense.build(pooled_output_shape)
        self.built = True

    def call(self, pooled_output):
        return ops.cast(self.dense(pooled_output), "float32")

    def compute_output_spec(self, pooled_output):
        return keras.KerasTensor((pooled_output.shape[0], 2), dtype="float32")

    def get_config(self):
        return super().get_config() | {"initializer_stddev": self.initializer_stddev}
