"""Random numbers that belong to rows: whatever batch a row stands in, it gets its own.

Philox counts its draws, so those of row i of a stream are where its number says, and a batch of rows that follow each
other is drawn at once. Core TensorFlow ops only.
"""

import tensorflow as tf

_AT_ONCE = 4  # Numbers that one count of Philox gives.


def draw_uniform(seed, first_row, num_rows, num_draws) -> tf.Tensor:
    """Draw from [0, 1).

    Args:
        seed: int64 `[2]`.
        first_row: int64, the number of the first row, at least 0.
        num_rows: int32, B.
        num_draws: int32, N, of each row. Another N gives other numbers.
    Returns:
        float32 `[B, N]`. Row i depends on (`seed`, `first_row` + i, N) alone.
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    shape, key, counter = _place(seed, first_row, num_rows, num_draws)
    draws = tf.raw_ops.StatelessRandomUniformV2(shape=shape, key=key, counter=counter, alg=_ALGORITHM)
    return draws[:, :num_draws]


def draw_integers(seed, first_row, num_rows, num_draws, limit) -> tf.Tensor:
    """Draw from [0, limit): int32 `[B, N]`. For the rest see `draw_uniform`."""
    shape, key, counter = _place(seed, first_row, num_rows, num_draws)
    draws = tf.raw_ops.StatelessRandomUniformIntV2(
        shape=shape, key=key, counter=counter, alg=_ALGORITHM, minval=0, maxval=limit
    )
    return draws[:, :num_draws]


_ALGORITHM = tf.random.Algorithm.PHILOX.value


def _place(seed, first_row, num_rows, num_draws):
    """Return the shape that is drawn, the key of the seed, and the counter of the first row."""
    seed = tf.stack([tf.cast(part, tf.int64) for part in seed])
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    counts = (num_draws + _AT_ONCE - 1) // _AT_ONCE
    first = tf.cast(tf.cast(first_row, tf.int64) * tf.cast(counts, tf.int64), tf.uint64)
    return [num_rows, _AT_ONCE * counts], key, tf.stack([first, counter[1]])
