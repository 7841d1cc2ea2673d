"""Which questions a SavedModel of a checkpoint answers, and what goes in and comes out."""

import tensorflow as tf

from kbert.export.answer import AnswerGraph
from kbert.export.fill_mask import FillMaskGraph
from kbert.export.tag import TagGraph
from kbert.export.whole_text import classify_graph, embed_graph, sentence_pair_graph
from kbert.models import BertClassifier, BertPretrainer, BertSpanFinder, BertTagger

TEXT = tf.TensorSpec([None], tf.string, "text")
TEXT_PAIR = tf.TensorSpec([None], tf.string, "text_pair")
QUESTION_AND_CONTEXT = [tf.TensorSpec([None], tf.string, name) for name in ("question", "context")]
ROW_INPUTS = [tf.TensorSpec([None, None], tf.int32, name) for name in ("token_ids", "segment_ids", "padding_mask")]
MASK_POSITIONS = tf.TensorSpec([None, None], tf.int32, "mask_positions")


def find_signatures(checkpoint, top_k):
    """Return the signatures of a checkpoint, its main question first.

    Args:
        checkpoint: `kbert.convert.Checkpoint`. A head in its `missing_parts` answers nothing.
        top_k: int in [1, V], words a mask.

    Returns:
        dict of name to (function of tensors that returns a dict of tensors, list of the `tf.TensorSpec` of its inputs).

    Raises:
        ValueError: `top_k` is out of its range, or the model is of a kind that has no signatures.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    if not 1 <= top_k <= tokenizer.vocabulary_size:
        raise ValueError(f"`top_k` must be between 1 and {tokenizer.vocabulary_size}. Received: top_k={top_k}.")
    token_ids = token_ids_signature(checkpoint)
    if isinstance(model, BertPretrainer):
        signatures = _pretraining_signatures(checkpoint, top_k)
    else:
        signatures = _task_signatures(model, tokenizer)
    embed = embed_graph(model, tokenizer)
    return signatures | {"embed": (embed, [TEXT]), "embed_pair": (embed, [TEXT, TEXT_PAIR]), "token_ids": token_ids}


def token_ids_signature(checkpoint):
    """Return the signature that takes the model's own inputs: (function, list of `tf.TensorSpec`).

    Args:
        checkpoint: `kbert.convert.Checkpoint`.

    Raises:
        ValueError: the model is of a kind that has no signatures.
    """
    model = checkpoint.model
    if isinstance(model, BertPretrainer):
        return _pretraining_outputs(model, checkpoint.missing_parts)
    if isinstance(model, BertClassifier | BertTagger | BertSpanFinder):
        return _task_outputs(model)
    raise ValueError(
        "A model to export must be a BertPretrainer, BertClassifier, BertTagger or BertSpanFinder. "
        f"Received: {type(model).__name__}."
    )


def _pretraining_signatures(checkpoint, top_k):
    model, tokenizer, missing_parts = checkpoint.model, checkpoint.tokenizer, checkpoint.missing_parts
    signatures = {}
    if "mlm" not in missing_parts and not model.backbone.config.is_causal:
        signatures["fill_mask"] = FillMaskGraph(model, tokenizer, top_k), [TEXT]
    if not {"pooler", "nsp"} & set(missing_parts):
        signatures["sentence_pair"] = sentence_pair_graph(model, tokenizer), [TEXT, TEXT_PAIR]
    return signatures


def _task_signatures(model, tokenizer):
    if isinstance(model, BertTagger):
        return {"tag": (TagGraph(model, tokenizer), [TEXT])}
    if isinstance(model, BertSpanFinder):
        return {"answer": (AnswerGraph(model, tokenizer), QUESTION_AND_CONTEXT)}
    classify = classify_graph(model, tokenizer)
    return {"classify": (classify, [TEXT]), "classify_pair": (classify, [TEXT, TEXT_PAIR])}


def _pretraining_outputs(model, missing_parts):
    has_mlm = "mlm" not in missing_parts

    def answer(token_ids, segment_ids, padding_mask, mask_positions=None):
        rows = {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": padding_mask}
        encoded = model.backbone(rows, training=False)
        outputs = {"sequence_output": encoded["sequence_output"]}
        if "pooler" not in missing_parts:
            outputs["pooled_output"] = encoded["pooled_output"]
        if has_mlm:
            outputs["mlm"] = model.mlm_head(encoded["sequence_output"], mask_positions)
        if not {"pooler", "nsp"} & set(missing_parts):
            outputs["nsp"] = model.nsp_head(encoded["pooled_output"])
        return outputs

    return answer, [*ROW_INPUTS, MASK_POSITIONS] if has_mlm else ROW_INPUTS


def _task_outputs(model):
    def answer(token_ids, segment_ids, padding_mask):
        rows = {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": padding_mask}
        return model(rows, training=False)

    return answer, ROW_INPUTS
