"""The encoder with a head on the vector of the whole row."""

import keras
from keras import ops

from kbert.layers import DenseHead
from kbert.models.backbone import token_inputs
from kbert.models.class_accuracy import ClassAccuracy
from kbert.models.cross_entropy import ClassLoss
from kbert.models.task_training import TaskTraining, checked_label_names

PROBLEMS = ("one_class", "several_labels", "regression")


@keras.saving.register_keras_serializable(package="kbert")
class BertClassifier(TaskTraining, keras.Model):
    """Give a text or a pair its class, its labels, or a number.

    Args:
        backbone: `BertBackbone`.
        num_classes: int, C. Numbers to predict for a regression.
        problem: "one_class" (exactly one of C >= 2; targets int `[B]`), "several_labels" (each of C on its own; targets
            0 or 1 `[B, C]`) or "regression" (targets float `[B, C]`). It chooses the loss of `compile`, not the logits.
        label_names: list of C str, or None for LABEL_0, LABEL_1, ...
        dropout: float in [0, 1) on the pooled vector, or None for the backbone's.

    Call arguments (one dict):
        token_ids, segment_ids, padding_mask: int32 `[B, T]`, as in `BertBackbone`.

    Returns:
        dict of `logits`, float32 `[B, C]`.

    Raises:
        ValueError: `num_classes`, `problem` and `label_names` do not fit together.

    Source: paper section 4.1; google-research/bert `run_classifier.create_model`.
    """

    def __init__(self, backbone, num_classes, problem="one_class", label_names=None, dropout=None, **kwargs):
        label_names = checked_label_names(label_names, num_classes)
        if problem not in PROBLEMS:
            raise ValueError(f"`problem` must be one of {PROBLEMS}. Received: problem={problem!r}.")
        if problem == "one_class" and num_classes < 2:
            raise ValueError(f"`num_classes` must be 2 or more to choose from. Received: num_classes={num_classes}.")
        config = backbone.config
        dropout = config.dropout if dropout is None else dropout
        head = DenseHead(
            num_classes, dropout, config.initializer_stddev, dtype=backbone.dtype_policy, name="classifier"
        )
        inputs = token_inputs()
        outputs = {"logits": head(backbone(inputs)["pooled_output"])}
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bert_classifier"} | kwargs))
        self.backbone = backbone
        self.classifier_head = head
        self.problem = problem
        self.label_names = label_names
        self.dtype_policy = backbone.dtype_policy

    def task_losses(self):
        """Return cross entropy of one class or of each label, with accuracy; or the squared error."""
        if self.problem == "one_class":
            return {"logits": ClassLoss()}, {"logits": [ClassAccuracy()]}
        if self.problem == "several_labels":
            accuracy = keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0)  # Of logits: a probability of 1/2.
            return {"logits": keras.losses.BinaryCrossentropy(from_logits=True)}, {"logits": [accuracy]}
        return {"logits": keras.losses.MeanSquaredError()}, None

    def get_config(self):
        return super().get_config() | {
            "num_classes": len(self.label_names),
            "problem": self.problem,
            "label_names": list(self.label_names),
            "dropout": self.classifier_head.dropout_rate,
        }


@keras.saving.register_keras_serializable(package="kbert")
class BertMultipleChoice(TaskTraining, keras.Model):
    """Choose one of several continuations: each is read with its context, and the scores compete.

    Args:
        backbone: `BertBackbone`.
        dropout: float in [0, 1) on the pooled vector, or None for the backbone's.

    Call arguments (one dict):
        token_ids, segment_ids, padding_mask: int32 `[B, C, T]`: C choices a row, each [CLS] context [SEP] choice [SEP].

    Returns:
        dict of `logits`, float32 `[B, C]`. Softmax over C gives the probability of each choice.

    Source: paper section 4.4; transformers `BertForMultipleChoice`.
    """

    def __init__(self, backbone, dropout=None, **kwargs):
        super().__init__(**({"name": "bert_multiple_choice"} | kwargs))
        config = backbone.config
        dropout = config.dropout if dropout is None else dropout
        self.backbone = backbone
        self.classifier_head = DenseHead(
            1, dropout, config.initializer_stddev, dtype=backbone.dtype_policy, name="classifier"
        )
        self.classifier_head.build((None, config.hidden_dim))
        self.dtype_policy = backbone.dtype_policy
        self.built = True

    def call(self, inputs, training=None):
        _, choices, length = ops.shape(inputs["token_ids"])
        rows = {name: ops.reshape(value, (-1, length)) for name, value in inputs.items()}  # [B * C, T]
        scores = self.classifier_head(self.backbone(rows, training=training)["pooled_output"], training=training)
        return {"logits": ops.reshape(scores, (-1, choices))}  # [B, C]

    def task_losses(self):
        """Return cross entropy and accuracy over the choices."""
        return {"logits": ClassLoss()}, {"logits": [ClassAccuracy()]}

    def get_config(self):
        return super().get_config() | {"dropout": self.classifier_head.dropout_rate}
