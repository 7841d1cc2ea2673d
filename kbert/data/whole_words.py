"""Which tokens are hidden when words are hidden whole: a word's pieces all, or none.

Core TensorFlow ops only, as in `kbert.data.masking`, which calls this.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.text.vocabulary import read_vocabulary

CONTINUATION_PREFIX = "##"


def read_continuations(folder: str | Path) -> np.ndarray:
    """Say of every id of a dataset folder's `vocab.txt` whether it continues a word: bool `[V]`."""
    tokens = read_vocabulary(Path(folder) / "vocab.txt")
    return np.array([token.startswith(CONTINUATION_PREFIX) for token in tokens])


def choose_whole_words(
    continues_word: tf.Tensor, is_candidate: tf.Tensor, *, draws: tf.Tensor, budget: tf.Tensor
) -> tf.Tensor:
    """Choose whole words of each row in random order while they fit.

    A word that would go over the budget is left out, and the next one is tried; so fewer than `budget` may be chosen,
    none at all if no word is short enough. As in the source, a piece belongs to the candidate before it, whatever
    stands between them, and a piece without one is a word of its own.

    Args:
        continues_word: bool `[B, T]`, True = the token starts with ##.
        is_candidate: bool `[B, T]`, True = the token may be chosen.
        draws: float32 `[B, T]` from [0, 1): a word comes in the order of that of its first token.
        budget: int32 `[B]`, the most tokens.
    Returns:
        bool `[B, T]`, True = chosen.
    Source: google-research/bert `create_pretraining_data.py`, `create_masked_lm_predictions`, `do_whole_word_mask`.
    """
    num_rows, length = tf.unstack(tf.shape(draws))
    is_first = is_candidate & (tf.cumsum(tf.cast(is_candidate, tf.int32), axis=1) == 1)
    starts_word = is_candidate & (~continues_word | is_first)
    word = tf.maximum(tf.cumsum(tf.cast(starts_word, tf.int32), axis=1) - 1, 0)  # [B, T], the word of each candidate.

    def of_words(values):
        segments = tf.reshape(word + length * tf.range(num_rows)[:, None], [-1])
        return tf.reshape(
            tf.math.unsorted_segment_sum(tf.reshape(values, [-1]), segments, num_rows * length), tf.shape(draws)
        )

    lengths = of_words(tf.cast(is_candidate, tf.int32))  # [B, T], by word; 0 where the row has no more.
    order = tf.argsort(tf.where(lengths > 0, of_words(tf.where(starts_word, draws, 0.0)), 1.0), axis=1)
    is_taken = _take_while_they_fit(tf.gather(lengths, order, batch_dims=1), budget[:, None])
    is_taken = tf.gather(is_taken, tf.argsort(order, axis=1), batch_dims=1)  # Back from the random order.
    return is_candidate & tf.gather(is_taken, word, batch_dims=1)


def _take_while_they_fit(lengths, budget) -> tf.Tensor:
    """Go through each row's words in their order and take each that still fits. Returns bool, True = taken.

    A round takes the words up to the first that does not fit. That one and all as long never fit again, so there are
    at most as many rounds as different lengths, rather than one a word.
    """

    def take_up_to_the_first_misfit(waiting, taken, left):
        waiting &= lengths <= left
        fits = waiting & (tf.cumsum(tf.where(waiting, lengths, 0), axis=1) <= left)
        return waiting & ~fits, taken | fits, left - tf.reduce_sum(tf.where(fits, lengths, 0), axis=1, keepdims=True)

    everything = tf.ones_like(lengths, tf.bool)
    _, taken, _ = tf.while_loop(
        lambda waiting, *_: tf.reduce_any(waiting), take_up_to_the_first_misfit, (everything, ~everything, budget)
    )
    return taken
