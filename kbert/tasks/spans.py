"""The best answers among all spans of all windows of a text."""

import dataclasses

import numpy as np

NUM_BEST = 20
MAX_ANSWER_LENGTH = 30


@dataclasses.dataclass(frozen=True)
class Span:
    """One answer.

    Attributes:
        start, end: int, its characters in the text; 0, 0 for no answer.
        score: float, the sum of its two logits.
        probability: float in [0, 1], among all spans that are returned with it.
    """

    start: int
    end: int
    score: float
    probability: float = 0.0


def best_spans(windows, starts, ends, num_best=NUM_BEST, max_answer_length=MAX_ANSWER_LENGTH, may_be_absent=False):
    """Return the best spans of one text, best first.

    From each window the `num_best` best starts are joined with the `num_best` best ends. A start must be a token that
    no other window shows with more text round it, the end must not come before it, and the span must be at most
    `max_answer_length` tokens long. The characters are those of the text itself, from the first of the first token to
    the last of the last.

    Args:
        windows: list of `Window` of one text.
        starts, ends: lists of float arrays, the logits of each window's row; those of padding are not read.
        num_best: int >= 1.
        max_answer_length: int >= 1.
        may_be_absent: bool. True: no answer, whose score is the lowest of [CLS] over all windows, takes part.

    Returns:
        list of `Span`. Empty if the text has no tokens, and an answer is not absent.

    Source: google-research/bert `run_squad.write_predictions`. That takes the best starts and ends of the whole row,
    the question's too, and where no start goes with an end it has no answer; here all are joined then.
    """
    found = _join(windows, starts, ends, num_best, max_answer_length)
    if not found:
        longest = max(len(window.offsets) for window in windows)
        found = _join(windows, starts, ends, longest, max_answer_length)
    best = sorted(found.values(), key=lambda span: -span.score)[:num_best]
    if may_be_absent:
        null_score = min(float(s[0]) + float(e[0]) for s, e in zip(starts, ends, strict=True))
        best = sorted([*best, Span(0, 0, null_score)], key=lambda span: -span.score)
    if not best:
        return []
    weights = np.exp(np.array([span.score for span in best]) - best[0].score)
    probabilities = weights / weights.sum()
    return [
        dataclasses.replace(span, probability=float(value)) for span, value in zip(best, probabilities, strict=True)
    ]


def _join(windows, starts, ends, num_best, max_answer_length):
    """Return the best `Span` of each (start, end) in characters."""
    found = {}
    for window, start_logits, end_logits in zip(windows, starts, ends, strict=True):
        for span in _spans_of(window, start_logits, end_logits, num_best, max_answer_length):
            key = span.start, span.end
            if key not in found or found[key].score < span.score:
                found[key] = span
    return found


def _spans_of(window, start_logits, end_logits, num_best, max_answer_length):
    text = slice(window.place, window.place + len(window.offsets))
    start_logits = np.asarray(start_logits[text], "float64")
    end_logits = np.asarray(end_logits[text], "float64")
    firsts = np.flatnonzero(window.is_best)
    firsts = firsts[np.argsort(-start_logits[firsts], kind="stable")[:num_best]]
    lasts = np.argsort(-end_logits, kind="stable")[:num_best]
    allowed = (lasts >= firsts[:, None]) & (lasts < firsts[:, None] + max_answer_length)
    for i, j in np.argwhere(allowed):
        first, last = firsts[i], lasts[j]
        score = float(start_logits[first] + end_logits[last])
        yield Span(int(window.offsets[first, 0]), int(window.offsets[last, 1]), score)
