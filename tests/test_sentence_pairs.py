"""Sentence pairs: chunking, the share of random pairs, truncation, packing.

Every token of the test corpora is its own number, so a token tells which document and sentence it came from.
"""

import numpy as np
import pytest
from conftest import once

from kbert.data.sentence_pairs import SentencePair, make_sentence_pairs, pack

pytestmark = once


def unique_corpus(sentence_lengths):
    """Build documents from their sentence lengths. Returns also token -> (document, sentence)."""
    documents, origin = [], {}
    for document_index, lengths in enumerate(sentence_lengths):
        document = []
        for sentence_index, length in enumerate(lengths):
            sentence = list(range(len(origin), len(origin) + length))
            origin.update(dict.fromkeys(sentence, (document_index, sentence_index)))
            document.append(sentence)
        documents.append(document)
    return documents, origin


def random_lengths(rng, num_documents=7, most_sentences=9, most_tokens=17):
    return [rng.integers(1, most_tokens + 1, rng.integers(1, most_sentences + 1)) for _ in range(num_documents)]


@pytest.mark.parametrize("short_sequence_rate", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("max_sequence_length", [5, 12, 40, 500])
def test_pairs_fit_and_come_from_where_their_label_says(max_sequence_length, short_sequence_rate):
    rng = np.random.default_rng(max_sequence_length)
    labels = set()
    for _ in range(20):
        documents, origin = unique_corpus(random_lengths(rng))
        for first, second, is_random_next in make_sentence_pairs(
            documents, max_sequence_length=max_sequence_length, rng=rng, short_sequence_rate=short_sequence_rate
        ):
            assert len(first) >= 1 and len(second) >= 1
            assert len(first) + len(second) <= max_sequence_length - 3
            # A part is one run of text: unique tokens are numbered in reading order.
            assert first == list(range(first[0], first[-1] + 1))
            assert second == list(range(second[0], second[-1] + 1))
            assert (origin[first[0]][0] != origin[second[0]][0]) == is_random_next
            if not is_random_next:
                last_of_first, first_of_second = origin[first[-1]][1], origin[second[0]][1]
                assert last_of_first < first_of_second
            labels.add(is_random_next)
    assert labels == {True, False}


@pytest.mark.parametrize("random_next_rate", [0.0, 0.5, 1.0])
def test_every_sentence_is_used(random_next_rate):
    """No more than 9 tokens are cut from a pair of ten-token sentences, so each leaves a trace if it was used."""
    rng = np.random.default_rng(3)
    documents, origin = unique_corpus([[10] * n for n in (1, 2, 5, 23, 8)])
    for _ in range(20):
        used = set()
        for pair in make_sentence_pairs(
            documents,
            max_sequence_length=58,
            rng=rng,
            short_sequence_rate=0.0,
            random_next_rate=random_next_rate,
        ):
            used.update(origin[token] for token in pair.first)
            if not pair.is_random_next:
                used.update(origin[token] for token in pair.second)
        assert used == set(origin.values())


def test_unused_sentences_begin_the_next_chunk():
    documents, origin = unique_corpus([[3] * 6, [4]])
    pairs = list(
        make_sentence_pairs(
            documents,
            max_sequence_length=503,
            rng=np.random.default_rng(0),
            short_sequence_rate=0.0,
            random_next_rate=1.0,
        )
    )
    firsts = [token for pair in pairs for token in pair.first]
    assert firsts == list(range(6 * 3 + 4))  # Every sentence once as `first`, in order, none lost or repeated.
    assert len(pairs) > 2


def expected_pairs(lengths, target_length, random_next_rate, start=0):
    """Return the expected (number of pairs, number of random pairs) of one document by walking every branch."""
    if start == len(lengths):
        return np.zeros(2)
    end = start + 1
    while end < len(lengths) and sum(lengths[start:end]) < target_length:
        end += 1
    if end - start == 1:
        return np.array([1.0, 1.0]) + expected_pairs(lengths, target_length, random_next_rate, end)
    rest_after_real = expected_pairs(lengths, target_length, random_next_rate, end)
    total = (1 - random_next_rate) * (np.array([1.0, 0.0]) + rest_after_real)
    for split in range(start + 1, end):
        rest = expected_pairs(lengths, target_length, random_next_rate, split)
        total += random_next_rate / (end - start - 1) * (np.array([1.0, 1.0]) + rest)
    return total


def test_share_of_random_pairs_is_the_one_the_corpus_implies():
    rng = np.random.default_rng(11)
    max_length, short_sequence_rate, random_next_rate = 31, 0.3, 0.4
    lengths = random_lengths(rng, num_documents=11)
    documents, _ = unique_corpus(lengths)
    expected = np.zeros(2)
    for document_lengths in lengths:
        full = expected_pairs(document_lengths, max_length, random_next_rate)
        short = [expected_pairs(document_lengths, target, random_next_rate) for target in range(2, max_length + 1)]
        expected += (1 - short_sequence_rate) * full + short_sequence_rate * np.mean(short, axis=0)

    counts = []
    for _ in range(400):  # About 200,000 tokens.
        labels = [
            pair.is_random_next
            for pair in make_sentence_pairs(
                documents,
                max_sequence_length=max_length + 3,
                rng=rng,
                short_sequence_rate=short_sequence_rate,
                random_next_rate=random_next_rate,
            )
        ]
        counts.append((len(labels), sum(labels)))
    standard_errors = np.std(counts, axis=0) / np.sqrt(len(counts))
    assert np.all(np.abs(np.mean(counts, axis=0) - expected) < 4 * standard_errors)
    assert expected[1] / expected[0] > random_next_rate


def test_random_text_comes_from_all_other_documents_and_sentences_alike():
    documents, origin = unique_corpus([[2], [3, 3, 3], [4, 4, 4], [5, 5, 5]])
    rng = np.random.default_rng(5)
    draws = 3000
    sources = [
        origin[next(make_sentence_pairs(documents, max_sequence_length=9, rng=rng)).second[0]] for _ in range(draws)
    ]
    found, counts = np.unique(sources, axis=0, return_counts=True)
    assert found.tolist() == [[document, sentence] for document in (1, 2, 3) for sentence in (0, 1, 2)]
    share = 1 / 9
    assert np.all(np.abs(counts / draws - share) < 4 * np.sqrt(share * (1 - share) / draws))


def lengths_after_cutting_one_by_one(first, second, max_length):
    while first + second > max_length:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize("max_length", [2, 7, 10])
def test_truncation_shortens_the_longer(max_length):
    rng = np.random.default_rng(0)
    for first_length in range(1, 15):
        for second_length in range(1, 15):
            documents, _ = unique_corpus([[first_length], [second_length]])
            pair = next(make_sentence_pairs(documents, max_sequence_length=max_length + 3, rng=rng))
            assert (len(pair.first), len(pair.second)) == lengths_after_cutting_one_by_one(
                first_length, second_length, max_length
            )


def test_truncation_cuts_front_and_back_alike():
    documents, _ = unique_corpus([[30], [4]])
    rng = np.random.default_rng(2)
    cut, draws = 30 + 4 - 21, 2000
    front = [next(make_sentence_pairs(documents, max_sequence_length=24, rng=rng)).first[0] for _ in range(draws)]
    variance = cut * 0.25  # Binomial: each cut token comes from the front with chance 1/2.
    assert abs(np.mean(front) - cut / 2) < 4 * np.sqrt(variance / draws)
    assert abs(np.var(front) - variance) < 4 * variance * np.sqrt(2 / draws)


def test_same_generator_state_gives_same_pairs():
    documents, _ = unique_corpus(random_lengths(np.random.default_rng(1), num_documents=30))
    runs = [
        list(make_sentence_pairs(documents, max_sequence_length=21, rng=np.random.default_rng(seed)))
        for seed in (4, 4, 5)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_empty_sentences_and_documents_are_left_out():
    full = [[[1, 2], [3]], [[4], [5, 6, 7]]]
    holes = [[], [[1, 2], [], [3]], [[]], [[4], [5, 6, 7], []]]
    pairs = [list(make_sentence_pairs(d, max_sequence_length=9, rng=np.random.default_rng(7))) for d in (full, holes)]
    assert pairs[0] == pairs[1]


def test_pack():
    token_ids, segment_ids = pack(SentencePair([11, 12, 13], [21, 22], False), cls_token_id=2, sep_token_id=3)
    assert token_ids == [2, 11, 12, 13, 3, 21, 22, 3]
    assert segment_ids == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"documents": [[[1, 2]]]}, "at least two documents with text.*Received: 1. Use larger blocks"),
        ({"documents": [[[1, 2]], [[]]]}, "at least two documents with text.*Received: 1"),
        ({"max_sequence_length": 4}, "`max_sequence_length` must be at least 5.*Received: max_sequence_length=4"),
        (
            {"short_sequence_rate": 1.5},
            r"`short_sequence_rate` must lie in \[0, 1\]. Received: short_sequence_rate=1.5",
        ),
        ({"random_next_rate": -0.5}, r"`random_next_rate` must lie in \[0, 1\]. Received: random_next_rate=-0.5"),
    ],
)
def test_refuses_at_the_call(changes, message):
    arguments = {"documents": [[[1]], [[2]]], "max_sequence_length": 9, "rng": np.random.default_rng(0)} | changes
    with pytest.raises(ValueError, match=message):
        make_sentence_pairs(**arguments)  # Not iterated: the error must not wait for the first pair.
