"""The encoder with both pretraining heads."""

import keras
from keras import ops

from kbert.layers import MaskedLMHead, NextSentenceHead
from kbert.models.backbone import token_inputs
from kbert.models.class_accuracy import ClassAccuracy
from kbert.models.cross_entropy import ClassLoss
from kbert.models.task_training import TaskTraining


@keras.saving.register_keras_serializable(package="kbert")
class BertPretrainer(TaskTraining, keras.Model):
    """Predict masked words and whether the second sentence follows the first.

    Args:
        backbone: `BertBackbone`.
        tied_decoder: bool. True: the masked-word head scores with the token table, as in the paper. False: with a
            table of its own, as a few released checkpoints do.

    Call arguments (one dict):
        token_ids, segment_ids, padding_mask: int32 `[B, T]`, as in `BertBackbone`.
        mask_positions: int32 `[B, P]`, the places to predict. Filler 0.

    Returns:
        dict of float32 logits: `mlm` `[B, P, V]` and `nsp` `[B, 2]` (column 0 = follows, 1 = random).

    Example:
        >>> from kbert import BertBackbone, BertConfig
        >>> model = BertPretrainer(BertBackbone(BertConfig.named("tiny")))
        >>> model.count_params()
        4433596

    Source: google-research/bert `run_pretraining.model_fn_builder`.
    """

    def __init__(self, backbone, tied_decoder=True, **kwargs):
        config = backbone.config
        mlm_head = MaskedLMHead(
            backbone.embeddings.token_embedding if tied_decoder else _new_table(config, backbone.dtype_policy),
            config.activation,
            config.layer_norm_epsilon,
            config.initializer_stddev,
            dtype=backbone.dtype_policy,
            name="mlm",
        )
        nsp_head = NextSentenceHead(config.initializer_stddev, dtype=backbone.dtype_policy, name="nsp")

        inputs = token_inputs()
        encoded = backbone(inputs)
        inputs["mask_positions"] = keras.Input((None,), dtype="int32", name="mask_positions")
        outputs = {
            "mlm": mlm_head(encoded["sequence_output"], inputs["mask_positions"]),
            "nsp": nsp_head(encoded["pooled_output"]),
        }
        super().__init__(inputs=inputs, outputs=outputs, **({"name": "bert_pretrainer"} | kwargs))
        self.backbone = backbone
        self.mlm_head = mlm_head
        self.nsp_head = nsp_head
        self.tied_decoder = tied_decoder
        self.dtype_policy = backbone.dtype_policy

    def task_losses(self):
        """Return the paper's loss, L = L_MLM + L_NSP, and the two accuracies.

        Cross entropy over the selected places only (a weighted mean by `mask_weights`), plus cross entropy of
        next-sentence prediction over the rows that are pairs. mlm_perplexity comes with any choice of metrics.

        Source: google-research/bert `run_pretraining.get_masked_lm_output`, `metric_fn`.
        """
        return (
            {"mlm": ClassLoss(), "nsp": ClassLoss()},
            {"mlm": [ClassAccuracy()], "nsp": [ClassAccuracy()]},
        )

    def get_metrics_result(self):
        # Perplexity is exp of the loss; as a metric of its own it would pay the cross entropy over V twice.
        results = super().get_metrics_result()
        if "mlm_loss" in results:
            results["mlm_perplexity"] = ops.exp(results["mlm_loss"])
        return results

    def get_config(self):
        return super().get_config() | {"tied_decoder": self.tied_decoder}


def _new_table(config, dtype):
    initializer = keras.initializers.TruncatedNormal(stddev=config.initializer_stddev)
    table = keras.layers.Embedding(config.vocabulary_size, config.hidden_dim, initializer, dtype=dtype, name="decoder")
    table.build()
    return table
