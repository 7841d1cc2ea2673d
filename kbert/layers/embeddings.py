"""Token + segment + position."""

import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.norm import LayerNorm


@keras.saving.register_keras_serializable(package="kbert")
class BertEmbeddings(keras.layers.Layer):
    """Sum the token, segment and position rows of each token, then LayerNorm and dropout.

    Args:
        vocabulary_size: int, V.
        hidden_dim: int, D.
        max_sequence_length: int, rows of the position table.
        num_segments: int, rows of the segment table.
        dropout: float in [0, 1).
        layer_norm_epsilon: float.
        initializer_stddev: float, of the truncated normal that fills the three tables.

    Call arguments:
        token_ids: int32 `[B, T]`, 0 <= id < V.
        segment_ids: int32 `[B, T]`, 0 = first sentence, 1 = second.

    Returns:
        float `[B, T, D]` in the compute dtype.

    Raises:
        ValueError: T is known and larger than `max_sequence_length`.

    Source: paper section 3.2 and figure 2; google-research/bert `modeling.embedding_postprocessor`.
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        max_sequence_length=512,
        num_segments=2,
        dropout=0.1,
        layer_norm_epsilon=1e-12,
        initializer_stddev=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.dropout_rate = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_stddev = initializer_stddev

        def table(rows, name):
            initializer = keras.initializers.TruncatedNormal(stddev=initializer_stddev)
            return keras.layers.Embedding(
                rows, hidden_dim, initializer, dtype=self.dtype_policy, autocast=False, name=name
            )

        self.token_embedding = table(vocabulary_size, "token_embedding")
        self.segment_embedding = table(num_segments, "segment_embedding")
        self.position_embedding = table(max_sequence_length, "position_embedding")
        self.norm = LayerNorm(layer_norm_epsilon, dtype=self.dtype_policy, name="norm")
        self.dropout = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, token_ids_shape, segment_ids_shape=None):
        for table in (self.token_embedding, self.segment_embedding, self.position_embedding):
            table.build(token_ids_shape)
        self.norm.build((*token_ids_shape, self.hidden_dim))
        self.dropout.build((*token_ids_shape, self.hidden_dim))
        self.built = True

    def call(self, token_ids, segment_ids, training=None):
        length = token_ids.shape[1] if token_ids.shape[1] is not None else ops.shape(token_ids)[1]
        if isinstance(length, int) and length > self.max_sequence_length:
            raise ValueError(
                "`token_ids` must have at most `max_sequence_length` tokens a row. "
                f"Received: {length} tokens, max_sequence_length={self.max_sequence_length}."
            )
        tokens = self.token_embedding(token_ids)  # [B, T, D]
        # With so few rows a product with one-hot vectors has a cheaper gradient than a gather.
        one_hot = ops.one_hot(segment_ids, self.num_segments, dtype=self.compute_dtype)  # [B, T, segments]
        segments = ops.matmul(one_hot, ops.cast(self.segment_embedding.embeddings, self.compute_dtype))  # [B, T, D]
        positions = ops.cast(self.position_embedding.embeddings[:length], self.compute_dtype)  # [T, D]
        normed = self.norm(tokens + segments + positions, training=training)
        return self.dropout(normed, training=training)

    def compute_output_shape(self, token_ids_shape, segment_ids_shape=None):
        return (*token_ids_shape, self.hidden_dim)

    def get_config(self):
        return super().get_config() | {
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "max_sequence_length": self.max_sequence_length,
            "num_segments": self.num_segments,
            "dropout": self.dropout_rate,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_stddev": self.initializer_stddev,
        }
