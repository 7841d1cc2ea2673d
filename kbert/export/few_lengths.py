"""Let a graph meet few lengths of rows, because TensorFlow keeps something for each."""

import tensorflow as tf

# On a CPU, oneDNN's kernels for one number of tokens take about half a megabyte, which stays.
LENGTH_STEP = 16


def round_up_length(rows, longest):
    """Pad rows to a multiple of `LENGTH_STEP` tokens.

    Args:
        rows: dict of `token_ids`, `segment_ids` and `padding_mask`, int32 `[B, T]`.
        longest: int, of a row the model reads; never exceeded by padding.

    Returns:
        dict of int32 `[B, T']`, T' >= T. What is added is masked, so that any token may stand there: 0.
    """
    length = tf.shape(rows["token_ids"])[1]
    missing = tf.minimum(-length % LENGTH_STEP, tf.maximum(longest - length, 0))
    return {name: tf.pad(values, [[0, 0], [0, missing]]) for name, values in rows.items()}
