"""The masked-words game on one row: choose tokens, hide them, remember what they were.

Core TensorFlow ops only, so it runs inside `tf.data`. Every draw comes from the seed that is passed in: the same seed
gives the same masks in any order, on any number of threads.
"""

from collections.abc import Sequence

import tensorflow as tf

from kbert.data.whole_words import choose_whole_words


def mask_tokens(
    token_ids: tf.Tensor,
    *,
    seed: tf.Tensor,
    vocabulary_size: int,
    mask_token_id: int,
    special_token_ids: Sequence[int],
    mask_selection_rate: float = 0.15,
    mask_selection_length: int = 20,
    mask_token_rate: float = 0.8,
    random_token_rate: float = 0.1,
    continues_word: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Choose tokens of one row and replace them.

    The number chosen is min(P, max(1, round(`mask_selection_rate` x T))), where T counts the special tokens, and never
    more than there are candidates. A chosen token becomes [MASK], or a uniform draw from the whole vocabulary, special
    tokens included, or stays as it is; each is drawn on its own. Word pieces are chosen one by one, or with
    `continues_word` as whole words, as many as fit in that number; what becomes of them is drawn piece by piece.

    Args:
        token_ids: int32 `[T]`, one row without padding.
        seed: int `[2]`. Equal seeds give equal masks.
        vocabulary_size: int, V.
        mask_token_id: int, id of [MASK].
        special_token_ids: ids that are never chosen: [CLS], [SEP] and [PAD]. [UNK] stays a candidate, as in the source.
        mask_selection_rate: float in (0, 1], share of the T tokens that is chosen.
        mask_selection_length: int, P, number of slots.
        mask_token_rate: float in [0, 1], share of the chosen that becomes [MASK].
        random_token_rate: float in [0, 1], share of the chosen that becomes a random token. The rest stays.
        continues_word: bool `[V]`, True = the token with this id starts with ##. None: words are not kept whole.
    Returns:
        dict: `token_ids` int32 `[T]` after replacement; `mask_positions` int32 `[P]`, ascending; `mask_ids` int32
        `[P]`, the tokens that were there; `mask_weights` float32 `[P]`, 1 = real slot. Unused slots are 0 in all three.
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
    choice_seed, fate_seed, token_seed = tf.unstack(tf.random.split(seed, 3))

    candidates = _candidates(token_ids, special_token_ids)
    budget = _budget(tf.shape(token_ids)[0], tf.shape(candidates)[0], mask_selection_rate, mask_selection_length)
    if continues_word is None:
        positions = _choose(candidates, choice_seed, budget)
    else:
        is_continuation = tf.gather(tf.constant(continues_word), tf.gather(token_ids, candidates))
        is_chosen = choose_whole_words(is_continuation, seed=choice_seed, budget=budget)
        positions = tf.boolean_mask(candidates, is_chosen)
    count = tf.shape(positions)[0]
    mask_ids = tf.gather(token_ids, positions)  # [count]

    fate = tf.random.stateless_uniform([count], fate_seed)
    random_ids = tf.random.stateless_uniform([count], token_seed, minval=0, maxval=vocabulary_size, dtype=tf.int32)
    replaced = tf.where(fate < mask_token_rate + random_token_rate, random_ids, mask_ids)
    replaced = tf.where(fate < mask_token_rate, mask_token_id, replaced)

    def fill(slots):
        padded = tf.pad(slots, [[0, mask_selection_length - count]])
        return tf.ensure_shape(padded, [mask_selection_length])

    return {
        "token_ids": tf.tensor_scatter_nd_update(token_ids, positions[:, None], replaced),
        "mask_positions": fill(positions),
        "mask_ids": fill(mask_ids),
        "mask_weights": fill(tf.ones([count], tf.float32)),
    }


def _candidates(token_ids, special_token_ids) -> tf.Tensor:
    """Return the ascending int32 positions of all tokens that may be hidden."""
    is_special = tf.reduce_any(token_ids[:, None] == tf.constant(list(special_token_ids), tf.int32), axis=-1)  # [T]
    return tf.cast(tf.where(~is_special)[:, 0], tf.int32)


def _budget(length, num_candidates, rate, most) -> tf.Tensor:
    """Return how many tokens to hide."""
    # float64 and half-to-even, as Python's `round(rate * length)`.
    wanted = tf.cast(tf.round(rate * tf.cast(length, tf.float64)), tf.int32)
    return tf.minimum(tf.clip_by_value(wanted, 1, most), num_candidates)


def _choose(candidates, seed, count) -> tf.Tensor:
    """Return `count` of the candidates, ascending."""
    draws = tf.random.stateless_uniform(tf.shape(candidates), seed)
    chosen = tf.math.top_k(draws, k=count, sorted=False).indices
    return tf.sort(tf.gather(candidates, chosen))


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
