"""The same model over another vocabulary."""

import numpy as np
from keras import ops

from kbert.models.backbone import BertBackbone
from kbert.models.pretraining import BertPretrainer

# A new word's logit is the mean of its pieces' logits less this: with e^-10 of their mean probability it moves the
# other answers by less than 0.005 %, and a few steps of training raise it.
BIAS_DROP = 10.0


def resize_vocabulary(model, tokenizer, new_tokenizer, bias_drop=BIAS_DROP):
    """Carry a model over to another vocabulary, such as one with words added.

    A token both vocabularies have keeps its embedding and its MLM bias, whatever its id. A new one gets the mean of the
    embeddings of the pieces it was split into, and the mean of their biases less `bias_drop`. All other weights are
    copied. The logits of the tokens both have are the same on the same text.

    Args:
        model: `BertPretrainer`. Not changed.
        tokenizer: `WordPieceTokenizer` of the model.
        new_tokenizer: `WordPieceTokenizer`, e.g. from `kbert.text.extend.extend_tokenizer`.
        bias_drop: float >= 0. 0 lets a new word compete with its pieces at once, and take probability from the others.

    Returns:
        `BertPretrainer`, not compiled.

    Raises:
        ValueError: `tokenizer` has another number of tokens than the model.
    """
    config = model.backbone.config
    if tokenizer.vocabulary_size != config.vocabulary_size:
        raise ValueError(
            "`tokenizer` must have as many tokens as the model's table has rows. "
            f"Received: {tokenizer.vocabulary_size} tokens, vocabulary_size={config.vocabulary_size}."
        )
    resized = BertPretrainer(
        BertBackbone(config.replace(vocabulary_size=new_tokenizer.vocabulary_size), dtype=model.backbone.dtype_policy),
        tied_decoder=model.tied_decoder,
    )
    pieces = [_pieces(token, tokenizer) for token in new_tokenizer.vocabulary]
    is_new = np.array([tokenizer.token_to_id(token) is None for token in new_tokenizer.vocabulary])
    bias = ops.convert_to_numpy(model.mlm_head.bias)
    values = {
        **{id(new): _mean_rows(old, pieces) for old, new in zip(_tables(model), _tables(resized), strict=True)},
        id(resized.mlm_head.bias): np.array([bias[ids].mean() for ids in pieces], bias.dtype) - bias_drop * is_new,
    }
    for old, new in zip(model.weights, resized.weights, strict=True):
        new.assign(values.get(id(new), old))
    return resized


def _tables(model):
    """Return the table of the embeddings and that of the decoder, which may be one."""
    return [layer.embeddings for layer in (model.backbone.embeddings.token_embedding, model.mlm_head.token_embedding)]


def _mean_rows(table, pieces):
    rows = ops.convert_to_numpy(table)
    return np.stack([rows[ids].mean(0) for ids in pieces])


def _pieces(token, tokenizer):
    token_id = tokenizer.token_to_id(token)
    if token_id is not None:
        return [token_id]
    return tokenizer.encode(token.removeprefix("##")) or [tokenizer.token_to_id("[UNK]")]
