"""The windows of a text that is longer than the model, in the graph: those of `kbert.tasks.windows`."""

import typing

import tensorflow as tf

from kbert.export.chunks import rows_that_fit
from kbert.tasks.windows import DEFAULT_STRIDE


class Windows(typing.NamedTuple):
    """Rows to ask about; int32 `[rows]` each.

    Attributes:
        text: the number of the text that the window is of.
        first: the number in that text of the window's first token.
        length: tokens of the text in the window.
        place: place in the row of the first of them.
        num_tokens: of the whole text.
    """

    text: tf.Tensor
    first: tf.Tensor
    length: tf.Tensor
    place: tf.Tensor
    num_tokens: tf.Tensor

    def part(self, start, end):
        """Return the windows from `start` to `end`."""
        return Windows(*(values[start:end] for values in self))

    def rows_at_once(self):
        """Return how many to read at once, int32 `[]`."""
        return rows_that_fit(tf.reduce_max(tf.concat([[0], self.place + self.length + 1], 0)))

    def gather(self, ragged):
        """Return the part that each window shows: of ragged `[B, (tokens)]`, ragged `[rows, (tokens)]`."""
        first = tf.gather(tf.cast(ragged.row_starts(), tf.int32), self.text) + self.first
        tokens = tf.ragged.range(first, first + self.length)
        return tokens.with_values(tf.gather(ragged.values, tokens.values))


def cut_windows(place, lengths, longest):
    """Cut texts into windows.

    Args:
        place: int32 `[B]`, tokens of a row before those of each text: [CLS], or [CLS] question [SEP].
        lengths: int32 `[B]`, tokens of each text.
        longest: int, tokens of a row.

    Returns:
        `Windows`, those of each text one after the other; one for a text that fits.
    """
    room, step = _room_and_step(place, longest)
    num_windows = -(-tf.maximum(1, lengths - room + step) // step)
    text = tf.repeat(tf.range(tf.size(lengths)), num_windows)
    number = tf.range(tf.size(text)) - tf.gather(tf.cumsum(num_windows, exclusive=True), text)
    room, step, place, num_tokens = (tf.gather(values, text) for values in (room, step, place, lengths))
    first = number * step
    return Windows(text, first, tf.minimum(room, num_tokens - first), place, num_tokens)


def find_best_places(windows, width, longest):
    """Tell of the tokens of each window whether no other window shows them with more text on both sides.

    Args:
        windows: `Windows`.
        width: int32 `[]`, at least the length of each.
        longest: int, tokens of a row.

    Returns:
        bool `[rows, width]`, False behind the last token. The measure is min(left, right) + 0.01 length; the first
        window with the largest counts.

    Source: google-research/bert `run_squad._check_is_max_context`.
    """
    _, first, length, place, num_tokens = (values[:, None] for values in windows)
    room, step = _room_and_step(place, longest)
    token = first + tf.range(width)  # [rows, width]

    def measure(start):
        """Of the window that starts there; below 0 where there is none, or it does not show the token."""
        size = tf.minimum(room, num_tokens - start)
        around = tf.minimum(token - start, start + size - 1 - token)
        exists = (start >= 0) & ((start == 0) | (start - step + room < num_tokens))  # The one before is not the last.
        scores = tf.cast(around, tf.float64) + 0.01 * tf.cast(size, tf.float64)
        return tf.where(exists & (around >= 0), scores, -1.0)

    own = measure(first)
    is_best = tf.range(width) < length
    # A window that starts further away shows none of the tokens; where a row is short, the second still does.
    for distance in range(1, max(3, -(-longest // DEFAULT_STRIDE))):
        is_best &= (own > measure(first - distance * step)) & (own >= measure(first + distance * step))
    return is_best


def _room_and_step(place, longest):
    room = longest - place - 1
    return room, tf.minimum(DEFAULT_STRIDE, tf.maximum(1, room // 2))  # `kbert.tasks.windows.default_stride`
