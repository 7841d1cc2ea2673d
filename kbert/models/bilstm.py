"""An encoder with a BiLSTM on top, which the paper's ablation gives to the left-to-right model."""

import keras
from keras import ops

from kbert.models.backbone import token_inputs


@keras.saving.register_keras_serializable(package="kbert")
class BiLSTMBackbone(keras.Model):
    """Read the vectors of an encoder in both directions. It stands where a `BertBackbone` does under a head.

    Args:
        backbone: `BertBackbone` of an even width D.

    Call arguments: those of `BertBackbone`.

    Returns:
        dict of `sequence_output` float `[B, T, D]`, half of each vector from either direction, and `pooled_output`
        float `[B, D]`: what the forward LSTM says at the last token beside what the backward one says at the first.

    Source: paper section 5.1, "+ BiLSTM", which gives no sizes: here D / 2 a direction, one layer, no dropout.
    """

    def __init__(self, backbone, **kwargs):
        width = backbone.config.hidden_dim
        if width % 2:
            raise ValueError(f"The width must be even, half of it a direction. Received: hidden_dim={width}.")
        # In float32: half precision makes a recurrence of hundreds of steps coarse, and saves little.
        lstm = keras.layers.LSTM(width // 2, return_sequences=True, return_state=True, dtype="float32")
        bilstm = keras.layers.Bidirectional(lstm, dtype="float32", name="bilstm")
        inputs = token_inputs()
        encoded = ops.cast(backbone(inputs)["sequence_output"], "float32")
        states, forward, _, backward, _ = bilstm(encoded, mask=ops.not_equal(inputs["padding_mask"], 0))
        outputs = {"sequence_output": states, "pooled_output": ops.concatenate([forward, backward], axis=-1)}
        outputs = {name: ops.cast(value, backbone.dtype_policy.compute_dtype) for name, value in outputs.items()}
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bilstm_backbone"} | kwargs))
        self.encoder = backbone
        self.bilstm = bilstm
        self.config, self.dtype_policy = backbone.config, backbone.dtype_policy

    def get_config(self):
        return {"backbone": keras.saving.serialize_keras_object(self.encoder), "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        backbone = keras.saving.deserialize_keras_object(config.pop("backbone"), custom_objects=custom_objects)
        return cls(backbone, **config)
