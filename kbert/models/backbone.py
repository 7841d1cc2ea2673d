"""The encoder, from token ids to vectors."""

import keras

from kbert.config import BertConfig
from kbert.layers import BertEmbeddings, EncoderBlock, LastToken, Pooler
from kbert.models.frozen import freeze_layers, frozen_layers


def token_inputs():
    """Return the three symbolic inputs every BERT takes, int32 `[B, T]` each, by name."""
    names = ("token_ids", "segment_ids", "padding_mask")
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


@keras.saving.register_keras_serializable(package="kbert")
class BertBackbone(keras.Model):
    """Encode token ids into one vector a token and one vector a row.

    Args:
        config: `BertConfig`.
        dtype: dtype policy or its name, e.g. "mixed_bfloat16". None takes the global policy.

    Call arguments (one dict):
        token_ids: int32 `[B, T]`, T <= max_sequence_length.
        segment_ids: int32 `[B, T]`. 0 = first sentence, 1 = second.
        padding_mask: int32 `[B, T]`. 1 = real token, 0 = padding. The vectors of padding are not zero: ignore them.

    Returns:
        dict of `sequence_output` float `[B, T, D]` and `pooled_output` float `[B, D]`, in the compute dtype. The second
        is made of the vector of [CLS]; with a causal `config` of the last real token's, for [CLS] sees itself only.

    Example:
        >>> import numpy as np
        >>> backbone = BertBackbone(BertConfig.named("tiny", vocabulary_size=100))
        >>> ones = np.ones((1, 6), "int32")
        >>> backbone({"token_ids": ones, "segment_ids": 0 * ones, "padding_mask": ones})["sequence_output"].shape
        (1, 6, 128)

    Source: paper section 3; google-research/bert `modeling.BertModel`.
    """

    def __init__(self, config, dtype=None, **kwargs):
        dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        embeddings = BertEmbeddings(
            config.vocabulary_size,
            config.hidden_dim,
            config.max_sequence_length,
            config.num_segments,
            config.dropout,
            config.layer_norm_epsilon,
            config.initializer_stddev,
            dtype=dtype,
            name="embeddings",
        )
        blocks = [
            EncoderBlock(
                config.num_heads,
                config.hidden_dim,
                config.intermediate_dim,
                config.dropout,
                config.attention_dropout,
                config.activation,
                config.layer_norm_epsilon,
                config.initializer_stddev,
                config.is_causal,
                dtype=dtype,
                name=f"block_{index}",
            )
            for index in range(config.num_layers)
        ]
        pooler = Pooler(config.hidden_dim, config.initializer_stddev, dtype=dtype, name="pooler")

        inputs = token_inputs()
        hidden_states = embeddings(inputs["token_ids"], inputs["segment_ids"])
        for block in blocks:
            hidden_states = block(hidden_states, inputs["padding_mask"])
        last_token = LastToken(dtype=dtype, name="last_token") if config.is_causal else None
        summary = last_token(hidden_states, inputs["padding_mask"]) if last_token else hidden_states
        outputs = {"sequence_output": hidden_states, "pooled_output": pooler(summary)}
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bert_backbone"} | kwargs))
        self.config = config
        self.embeddings = embeddings
        self.blocks = blocks
        self.last_token = last_token
        self.pooler = pooler
        self.dtype_policy = dtype

    def with_intermediates(self):
        """Return a model over the same weights that also tells what happens inside.

        Returns:
            `keras.Model` with the inputs of this one, whose outputs have two more keys: `hidden_states`, a list of
            `num_layers` + 1 float `[B, T, D]` (the embeddings first, `sequence_output` last), and `attention_maps`, a
            list of `num_layers` float `[B, N, T, S]`.
        """
        return _BackboneWithIntermediates(self)

    @property
    def remat(self):
        """Whether training computes each block a second time rather than keep its activations (`EncoderBlock.remat`).

        Set it before the first training step. It changes memory and time, not results, and is not saved.
        """
        return all(block.remat for block in self.blocks)

    @remat.setter
    def remat(self, remat):
        """Set it for every block."""
        for block in self.blocks:
            block.remat = remat

    def get_config(self):
        return {
            "config": self.config.to_dict(),
            "name": self.name,
            "frozen": frozen_layers(self),
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        dtype = keras.dtype_policies.deserialize(config.pop("dtype"))
        frozen = config.pop("frozen", ())
        return freeze_layers(cls(BertConfig.from_dict(config.pop("config")), dtype=dtype, **config), frozen)


class _BackboneWithIntermediates(keras.Model):
    # Not a functional model: Keras refuses a layer whose two calls return different structures in one graph.
    def __init__(self, backbone):
        super().__init__(name=f"{backbone.name}_with_intermediates")
        self.backbone = backbone

    def call(self, inputs, training=None):
        embeddings = self.backbone.embeddings(inputs["token_ids"], inputs["segment_ids"], training=training)
        hidden_states, attention_maps = [embeddings], []
        for block in self.backbone.blocks:
            output, maps = block(
                hidden_states[-1], inputs["padding_mask"], return_attention_maps=True, training=training
            )
            hidden_states.append(output)
            attention_maps.append(maps)
        summary = hidden_states[-1]
        if self.backbone.last_token:
            summary = self.backbone.last_token(summary, inputs["padding_mask"])
        return {
            "sequence_output": hidden_states[-1],
            "pooled_output": self.backbone.pooler(summary),
            "hidden_states": hidden_states,
            "attention_maps": attention_maps,
        }
