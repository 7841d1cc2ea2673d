"""The encoder with a head on the vector of each token."""

import keras

from kbert.layers import DenseHead
from kbert.models.backbone import token_inputs
from kbert.models.class_accuracy import ClassAccuracy
from kbert.models.cross_entropy import ClassLoss
from kbert.models.task_training import TaskTraining, checked_label_names


@keras.saving.register_keras_serializable(package="kbert")
class BertTagger(TaskTraining, keras.Model):
    """Give each token a class, such as the kind of name it belongs to.

    Args:
        backbone: `BertBackbone`.
        num_classes: int, C.
        label_names: list of C str, or None for LABEL_0, LABEL_1, ...
        dropout: float in [0, 1) on the token vectors, or None for the backbone's.
        tags_pieces: bool. True: every piece of a word has a tag of its own, as a model learns from text that is tagged
            character by character; False: a word has that of its first piece. Training and logits are the same; it is
            what `kbert.inference.Tag` goes by.

    Call arguments (one dict):
        token_ids, segment_ids, padding_mask: int32 `[B, T]`, as in `BertBackbone`.

    Returns:
        dict of `logits`, float32 `[B, T, C]`. In `fit`, targets are int `[B, T]`, and weights `[B, T]` of 0 leave out
        padding, special tokens and the later pieces of a word.

    Raises:
        ValueError: `num_classes` and `label_names` do not fit together.

    Source: paper section 5.3; transformers `BertForTokenClassification`.
    """

    def __init__(self, backbone, num_classes, label_names=None, dropout=None, tags_pieces=False, **kwargs):
        label_names = checked_label_names(label_names, num_classes)
        config = backbone.config
        dropout = config.dropout if dropout is None else dropout
        head = DenseHead(
            num_classes, dropout, config.initializer_stddev, dtype=backbone.dtype_policy, name="classifier"
        )
        inputs = token_inputs()
        outputs = {"logits": head(backbone(inputs)["sequence_output"])}
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bert_tagger"} | kwargs))
        self.backbone = backbone
        self.classifier_head = head
        self.label_names = label_names
        self.tags_pieces = tags_pieces
        self.dtype_policy = backbone.dtype_policy

    def task_losses(self):
        """Return cross entropy and accuracy over the tokens that are not weighed 0."""
        return {"logits": ClassLoss()}, {"logits": [ClassAccuracy()]}

    def get_config(self):
        return super().get_config() | {
            "num_classes": len(self.label_names),
            "label_names": list(self.label_names),
            "dropout": self.classifier_head.dropout_rate,
            "tags_pieces": self.tags_pieces,
        }


@keras.saving.register_keras_serializable(package="kbert")
class BertSpanFinder(TaskTraining, keras.Model):
    """Find where the answer to a question starts and ends in a text.

    Args:
        backbone: `BertBackbone`.

    Call arguments (one dict):
        token_ids, segment_ids, padding_mask: int32 `[B, T]`: [CLS] question [SEP] text [SEP].

    Returns:
        dict of `start` and `end`, float32 logits `[B, T]` over the positions. Padding has logits too: mask them before
        a softmax if the rows differ in length. In `fit`, targets are int `[B]` positions, 0 ([CLS]) for no answer, and
        padding is masked, so that a row learns the same whatever the longest row of its batch.

    Source: paper section 4.2; google-research/bert `run_squad.create_model` (no dropout on the head).
    """

    def __init__(self, backbone, **kwargs):
        head = DenseHead(2, 0.0, backbone.config.initializer_stddev, dtype=backbone.dtype_policy, name="span")
        inputs = token_inputs()
        logits = head(backbone(inputs)["sequence_output"])  # [B, T, 2]
        logits = _WithoutPadding(dtype="float32", name="without_padding")(logits, inputs["padding_mask"])
        outputs = {"start": logits[:, :, 0], "end": logits[:, :, 1]}
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bert_span_finder"} | kwargs))
        self.backbone = backbone
        self.span_head = head
        self.dtype_policy = backbone.dtype_policy

    def compile(self, optimizer="adamw", loss_weights=None, **kwargs):
        """Configure `fit` with the mean of both cross entropies, unless told otherwise; see `TaskTraining.compile`."""
        loss_weights = {"start": 0.5, "end": 0.5} if loss_weights is None else loss_weights
        super().compile(optimizer=optimizer, loss_weights=loss_weights, **kwargs)

    def task_losses(self):
        """Return cross entropy and accuracy over the positions, for both ends."""
        losses = {"start": ClassLoss(), "end": ClassLoss()}
        return losses, {"start": [ClassAccuracy()], "end": [ClassAccuracy()]}


class _WithoutPadding(keras.layers.Layer):
    """Make the logits `[B, T, 2]` of padding so small, in training, that a softmax gives them nothing."""

    SMALL = -10_000.0

    def call(self, logits, padding_mask, training=None):
        if not training:
            return logits
        return logits + self.SMALL * (1.0 - keras.ops.cast(padding_mask, logits.dtype))[:, :, None]
