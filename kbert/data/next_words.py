"""The left-to-right game: each token is to be guessed from those before it."""

import tensorflow as tf


def next_words(inputs, targets, weights):
    """Turn a batch whose tokens are all as they were into one that asks for the next token everywhere.

    Args:
        inputs, targets, weights: a batch as `kbert.data.schema.batch_spec` describes, of `pretraining_dataset` with
            `mask_token_rate=0` and `random_token_rate=0`.
    Returns:
        the same with P = T - 1: `mask_positions` are 0, 1, ..., T - 2, the target of a place is the token behind it,
        and its weight 1 where that is a token, 0 where it is padding.
    Source: BERT paper, section 5.1, "LTR".
    """
    token_ids = inputs["token_ids"]
    places = tf.broadcast_to(tf.range(tf.shape(token_ids)[1] - 1), tf.shape(token_ids[:, 1:]))
    return (
        inputs | {"mask_positions": places},
        targets | {"mlm": token_ids[:, 1:]},
        weights | {"mlm": tf.cast(inputs["padding_mask"][:, 1:], tf.float32)},
    )
