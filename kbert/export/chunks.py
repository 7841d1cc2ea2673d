"""Answer a batch of any size in a graph without taking memory for all of it at once."""

import tensorflow as tf

ROWS_AT_ONCE = 32
# Attention keeps a number for each pair of tokens of a row, in each head.
_PAIRS_AT_ONCE = ROWS_AT_ONCE * 128**2


def rows_that_fit(longest):
    """Return how many rows to read at once, so that long rows take no more memory than many short ones.

    Args:
        longest: int32 `[]`, tokens of the longest row; 0 for no rows.

    Returns:
        int32 `[]`: `ROWS_AT_ONCE`, or less for rows of more than 128 tokens.
    """
    return tf.clip_by_value(_PAIRS_AT_ONCE // tf.maximum(1, longest) ** 2, 1, ROWS_AT_ONCE)


def answer_in_chunks(num_rows, answer, kinds, rows_at_once):
    """Ask for some rows after the others, and concatenate the answers.

    Args:
        num_rows: int32 `[]`.
        answer: function of (start, end), int32 `[]`, that returns the answers of these rows: tensors `[n, ...]`, n need
            not be the number of rows.
        kinds: list of `tf.TensorSpec`, one an answer, with None for n.
        rows_at_once: int, or int32 `[]`.

    Returns:
        list of tensors.
    """

    def answer_next(start, *parts):
        end = tf.minimum(start + rows_at_once, num_rows)
        return (end, *(tf.concat(pair, 0) for pair in zip(parts, answer(start, end), strict=True)))

    nothing = [tf.zeros([0, *kind.shape[1:]], kind.dtype) for kind in kinds]
    _, *answers = tf.while_loop(
        lambda start, *_: start < num_rows,
        answer_next,
        [tf.constant(0), *nothing],
        shape_invariants=[tf.TensorShape([]), *(kind.shape for kind in kinds)],
        parallel_iterations=1,  # Several would take the memory of several.
    )
    return answers
