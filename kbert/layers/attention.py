"""Multi-head self-attention; the only file that turns a padding mask into arithmetic."""

import keras
from keras import ops

from kbert.layers.dropout import Dropout

# What Google's code adds to a masked score: far below any real one, and finite in float16 too.
MASKED_SCORE = -10000.0


@keras.saving.register_keras_serializable(package="kbert")
class SelfAttention(keras.layers.Layer):
    """Let every token look at every real token of its row, in both directions unless it is causal.

    Two paths, one contract. The fused path uses the backend's own attention kernel; the other computes the
    probabilities one by one, and is taken when they are asked for or when dropout has to act on them.

    Args:
        num_heads: int, N.
        hidden_dim: int, D, a multiple of N. Each head is H = D / N wide.
        attention_dropout: float in [0, 1), on the probabilities.
        initializer_stddev: float.
        is_causal: bool. True = a token looks at itself and those before it.

    Call arguments:
        hidden_states: float `[B, T, D]`.
        padding_mask: int32 `[B, T]`. 1 = real token, 0 = padding (no token looks at it).
        return_attention_maps: bool. Also return the probabilities, before dropout.

    Returns:
        float `[B, T, D]` in the compute dtype; with `return_attention_maps` a pair of it and the probabilities
        `[B, N, T, S]`, each row of which sums to 1.

    Source: google-research/bert `modeling.attention_layer`; the dense layer behind it is `transformer_model`'s.
    """

    def __init__(
        self, num_heads, hidden_dim, attention_dropout=0.1, initializer_stddev=0.02, is_causal=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.attention_dropout = attention_dropout
        self.initializer_stddev = initializer_stddev
        self.is_causal = is_causal

        def dense(name):
            initializer = keras.initializers.TruncatedNormal(stddev=initializer_stddev)
            return keras.layers.Dense(hidden_dim, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.projection = dense("projection")
        self.dropout = Dropout(attention_dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, hidden_states_shape, padding_mask_shape=None):
        for layer in (self.query, self.key, self.value, self.projection):
            layer.build(hidden_states_shape)
        batch, length, _ = hidden_states_shape
        self.dropout.build((batch, self.num_heads, length, length))
        self.built = True

    def call(self, hidden_states, padding_mask, return_attention_maps=False, training=None):
        head_dim = self.hidden_dim // self.num_heads

        def heads(x):
            return ops.reshape(x, (-1, ops.shape(x)[1], self.num_heads, head_dim))  # [B, T, N, H]

        query = heads(self.query(hidden_states))
        key = heads(self.key(hidden_states))
        value = heads(self.value(hidden_states))
        real = ops.cast(padding_mask, self.compute_dtype)
        bias = (1.0 - real[:, None, None, :]) * MASKED_SCORE  # [B, 1, 1, S]
        if self.is_causal:
            places = ops.arange(ops.shape(padding_mask)[1])
            comes_later = ops.cast(places[:, None] < places[None, :], self.compute_dtype)  # [T, S]
            bias = bias + comes_later * MASKED_SCORE  # [B, 1, T, S]
        drops = bool(training) and self.attention_dropout > 0
        if return_attention_maps or drops or not self._has_fused_kernel():
            scaled = ops.transpose(query * head_dim**-0.5, (0, 2, 1, 3))  # [B, N, T, H]
            scores = ops.matmul(scaled, ops.transpose(key, (0, 2, 3, 1))) + bias  # [B, N, T, S]
            probabilities = ops.softmax(scores, axis=-1)
            dropped = self.dropout(probabilities, training=training)
            context = ops.matmul(dropped, ops.transpose(value, (0, 2, 1, 3)))  # [B, N, T, H]
            context = ops.transpose(context, (0, 2, 1, 3))  # [B, T, N, H]
        else:
            context = ops.dot_product_attention(query, key, value, bias=bias)  # [B, T, N, H]
        output = self.projection(ops.reshape(context, (-1, ops.shape(context)[1], self.hidden_dim)))  # [B, T, D]
        return (output, probabilities) if return_attention_maps else output

    def _has_fused_kernel(self):
        # JAX has no CPU kernel that multiplies float16 into float32.
        return not (keras.backend.backend() == "jax" and self.compute_dtype == "float16")

    def get_config(self):
        return super().get_config() | {
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "attention_dropout": self.attention_dropout,
            "initializer_stddev": self.initializer_stddev,
            "is_causal": self.is_causal,
        }
