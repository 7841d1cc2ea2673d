"""The masked-words game on a batch of rows: choose tokens, hide them, remember what they were.

Core TensorFlow ops only, so it runs inside `tf.data`. Every draw belongs to a seed and the number of its row: a row
gets the same masks in any batch, in any order, on any number of threads.
"""

from collections.abc import Sequence

import tensorflow as tf

from kbert.data.row_draws import draw_integers, draw_uniform
from kbert.data.whole_words import choose_whole_words


def mask_tokens(
    token_ids: tf.Tensor,
    lengths: tf.Tensor,
    *,
    seed: int | tf.Tensor,
    first_row: int | tf.Tensor,
    vocabulary_size: int,
    mask_token_id: int,
    special_token_ids: Sequence[int],
    mask_selection_rate: float = 0.15,
    mask_selection_length: int = 20,
    mask_token_rate: float = 0.8,
    random_token_rate: float = 0.1,
    continues_word: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Choose tokens of each row and replace them.

    The number chosen is min(P, max(1, round(`mask_selection_rate` x length))), where the length counts the special
    tokens, and never more than there are candidates. A chosen token becomes [MASK], or a uniform draw from the whole
    vocabulary, special tokens included, or stays as it is; each is drawn on its own. Word pieces are chosen one by one,
    or with `continues_word` as whole words, as many as fit in that number; what becomes of them is drawn piece by
    piece.

    Args:
        token_ids: int32 `[B, T]`, rows with their padding behind.
        lengths: int32 `[B]`, tokens of each row without padding.
        seed: int64. Equal seeds give equal masks to rows of equal numbers and padded lengths.
        first_row: int64, the number of the first row; the others follow it.
        vocabulary_size: int, V.
        mask_token_id: int, id of [MASK].
        special_token_ids: ids that are never chosen: [CLS], [SEP] and [PAD]. [UNK] stays a candidate, as in the source.
        mask_selection_rate: float in (0, 1], share of the tokens that is chosen.
        mask_selection_length: int, P, number of slots of a row.
        mask_token_rate: float in [0, 1], share of the chosen that becomes [MASK].
        random_token_rate: float in [0, 1], share of the chosen that becomes a random token. The rest stays.
        continues_word: bool `[V]`, True = the token with this id starts with ##. None: words are not kept whole.
    Returns:
        dict: `token_ids` int32 `[B, T]` after replacement; `mask_positions` int32 `[B, P]`, ascending; `mask_ids` int32
        `[B, P]`, the tokens that were there; `mask_weights` float32 `[B, P]`, 1 = real slot. Unused slots are 0 in all
        three.
    Raises:
        ValueError: a rate out of range, the two shares above 1 together, no slot, [MASK] outside the vocabulary,
            `continues_word` of another size than the vocabulary.
    Source: google-research/bert `create_pretraining_data.py`, `create_masked_lm_predictions`.
    """
    _check_settings(
        vocabulary_size, mask_token_id, mask_selection_rate, mask_selection_length, mask_token_rate, random_token_rate
    )
    if continues_word is not None and len(continues_word) != vocabulary_size:
        raise ValueError(
            "`continues_word` must have one entry a token of the vocabulary. "
            f"Received: len(continues_word)={len(continues_word)}, vocabulary_size={vocabulary_size}."
        )
    token_ids = tf.cast(token_ids, tf.int32)
    num_rows, length = tf.unstack(tf.shape(token_ids))
    is_candidate = _is_candidate(token_ids, lengths, special_token_ids)
    budget = _budget(lengths, is_candidate, mask_selection_rate, mask_selection_length)
    draws = draw_uniform([seed, 0], first_row, num_rows, length)
    if continues_word is None:
        positions = _choose(draws, is_candidate, budget, mask_selection_length)
    else:
        is_continuation = tf.gather(tf.constant(continues_word), token_ids)
        is_chosen = choose_whole_words(is_continuation, is_candidate, draws=draws, budget=budget)
        positions = _first(tf.where(is_chosen, tf.range(length), length), mask_selection_length, length)
    is_real = positions < length
    mask_ids = tf.where(is_real, tf.gather(token_ids, tf.where(is_real, positions, 0), batch_dims=1), 0)

    fate = draw_uniform([seed, 1], first_row, num_rows, mask_selection_length)
    random_ids = draw_integers([seed, 2], first_row, num_rows, mask_selection_length, vocabulary_size)
    replaced = tf.where(fate < mask_token_rate + random_token_rate, random_ids, mask_ids)
    replaced = tf.where(fate < mask_token_rate, mask_token_id, replaced)
    return {
        "token_ids": _put(token_ids, positions, replaced),
        "mask_positions": tf.where(is_real, positions, 0),
        "mask_ids": mask_ids,
        "mask_weights": tf.cast(is_real, tf.float32),
    }


def _is_candidate(token_ids, lengths, special_token_ids) -> tf.Tensor:
    """Say of each token whether it may be hidden: bool `[B, T]`."""
    found = tf.range(tf.shape(token_ids)[1]) < lengths[:, None]
    for token_id in special_token_ids:
        found &= token_ids != token_id
    return found


def _budget(lengths, is_candidate, rate, most) -> tf.Tensor:
    """Return how many tokens of each row to hide."""
    # float64 and half-to-even, as Python's `round(rate * length)`.
    wanted = tf.cast(tf.round(rate * tf.cast(lengths, tf.float64)), tf.int32)
    return tf.minimum(tf.clip_by_value(wanted, 1, most), tf.reduce_sum(tf.cast(is_candidate, tf.int32), axis=1))


def _choose(draws, is_candidate, budget, num_slots) -> tf.Tensor:
    """Return the ascending positions of `budget` candidates, and T in the other slots: int32 `[B, P]`."""
    length = tf.shape(draws)[1]
    most = tf.minimum(num_slots, length)
    chosen = tf.math.top_k(tf.where(is_candidate, draws, -1.0), k=most).indices  # The candidates stand in front.
    return _first(tf.where(tf.range(most) < budget[:, None], chosen, length), num_slots, length)


def _first(positions, num_slots, length) -> tf.Tensor:
    """Return the `num_slots` smallest of each row, ascending, T where there are fewer."""
    positions = tf.pad(tf.sort(positions, axis=1), [[0, 0], [0, num_slots]], constant_values=length)
    return tf.ensure_shape(positions[:, :num_slots], [None, num_slots])


def _put(token_ids, positions, values) -> tf.Tensor:
    """Put values at positions; at T nowhere."""
    num_rows, length = tf.unstack(tf.shape(token_ids))
    # Behind each row is a place for what goes nowhere.
    places = positions + (length + 1) * tf.range(num_rows)[:, None]
    flat = tf.reshape(tf.pad(token_ids, [[0, 0], [0, 1]]), [-1])
    flat = tf.tensor_scatter_nd_update(flat, tf.reshape(places, [-1, 1]), tf.reshape(values, [-1]))
    return tf.ensure_shape(tf.reshape(flat, [num_rows, length + 1])[:, :length], token_ids.shape)


def _check_settings(
    vocabulary_size, mask_token_id, mask_selection_rate, mask_selection_length, mask_token_rate, random_token_rate
):
    if not 0 < mask_selection_rate <= 1:
        raise ValueError(
            f"`mask_selection_rate` must lie in (0, 1]. Received: mask_selection_rate={mask_selection_rate}."
        )
    for name, rate in (("mask_token_rate", mask_token_rate), ("random_token_rate", random_token_rate)):
        if not 0 <= rate <= 1:
            raise ValueError(f"`{name}` must lie in [0, 1]. Received: {name}={rate}.")
    if mask_token_rate + random_token_rate > 1:
        raise ValueError(
            "`mask_token_rate` and `random_token_rate` must sum to at most 1. Received: "
            f"mask_token_rate={mask_token_rate}, random_token_rate={random_token_rate}."
        )
    if mask_selection_length < 1:
        raise ValueError(
            f"`mask_selection_length` must be at least 1. Received: mask_selection_length={mask_selection_length}."
        )
    if not 0 <= mask_token_id < vocabulary_size:
        raise ValueError(
            "`mask_token_id` must lie in [0, vocabulary_size). "
            f"Received: mask_token_id={mask_token_id}, vocabulary_size={vocabulary_size}."
        )
