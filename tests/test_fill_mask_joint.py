"""The joint search against every filling there is."""

import itertools

import numpy as np
import pytest
from tiny_model import MASK_ID, TOKENS, make_model, make_tokenizer, read_log_probabilities

from kbert.inference import FillMask

V = len(TOKENS)
TEXT = "The [MASK]  sat on [MASK] [MASK]."
ROW = [2, 5, MASK_ID, 7, 8, MASK_ID, MASK_ID, 17, 3]


@pytest.fixture(scope="module")
def model():
    # In float64, as the search is in question here: in float32 the logits of this model are up to 2e-5 from exact ones,
    # more or less by processor, and a log probability is a sum over several.
    return make_model("float64")


@pytest.fixture(scope="module")
def fill_mask(model):
    return FillMask(model, make_tokenizer())


@pytest.fixture(scope="module")
def every_filling(model):
    """Log probability `[V, V, V]` of each three tokens at the three masks of ROW."""
    total = np.zeros((V, V, V))
    for done, position in enumerate((2, 5, 6)):
        fillings = list(itertools.product(range(V), repeat=done))
        rows = np.tile(ROW, (len(fillings), 1))
        rows[:, [2, 5, 6][:done]] = np.array(fillings).reshape(len(fillings), done)
        answers = read_log_probabilities(model, rows)[:, position]
        total += answers.reshape((V,) * (done + 1) + (1,) * (2 - done))
    return total


def test_the_brute_force_is_a_distribution(every_filling):
    assert np.exp(every_filling).sum() == pytest.approx(1)


def test_a_beam_that_covers_everything_is_exact(fill_mask, every_filling):
    found = fill_mask.jointly(TEXT, top_k=25, beam_size=V * V)
    best = np.argsort(-every_filling, axis=None)[:25]
    np.testing.assert_allclose([filling.log_probability for filling in found], every_filling.flat[best], atol=1e-5)
    expected = [tuple(TOKENS[index] for index in np.unravel_index(flat, (V, V, V))) for flat in best]
    assert [filling.words for filling in found] == expected


def test_a_beam_of_one_takes_the_best_word_each_time(fill_mask, every_filling):
    (found,) = fill_mask.jointly(TEXT, top_k=1, beam_size=1)
    probabilities = np.exp(every_filling)
    first = probabilities.sum((1, 2)).argmax()
    second = probabilities[first].sum(1).argmax()
    third = probabilities[first, second].argmax()
    assert found.words == (TOKENS[first], TOKENS[second], TOKENS[third])
    assert found.log_probability == pytest.approx(every_filling[first, second, third], abs=1e-5)


def test_any_beam_tells_true_probabilities_in_order(fill_mask, every_filling):
    found = fill_mask.jointly(TEXT, top_k=6, beam_size=6)
    scores = [filling.log_probability for filling in found]
    assert scores == sorted(scores, reverse=True) and len(set(filling.words for filling in found)) == 6
    for filling in found:
        assert filling.log_probability == pytest.approx(
            every_filling[tuple(map(TOKENS.index, filling.words))], abs=1e-5
        )


def test_the_texts_keep_case_and_spacing(fill_mask):
    for filling in fill_mask.jointly(TEXT, top_k=16):
        expected = "The [MASK]  sat on [MASK] [MASK]."
        for word in filling.words:
            if word.startswith("##"):
                before, after = expected.split("[MASK]", 1)
                expected = before.rstrip() + word[2:] + after
            else:
                expected = expected.replace("[MASK]", word, 1) if word != "[MASK]" else expected
        if "[MASK]" not in filling.words:
            assert filling.text == expected


def test_targets_of_several_pieces_move_the_masks_after_them(fill_mask, model):
    found = fill_mask.jointly("a [MASK] ran [MASK]", top_k=9, targets=["dogs", "cat", "on a mat"])
    pieces = {"dogs": [11, 13], "cat": [6], "on a mat": [8, 9, 10]}
    expected = {}
    for first, second in itertools.product(pieces, repeat=2):
        total, done = 0.0, [2, 9]
        for word, after in ((first, [12, MASK_ID, 3]), (second, [3])):
            for index, piece in enumerate(pieces[word]):
                row = [*done, *[MASK_ID] * (len(pieces[word]) - index), *after]
                total += read_log_probabilities(model, row)[len(done), piece]
                done = [*done, piece]
            done = [*done, 12]
        expected[first, second] = total
    assert [filling.words for filling in found] == sorted(expected, key=expected.get, reverse=True)
    for filling in found:
        assert filling.log_probability == pytest.approx(expected[filling.words], abs=1e-5)
        assert filling.text == "a {} ran {}".format(*filling.words)


def test_one_mask_is_the_call_and_a_list_is_a_list(fill_mask):
    together = fill_mask.jointly(["the [MASK] sat", "a [MASK]"], top_k=4)
    for text, filled in zip(["the [MASK] sat", "a [MASK]"], together, strict=True):
        (mask,) = fill_mask(text, top_k=4)
        assert [filling.words for filling in filled] == [(candidate.word,) for candidate in mask.candidates]
        np.testing.assert_allclose(
            np.exp([filling.log_probability for filling in filled]), [c.probability for c in mask.candidates], atol=1e-6
        )


@pytest.mark.parametrize(("top_k", "beam_size"), [(0, 4), (5, 4)])
def test_top_k_beyond_the_beam_is_refused(fill_mask, top_k, beam_size):
    with pytest.raises(ValueError, match=f"between 1 and `beam_size`. Received: top_k={top_k}, beam_size={beam_size}"):
        fill_mask.jointly(TEXT, top_k=top_k, beam_size=beam_size)
