"""One reversible table of weight names: ours <-> Hugging Face's <-> Google's.

Our name is the road of attributes from the model to the variable. Hugging Face stores kernels transposed; Google's
names follow from Hugging Face's by rule (`google_name`).
"""

import re

_EMBEDDINGS = {
    "embeddings.token_embedding.embeddings": "bert.embeddings.word_embeddings.weight",
    "embeddings.position_embedding.embeddings": "bert.embeddings.position_embeddings.weight",
    "embeddings.segment_embedding.embeddings": "bert.embeddings.token_type_embeddings.weight",
    "embeddings.norm.gamma": "bert.embeddings.LayerNorm.weight",
    "embeddings.norm.beta": "bert.embeddings.LayerNorm.bias",
}
_BLOCK_DENSE = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.projection": "attention.output.dense",
    "intermediate": "intermediate.dense",
    "feed_forward": "output.dense",
}
_BLOCK_NORM = {"attention_norm": "attention.output.LayerNorm", "feed_forward_norm": "output.LayerNorm"}
_POOLER = {"pooler.dense.kernel": "bert.pooler.dense.weight", "pooler.dense.bias": "bert.pooler.dense.bias"}
_HEADS = {
    "mlm": {
        "mlm_head.dense.kernel": "cls.predictions.transform.dense.weight",
        "mlm_head.dense.bias": "cls.predictions.transform.dense.bias",
        "mlm_head.norm.gamma": "cls.predictions.transform.LayerNorm.weight",
        "mlm_head.norm.beta": "cls.predictions.transform.LayerNorm.bias",
        "mlm_head.bias": "cls.predictions.bias",
    },
    "nsp": {
        "nsp_head.dense.kernel": "cls.seq_relationship.weight",
        "nsp_head.dense.bias": "cls.seq_relationship.bias",
    },
    # Only where the output table is not the token table.
    "decoder": {"mlm_head.token_embedding.embeddings": "cls.predictions.decoder.weight"},
    "classifier": {
        "classifier_head.dense.kernel": "classifier.weight",
        "classifier_head.dense.bias": "classifier.bias",
    },
    "span": {"span_head.dense.kernel": "qa_outputs.weight", "span_head.dense.bias": "qa_outputs.bias"},
}
# Hugging Face's models, and the parts each has beside the encoder.
ARCHITECTURES = {
    "BertForPreTraining": ("pooler", "mlm", "nsp"),
    "BertForMaskedLM": ("mlm",),
    "BertForNextSentencePrediction": ("pooler", "nsp"),
    "BertModel": ("pooler",),
    "BertForSequenceClassification": ("pooler", "classifier"),
    "BertForMultipleChoice": ("pooler", "classifier"),
    "BertForTokenClassification": ("classifier",),
    "BertForQuestionAnswering": ("span",),
}
# Names that do not follow the rule of `google_name`. The last two pairs are run_classifier.py's and run_squad.py's.
_GOOGLE_HEADS = {
    "cls.predictions.bias": "cls/predictions/output_bias",
    "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
    "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
    "classifier.weight": "output_weights",
    "classifier.bias": "output_bias",
    "qa_outputs.weight": "cls/squad/output_weights",
    "qa_outputs.bias": "cls/squad/output_bias",
}


def weight_names(num_layers):
    """Return the table by part.

    Returns:
        dict of "encoder", "pooler", "mlm", "nsp", "decoder", "classifier" and "span" to a dict of our name -> Hugging
        Face name.
    """
    encoder = dict(_EMBEDDINGS)
    for index in range(num_layers):
        for ours, theirs in _BLOCK_DENSE.items():
            encoder[f"blocks.{index}.{ours}.kernel"] = f"bert.encoder.layer.{index}.{theirs}.weight"
            encoder[f"blocks.{index}.{ours}.bias"] = f"bert.encoder.layer.{index}.{theirs}.bias"
        for ours, theirs in _BLOCK_NORM.items():
            encoder[f"blocks.{index}.{ours}.gamma"] = f"bert.encoder.layer.{index}.{theirs}.weight"
            encoder[f"blocks.{index}.{ours}.beta"] = f"bert.encoder.layer.{index}.{theirs}.bias"
    parts = {"encoder": encoder, "pooler": _POOLER}
    in_backbone = {
        part: {f"backbone.{ours}": theirs for ours, theirs in names.items()} for part, names in parts.items()
    }
    return in_backbone | {part: dict(names) for part, names in _HEADS.items()}


def is_transposed(our_name):
    """Tell whether a weight is stored `[out, in]` there and `[in, out]` here."""
    return our_name.endswith(".kernel")


def google_name(hugging_face_name):
    """Return the name in a Google TF1 checkpoint. One that ends in "/kernel" is stored `[in, out]`, as here."""
    if hugging_face_name in _GOOGLE_HEADS:
        return _GOOGLE_HEADS[hugging_face_name]
    stem, _, last = hugging_face_name.rpartition(".")
    if stem.endswith("_embeddings"):
        steps = [stem]
    elif stem.endswith("LayerNorm"):
        steps = [stem, {"weight": "gamma", "bias": "beta"}[last]]
    else:
        steps = [stem, {"weight": "kernel", "bias": "bias"}[last]]
    return re.sub(r"\.layer\.(\d+)", r".layer_\1", ".".join(steps)).replace(".", "/")


def normal_names(tensors):
    """Return the tensors under the table's Hugging Face names.

    Adds a lacking "bert." prefix, turns LayerNorm's old gamma and beta into weight and bias, and leaves out the
    positions 0, 1, 2, ... that old files hold.
    """
    normal = {}
    for name, value in tensors.items():
        if not name.startswith(("bert.", "cls.", "classifier.", "qa_outputs.")):
            name = f"bert.{name}"
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))
        if name != "bert.embeddings.position_ids":
            normal[name] = value
    return normal
