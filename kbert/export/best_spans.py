"""The best span of each text, in the graph: the first one of `kbert.tasks.spans.best_spans`."""

import tensorflow as tf

from kbert.tasks.spans import MAX_ANSWER_LENGTH, NUM_BEST

NO_SCORE = tf.float32.min  # Not -inf, which is below what `unsorted_segment_max` starts from.


def best_spans_of_windows(starts, ends, lengths, may_start):
    """Return the best span of each window.

    Args:
        starts, ends: float32 `[rows, width]`, logits of the text's tokens.
        lengths: int32 `[rows]`, how many of them are.
        may_start: bool `[rows, width]`, whether a span may start there.

    Returns:
        list of (score, first, last), float32 and int32 `[rows]`: of the spans from one of the `NUM_BEST` best starts to
        one of the `NUM_BEST` best ends, and of all spans. The score is `NO_SCORE` where there is none.
    """
    width = tf.shape(starts)[1]
    first = tf.range(width)[:, None]
    last = first + tf.range(MAX_ANSWER_LENGTH)  # [width, MAX_ANSWER_LENGTH]
    at = tf.minimum(last, width - 1)
    inside = last < lengths[:, None, None]
    scores = tf.where(may_start[:, :, None] & inside, starts[:, :, None] + tf.gather(ends, at, axis=1), NO_SCORE)
    good_start = _is_among_best(tf.where(may_start, starts, NO_SCORE))[:, :, None]
    good_end = tf.gather(_is_among_best(tf.where(tf.range(width) < lengths[:, None], ends, NO_SCORE)), at, axis=1)
    return [_highest(tf.where(good_start & good_end, scores, NO_SCORE)), _highest(scores)]


def best_spans_of_texts(of_best, of_all, first, text, num_texts):
    """Return the best span of each text out of those of its windows.

    Args:
        of_best, of_all: what `best_spans_of_windows` returns.
        first: int32 `[rows]`, the number of the window's first token.
        text: int32 `[rows]`, the number of the window's text.
        num_texts: int32 `[]`.

    Returns:
        (score, first, last) `[num_texts]`, numbers of tokens of the text. From all spans for a text that has none of
        the best.
    """
    has_any = tf.gather(tf.math.unsorted_segment_max(of_best[0], text, num_texts) > NO_SCORE, text)
    score, begin, end = (tf.where(has_any, *pair) for pair in zip(of_best, of_all, strict=True))
    highest = tf.math.unsorted_segment_max(score, text, num_texts)
    rows = tf.range(tf.size(text))
    candidates = tf.where(score == tf.gather(highest, text), rows, tf.size(text) - 1)
    row = tf.math.unsorted_segment_min(candidates, text, num_texts)  # The first one at a tie.
    return highest, tf.gather(first + begin, row), tf.gather(first + end, row)


def _is_among_best(scores):
    width = tf.shape(scores)[1]
    best = tf.math.top_k(scores, tf.minimum(NUM_BEST, width)).indices
    return tf.reduce_any(tf.one_hot(best, width, True, False), 1)


def _highest(scores):
    flat = tf.reshape(scores, [tf.shape(scores)[0], -1])
    best = tf.argmax(flat, 1, tf.int32)
    first = best // MAX_ANSWER_LENGTH
    return tf.reduce_max(flat, 1), first, first + best % MAX_ANSWER_LENGTH
