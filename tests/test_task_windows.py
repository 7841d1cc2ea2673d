"""Windows of long texts, spans in them, and the road there and back, as properties."""

import numpy as np
import pytest
from conftest import once
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import TOKENS, make_tokenizer

from kbert.tasks.spans import best_spans
from kbert.tasks.windows import cut_windows, find_tokens, split_text

pytestmark = once

TOKENIZER = make_tokenizer()
CLS, SEP = TOKENS.index("[CLS]"), TOKENS.index("[SEP]")
WORDS = ["the", "Cats", "sat", "on", "mat.", "학교에", "dog,", "xyz", "ran"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=70).map(" ".join)


def check_max_context(spans, number, position):
    """Google's `_check_is_max_context`, over (start, length) of each window."""
    best_score = best = None
    for index, (start, length) in enumerate(spans):
        if not start <= position < start + length:
            continue
        score = min(position - start, start + length - 1 - position) + 0.01 * length
        if best_score is None or score > best_score:
            best_score, best = score, index
    return best == number


@given(TEXTS, TEXTS, st.integers(8, 40), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_windows_cover_the_text_as_googles(question, text, max_sequence_length, stride):
    windows = cut_windows(TOKENIZER, question, text, max_sequence_length, stride)
    token_ids, offsets = split_text(TOKENIZER, text)
    spans = [(window.start, len(window.offsets)) for window in windows]
    question_ids = TOKENIZER.encode(question)[: (max_sequence_length - 3) // 2]
    room = max_sequence_length - len(question_ids) - 3
    # Google's loop.
    expected, start = [], 0
    while start < len(token_ids):
        length = min(room, len(token_ids) - start)
        expected.append((start, length))
        if start + length == len(token_ids):
            break
        start += min(length, stride)
    assert spans == expected
    for number, (window, (start, length)) in enumerate(zip(windows, spans, strict=True)):
        part = token_ids[start : start + length]
        assert list(window.packed.token_ids) == [CLS, *question_ids, SEP, *part, SEP]
        assert list(window.packed.segment_ids) == [0] * (len(question_ids) + 2) + [1] * (length + 1)
        assert np.array_equal(window.offsets, offsets[start : start + length])
        assert list(window.is_best) == [check_max_context(spans, number, start + i) for i in range(length)]


@pytest.mark.parametrize(("max_sequence_length", "step"), [(14, 6), (15, 6), (258, 128), (512, 128), (5, 1)])
def test_neighbours_overlap_unless_told_otherwise(max_sequence_length, step):
    text = "the cat " * 300
    starts = [window.start for window in cut_windows(TOKENIZER, None, text, max_sequence_length)]
    assert set(np.diff(starts)) == {step}
    assert step <= (max_sequence_length - 2) / 2


@given(TEXTS, st.integers(14, 40), st.integers(1, 30), st.data())
@settings(max_examples=100, deadline=None)
def test_every_answer_comes_back_character_by_character(text, max_sequence_length, stride, data):
    _, offsets = split_text(TOKENIZER, text)
    first = data.draw(st.integers(0, len(offsets) - 1))
    last = data.draw(st.integers(first, min(first + 5, len(offsets) - 1)))
    start, end = int(offsets[first, 0]), int(offsets[last, 1])
    assert find_tokens(offsets, start, end) == (first, last)
    windows = cut_windows(TOKENIZER, "on the mat", text, max_sequence_length, stride)
    starts, ends, held = [], [], 0
    for window in windows:
        places = window.position_of(first, last)
        logits = np.zeros((2, max_sequence_length))
        if places != (0, 0):
            held += 1
            logits[0, places[0]] = logits[1, places[1]] = 9.0
        starts.append(logits[0])
        ends.append(logits[1])
    best = best_spans(windows, starts, ends)[0]
    # The window that shows the first token best may end before the last one does.
    best_window = next(w for w in windows if w.start <= first < w.start + len(w.offsets) and w.is_best[first - w.start])
    if best_window.position_of(first, last) != (0, 0):
        assert (best.start, best.end) == (start, end) and best.score == 18.0
    room = max_sequence_length - 6
    assert held >= 1 or last - first + 1 > room - min(stride, room) + 1  # Longer than what two windows share.


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 20), st.booleans())
@settings(max_examples=60, deadline=None)
def test_best_spans_are_those_of_trying_all(seed, max_answer_length, num_best, may_be_absent):
    rng = np.random.default_rng(seed)
    text = " ".join(rng.choice(WORDS, int(rng.integers(1, 40))))
    windows = cut_windows(TOKENIZER, "the cat", text, 20, 5)
    starts, ends = rng.normal(size=(2, len(windows), 24))
    tried = {}
    for window, start_logits, end_logits in zip(windows, starts, ends, strict=True):
        length = len(window.offsets)
        top = [np.argsort(-logits[window.place : window.place + length]) for logits in (start_logits, end_logits)]
        top[0] = [i for i in top[0] if window.is_best[i]]
        for i in top[0][:num_best]:
            for j in top[1][:num_best]:
                if i <= j < i + max_answer_length:
                    key = int(window.offsets[i, 0]), int(window.offsets[j, 1])
                    score = start_logits[window.place + i] + end_logits[window.place + j]
                    tried[key] = max(score, tried.get(key, -np.inf))
    wanted = sorted(tried.items(), key=lambda item: -item[1])[:num_best]
    if may_be_absent:
        wanted.append(((0, 0), (starts[:, 0] + ends[:, 0]).min()))
        wanted.sort(key=lambda item: -item[1])
    found = best_spans(windows, starts, ends, num_best, max_answer_length, may_be_absent)
    if not tried:  # The best starts and ends do not meet: then all are tried.
        assert any(span.end for span in found)
        return
    assert [(span.start, span.end) for span in found] == [key for key, _ in wanted]
    np.testing.assert_allclose([span.score for span in found], [score for _, score in wanted])
    weights = np.exp([score for _, score in wanted])
    np.testing.assert_allclose([span.probability for span in found], weights / weights.sum())


def test_of_two_equal_windows_the_first_shows_a_token():
    first, second = cut_windows(TOKENIZER, "dog", " ".join(["cat"] * 11), 12, 3)  # Windows of 8 tokens at 0, 3.
    # Token 5 has 2 tokens on its shorter side in both.
    assert first.is_best.tolist() == [True] * 6 + [False] * 2 and second.is_best.tolist() == [False] * 3 + [True] * 5


def test_a_start_counts_only_where_it_has_most_context():
    text = " ".join(["cat"] * 12)
    windows = cut_windows(TOKENIZER, "dog", text, 12, 4)  # Windows of 8 tokens at 0, 4.
    assert [window.start for window in windows] == [0, 4]
    assert windows[0].is_best.tolist() == [True] * 6 + [False] * 2
    starts, ends = np.zeros((2, 2, 12))
    starts[0, 3 + 7] = 99.0  # Token 7 in the window that ends with it.
    starts[1, 3 + 3] = ends[1, 3 + 3] = 1.0  # The same where it has tokens on both sides.
    best = best_spans(windows, starts, ends)[0]
    assert (best.start, best.end, best.score) == (28, 31, 2.0)


def test_a_text_without_tokens_has_no_span():
    windows = cut_windows(TOKENIZER, "dog", " \n", 12, 4)
    assert [len(window.offsets) for window in windows] == [0]
    logits = np.array([[3.0, 0, 0, 0]])
    assert best_spans(windows, logits, logits) == []
    (span,) = best_spans(windows, logits, logits, may_be_absent=True)
    assert (span.start, span.end, span.score, span.probability) == (0, 0, 6.0, 1.0)


@pytest.mark.parametrize(("length", "stride"), [(4, 1), (10, 0)])
def test_sizes_out_of_range(length, stride):
    with pytest.raises(ValueError, match=f"Received: stride={stride}, max_sequence_length={length}"):
        cut_windows(TOKENIZER, "dog", "cat", length, stride)
