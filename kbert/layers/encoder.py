"""One block of the encoder."""

import keras

from kbert.layers.activations import get_activation
from kbert.layers.attention import SelfAttention
from kbert.layers.dropout import Dropout
from kbert.layers.norm import LayerNorm
from kbert.layers.one_pass import in_one_pass
from kbert.layers.recompute import recompute


@keras.saving.register_keras_serializable(package="kbert")
class EncoderBlock(keras.layers.Layer):
    """Attention, then a feed-forward, each with dropout, a residual sum and a LayerNorm after it (post-norm).

    Args:
        num_heads: int, N.
        hidden_dim: int, D.
        intermediate_dim: int, F.
        dropout: float in [0, 1), on the output of both sublayers. None follows the activation, as in the paper's code.
        attention_dropout: float in [0, 1), on the attention probabilities.
        activation: one of `kbert.config.ACTIVATIONS`.
        layer_norm_epsilon: float.
        initializer_stddev: float.
        is_causal: bool, as in `SelfAttention`.

    Call arguments:
        hidden_states: float `[B, T, D]`.
        padding_mask: int32 `[B, T]`. 1 = real token, 0 = padding.
        return_attention_maps: bool. Also return the probabilities `[B, N, T, S]`.

    Returns:
        float `[B, T, D]` in the compute dtype, or a pair of it and the attention maps.

    Attributes:
        remat: bool, False at first. True: in training, compute the block a second time in the backward pass rather than
            keep what is inside it. The results are the same; attention maps are never computed so.

    Source: google-research/bert `modeling.transformer_model`.
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        attention_dropout=0.1,
        activation="gelu_erf",
        layer_norm_epsilon=1e-12,
        initializer_stddev=0.02,
        is_causal=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout_rate = dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_stddev = initializer_stddev
        self.is_causal = is_causal
        self.remat = False

        def dense(units, name):
            initializer = keras.initializers.TruncatedNormal(stddev=initializer_stddev)
            return keras.layers.Dense(units, kernel_initializer=initializer, dtype=policy, name=name)

        policy = self.dtype_policy
        self.attention = SelfAttention(
            num_heads, hidden_dim, attention_dropout, initializer_stddev, is_causal, dtype=policy, name="attention"
        )
        self.attention_norm = LayerNorm(layer_norm_epsilon, dtype=policy, name="attention_norm")
        self.intermediate = dense(intermediate_dim, "intermediate")
        self.feed_forward = dense(hidden_dim, "feed_forward")
        self.feed_forward_norm = LayerNorm(layer_norm_epsilon, dtype=policy, name="feed_forward_norm")
        self.dropout = Dropout(dropout, dtype=policy, name="dropout")

    def build(self, hidden_states_shape, padding_mask_shape=None):
        for layer in (self.attention, self.attention_norm, self.intermediate, self.feed_forward_norm, self.dropout):
            layer.build(hidden_states_shape)
        self.feed_forward.build((*hidden_states_shape[:-1], self.intermediate_dim))
        self.built = True

    def call(self, hidden_states, padding_mask, return_attention_maps=False, training=None):
        if self.remat and training and not return_attention_maps:
            draws = [(self.attention.dropout, 1), (self.dropout, 2)]
            draws = [(dropout.seed_generator, times) for dropout, times in draws if dropout.rate > 0]
            return recompute(
                self, lambda states: self._forward(states, padding_mask, False, True), hidden_states, draws
            )
        return self._forward(hidden_states, padding_mask, return_attention_maps, training)

    def _forward(self, hidden_states, padding_mask, return_attention_maps, training):
        attended = self.attention(
            hidden_states, padding_mask, return_attention_maps=return_attention_maps, training=training
        )
        attended, maps = attended if return_attention_maps else (attended, None)
        attended = self.dropout(attended, training=training)
        hidden_states = self.attention_norm(hidden_states + attended, training=training)  # [B, T, D]
        inner = self.intermediate(hidden_states)  # [B, T, F]
        fed = self.feed_forward(in_one_pass(get_activation(self.activation), inner, training=training))  # [B, T, D]
        hidden_states = self.feed_forward_norm(hidden_states + self.dropout(fed, training=training), training=training)
        return (hidden_states, maps) if return_attention_maps else hidden_states

    def get_config(self):
        return super().get_config() | {
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout_rate,
            "attention_dropout": self.attention_dropout,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_stddev": self.initializer_stddev,
            "is_causal": self.is_causal,
        }
