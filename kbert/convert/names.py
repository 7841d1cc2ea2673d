"""One reversible table of weight names: ours <-> Hugging Face's.

Our name is the road of attributes from the model to the variable. Kernels are stored transposed there.
"""

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
}
# Copies of tied weights, and constants, that a file may hold beside the table's names.
REDUNDANT = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
    "bert.embeddings.position_ids": None,
}


def weight_names(num_layers):
    """Return the table of a `BertPretrainer` by part.

    Returns:
        dict of "encoder", "pooler", "mlm" and "nsp" to a dict of our name -> Hugging Face name.
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
