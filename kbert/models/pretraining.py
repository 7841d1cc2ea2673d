"""The encoder with both pretraining heads."""

import keras
from keras import ops

from kbert.layers import MaskedLMHead, NextSentenceHead
from kbert.models.backbone import token_inputs


@keras.saving.register_keras_serializable(package="kbert")
class BertPretrainer(keras.Model):
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
        self.jit_compile = _faster_jit_compile()

    def compile(self, optimizer="adamw", loss=None, weighted_metrics=None, jit_compile=None, **kwargs):
        """Configure `fit` with the paper's loss, L = L_MLM + L_NSP, unless told otherwise.

        Args:
            optimizer: as in `keras.Model.compile`; see `kbert.optimization.BertAdamW`.
            loss: None for the paper's: cross entropy over the selected places only (a weighted mean by
                `mask_weights`), plus cross entropy of next-sentence prediction over the rows that are pairs.
            weighted_metrics: None for mlm_accuracy and nsp_accuracy. mlm_perplexity comes with any choice.
            jit_compile: None for the choice that starts and runs well everywhere: on for JAX, off for TensorFlow and
                PyTorch.
            **kwargs: to `keras.Model.compile`.

        Source: google-research/bert `run_pretraining.get_masked_lm_output`, `metric_fn`.
        """
        if loss is None:
            # The Keras default would divide by all mask slots and all rows, used or not.
            loss = {
                name: keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
                for name in ("mlm", "nsp")
            }
        if weighted_metrics is None:
            weighted_metrics = {
                "mlm": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
                "nsp": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
            }
        if jit_compile is None:
            jit_compile = _faster_jit_compile()
        super().compile(
            optimizer=optimizer, loss=loss, weighted_metrics=weighted_metrics, jit_compile=jit_compile, **kwargs
        )

    def get_metrics_result(self):
        # Perplexity is exp of the loss; as a metric of its own it would pay the cross entropy over V twice.
        results = super().get_metrics_result()
        if "mlm_loss" in results:
            results["mlm_perplexity"] = ops.exp(results["mlm_loss"])
        return results

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def get_config(self):
        return {
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "tied_decoder": self.tied_decoder,
            "name": self.name,
            "trainable": self.trainable,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        backbone = keras.saving.deserialize_keras_object(config.pop("backbone"), custom_objects=custom_objects)
        return cls(backbone, **config)


def _new_table(config, dtype):
    initializer = keras.initializers.TruncatedNormal(stddev=config.initializer_stddev)
    table = keras.layers.Embedding(config.vocabulary_size, config.hidden_dim, initializer, dtype=dtype, name="decoder")
    table.build()
    return table


def _faster_jit_compile():
    return keras.backend.backend() == "jax"
