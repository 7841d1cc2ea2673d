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


def choose_whole_words(continues_word: tf.Tensor, *, seed: tf.Tensor, budget: tf.Tensor) -> tf.Tensor:
    """Choose whole words in random order while they fit.

    A word that would go over the budget is left out, and the next one is tried; so fewer than `budget` may be chosen,
    none at all if no word is short enough. As in the source, a piece belongs to the candidate before it, whatever
    stands between them, and a piece without one is a word of its own.

    Args:
        continues_word: bool `[C]`, the candidates of one row from left to right. True = the token starts with ##.
        seed: int `[2]`. Equal seeds give equal choices.
        budget: int32 `[]`, the most tokens.
    Returns:
        bool `[C]`, True = chosen.
    Source: google-research/bert `create_pretraining_data.py`, `create_masked_lm_predictions`, `do_whole_word_mask`.
    """
    starts_word = ~continues_word | (tf.range(tf.size(continues_word)) == 0)
    word = tf.cumsum(tf.cast(starts_word, tf.int32)) - 1  # [C], the word of each candidate.
    num_words = tf.reduce_sum(tf.cast(starts_word, tf.int32))
    lengths = tf.math.unsorted_segment_sum(tf.ones_like(word), word, num_words)
    order = tf.argsort(tf.random.stateless_uniform([num_words], seed))
    is_taken = _take_while_they_fit(tf.gather(lengths, order), budget)
    is_taken = tf.scatter_nd(order[:, None], is_taken, [num_words])  # Back from the random order.
    return tf.gather(is_taken, word)


def _take_while_they_fit(lengths, budget) -> tf.Tensor:
    """Go through words in their order and take each that still fits. Returns bool, True = taken.

    A round takes the words up to the first that does not fit. That one and all as long never fit again, so there are
    at most as many rounds as different lengths, rather than one a word.
    """

    def take_up_to_the_first_misfit(waiting, taken, left):
        waiting &= lengths <= left
        fits = waiting & (tf.cumsum(tf.where(waiting, lengths, 0)) <= left)
        return waiting & ~fits, taken | fits, left - tf.reduce_sum(tf.where(fits, lengths, 0))

    everything = tf.ones_like(lengths, tf.bool)
    _, taken, _ = tf.while_loop(
        lambda waiting, *_: tf.reduce_any(waiting), take_up_to_the_first_misfit, (everything, ~everything, budget)
    )
    return taken
