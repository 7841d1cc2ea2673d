"""Lengths of pairs against their formula: within four standard errors on 300,000 tokens and more."""

import numpy as np
import pytest
from conftest import once

from kbert.data.sentence_pairs import make_sentence_pairs

pytestmark = once

LONGEST = 61


def targets_of(short_sequence_rate, num_documents):
    """Return the length that each document's pairs aim at: sentences of one token reach it exactly."""
    documents = [[[number % 997]] * (2 * LONGEST) for number in range(num_documents)]
    pairs = make_sentence_pairs(
        documents,
        max_sequence_length=LONGEST + 3,
        rng=np.random.default_rng(3),
        short_sequence_rate=short_sequence_rate,
        random_next_rate=0.0,
    )
    lengths = [len(first) + len(second) for first, second, _ in pairs]
    targets, place = [], 0
    while place < len(lengths):
        count, rest = divmod(2 * LONGEST, lengths[place])
        assert lengths[place : place + count] == lengths[place : place + 1] * count  # Drawn once a document.
        targets.append(lengths[place])
        place += count + (rest > 0)
    return targets


@pytest.mark.parametrize(("short_sequence_rate", "num_documents"), [(0.1, 2500), (0.6, 2500), (0.0, 50), (1.0, 2500)])
def test_a_share_of_documents_aims_at_a_length_drawn_evenly(short_sequence_rate, num_documents):
    targets = targets_of(short_sequence_rate, num_documents)
    assert len(targets) == num_documents
    expected = np.zeros(LONGEST + 1)
    expected[2:] = short_sequence_rate / (LONGEST - 1)
    expected[LONGEST] += 1 - short_sequence_rate
    shares = np.bincount(targets, minlength=LONGEST + 1) / num_documents
    assert np.all(np.abs(shares - expected) <= 4 * np.sqrt(expected * (1 - expected) / num_documents))
    values = np.arange(LONGEST + 1)
    mean = expected @ values
    variance = expected @ (values - mean) ** 2
    assert abs(np.mean(targets) - mean) <= 4 * np.sqrt(variance / num_documents)
