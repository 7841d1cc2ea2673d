"""A tagger that reads the hidden states of a frozen encoder, as the paper's feature-based approach has it."""

import keras
from keras import ops

from kbert.models.class_accuracy import ClassAccuracy
from kbert.models.cross_entropy import ClassLoss
from kbert.models.task_training import TaskTraining, checked_label_names

MIXINGS = ("concat", "weighted")


@keras.saving.register_keras_serializable(package="kbert")
class LayerMix(keras.layers.Layer):
    """Sum the states of several layers, each with a weight that is learnt: scale * sum_l softmax(weights)_l state_l.

    Call arguments:
        states: float `[B, T, L, D]`.

    Returns:
        float `[B, T, D]`. At the start it is the mean.

    Source: the paper (section 5.3) says "weighted sum" and not how; this is ELMo's, Peters et al. 2018, equation 1.
    """

    def build(self, input_shape):
        self.layer_weights = self.add_weight(shape=(input_shape[-2],), initializer="zeros", name="layer_weights")
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, states):
        return self.scale * ops.einsum("btld,l->btd", states, ops.softmax(self.layer_weights))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], input_shape[-1])


@keras.saving.register_keras_serializable(package="kbert")
class FeatureTagger(TaskTraining, keras.Model):
    """Give each token a class, from hidden states that do not change: two BiLSTMs and a classifier on top.

    Args:
        num_layers: int, L, layers whose states it reads.
        hidden_dim: int, D, width of the encoder.
        num_classes: int, C.
        label_names: list of C str, or None for LABEL_0, LABEL_1, ...
        mixing: "concat", one long vector of all layers, or "weighted", `LayerMix`.
        units: int, of each direction of each LSTM.
        depth: int, BiLSTMs.
        dropout: float in [0, 1), on what each BiLSTM and the classifier read.

    Call arguments (one dict):
        features: float32 `[B, T, L, D]`.
        padding_mask: int32 `[B, T]`, 1 at tokens, 0 at padding.

    Returns:
        dict of `logits`, float32 `[B, T, C]`. In `fit`, targets and weights are those of `BertTagger`.

    Raises:
        ValueError: `mixing` is none of the two, or `num_classes` and `label_names` do not fit together.

    Source: paper section 5.3 (two layers of 768); it gives neither dropout nor the learning rate.
    """

    def __init__(
        self,
        num_layers,
        hidden_dim,
        num_classes,
        label_names=None,
        mixing="concat",
        units=768,
        depth=2,
        dropout=0.0,
        **kwargs,
    ):
        if mixing not in MIXINGS:
            raise ValueError(f"`mixing` must be one of {MIXINGS}. Received: mixing={mixing!r}.")
        label_names = checked_label_names(label_names, num_classes)
        inputs = {
            "features": keras.Input((None, num_layers, hidden_dim), name="features"),
            "padding_mask": keras.Input((None,), dtype="int32", name="padding_mask"),
        }
        is_token = ops.not_equal(inputs["padding_mask"], 0)
        if mixing == "weighted":
            states = LayerMix(name="layer_mix")(inputs["features"])
        else:
            states = keras.layers.Reshape((-1, num_layers * hidden_dim), name="concat")(inputs["features"])
        for number in range(depth):
            states = keras.layers.Dropout(dropout)(states)
            lstm = keras.layers.LSTM(units, return_sequences=True)
            states = keras.layers.Bidirectional(lstm, name=f"bilstm_{number}")(states, mask=is_token)
        states = keras.layers.Dropout(dropout)(states)
        logits = keras.layers.Dense(num_classes, dtype="float32", name="classifier")(states)
        super().__init__(inputs=inputs, outputs={"logits": logits}, **({"name": "feature_tagger"} | kwargs))
        self.label_names = label_names
        self._settings = {
            "num_layers": num_layers,
            "hidden_dim": hidden_dim,
            "num_classes": num_classes,
            "label_names": list(label_names),
            "mixing": mixing,
            "units": units,
            "depth": depth,
            "dropout": dropout,
        }

    def task_losses(self):
        """Return cross entropy and accuracy over the tokens that are not weighed 0."""
        return {"logits": ClassLoss()}, {"logits": [ClassAccuracy()]}

    def get_config(self):
        return self._settings | {"name": self.name, "trainable": self.trainable}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)
