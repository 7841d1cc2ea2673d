"""Rows of running text: hand-made cases, nothing lost, nothing too long."""

import numpy as np
import pytest
from conftest import once

from kbert.data.full_sentences import make_full_sentences

pytestmark = once

CLS, SEP = -5, -6


def rows_of(documents, length):
    return list(make_full_sentences(documents, max_sequence_length=length, cls_token_id=CLS, sep_token_id=SEP))


def test_by_hand():
    documents = [[[1, 2, 3], [], [4, 5]], [], [[6], [7, 8]], [[9] * 3 + [10] * 3 + [11]]]
    assert rows_of(documents, 9) == [
        [CLS, 1, 2, 3, 4, 5, SEP, 6, SEP],  # A [SEP] between two documents; [7, 8] does not fit.
        [CLS, 7, 8, SEP],  # [SEP] and seven more do not fit.
        [CLS, 9, 9, 9, 10, 10, 10, 11, SEP],
    ]


def test_a_sentence_longer_than_a_row_is_cut():
    assert rows_of([[[1, 2, 3, 4, 5], [6]]], 4) == [[CLS, 1, 2, SEP], [CLS, 3, 4, SEP], [CLS, 5, 6, SEP]]


@pytest.mark.parametrize("length", [3, 8, 31])
def test_every_token_once_in_order_and_no_short_sentence_cut(length):
    rng = np.random.default_rng(length)
    lengths = [rng.integers(0, 14, rng.integers(0, 6)) for _ in range(40)]
    numbers = iter(range(10_000))
    documents = [[[next(numbers) for _ in range(count)] for count in counts] for counts in lengths]
    rows = rows_of(documents, length)
    assert all(row[0] == CLS and row[-1] == SEP and len(row) <= length for row in rows)
    text = [token for row in rows for token in row if token not in (CLS, SEP)]
    assert text == [token for document in documents for sentence in document for token in sentence]
    row_of = {token: index for index, row in enumerate(rows) for token in row}
    for sentence in (sentence for document in documents for sentence in document if 0 < len(sentence) <= length - 2):
        previous_is_long = any(
            len(other) > length - 2 and other[-1] == sentence[0] - 1 for document in documents for other in document
        )
        assert previous_is_long or len({row_of[token] for token in sentence}) == 1
    # No row could take in the sentence that begins the next one.
    starts = {sentence[0]: len(sentence) for document in documents for sentence in document if sentence}
    for row, following in zip(rows, rows[1:], strict=False):
        if following[1] in starts:
            assert len(row) + starts[following[1]] + 1 > length


def test_refuses_a_row_without_room():
    with pytest.raises(ValueError, match="at least 3.*Received: max_sequence_length=2"):
        make_full_sentences([[[1]]], max_sequence_length=2, cls_token_id=CLS, sep_token_id=SEP)
