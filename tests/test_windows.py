"""Texts longer than the model: what is read, and that the answer is that of the part that is read."""

import numpy as np
import pytest
from tiny_model import make_model, make_tokenizer

from kbert.inference import FillMask
from kbert.inference.windows import cut_window


@pytest.fixture(scope="module")
def fill_mask():
    return FillMask(make_model(), make_tokenizer())  # Reads 40 tokens.


@pytest.mark.parametrize(
    ("position", "window", "place", "skipped"),
    [
        (1, (0, 1, 2, 3, 4, 5, 11), 1, 0),
        (3, (0, 1, 2, 3, 4, 5, 11), 3, 0),
        (4, (0, 2, 3, 4, 5, 6, 11), 3, 1),
        (6, (0, 4, 5, 6, 7, 8, 11), 3, 3),
        (8, (0, 6, 7, 8, 9, 10, 11), 3, 5),
        (10, (0, 6, 7, 8, 9, 10, 11), 5, 5),
    ],
)
def test_the_place_stands_in_the_middle_or_near_an_end(position, window, place, skipped):
    assert cut_window(range(12), position, 7) == (window, place, skipped)


def test_a_row_that_fits_is_whole():
    assert cut_window(range(12), 4, 12) == (tuple(range(12)), 4, 0)
    assert cut_window(range(12), 4, 11)[0] != tuple(range(12))


@pytest.mark.parametrize(("before", "after"), [(60, 60), (0, 60), (60, 0), (19, 60), (3, 50)])
def test_a_long_text_is_answered_as_its_window_alone(fill_mask, before, after):
    words = ["the", "Cat", "sat", "on", "a", "dog", "ran"]
    left = [words[i % 7] for i in range(before)]
    right = [words[3 * i % 7] for i in range(after)]
    text = "  ".join([*left, "[MASK]", *right])
    skipped = min(max(before - 19, 0), before + 1 + after - 38)
    alone = "  ".join([*left, "[MASK]", *right][skipped : skipped + 38])
    (mask,), (expected,) = fill_mask(text, top_k=20), fill_mask(alone, top_k=20)
    assert text[slice(*mask.window)] == alone
    assert text[mask.start : mask.end] == "[MASK]"
    assert [candidate.word for candidate in mask.candidates] == [candidate.word for candidate in expected.candidates]
    np.testing.assert_allclose(
        [candidate.probability for candidate in mask.candidates],
        [candidate.probability for candidate in expected.candidates],
        atol=1e-6,
    )
    best = mask.candidates[0]
    assert best.text == text.replace("[MASK]", best.word) or best.word.startswith("##")


def test_each_of_many_masks_has_its_own_window(fill_mask):
    text = "[MASK] cat " + "the dog ran. " * 30 + "a [MASK]"
    first, last = fill_mask(text)
    assert first.window[0] == 0 and last.window[1] == len(text)
    assert first.window[1] < last.window[0]
    together = fill_mask(["a [MASK]", text])
    assert [len(masks) for masks in together] == [1, 2]
    assert together[0][0].window == (0, len("a [MASK]"))


def test_targets_and_joint_fillings_read_windows_too(fill_mask):
    words = "the cat sat on a dog ran ".split() * 12
    text = " ".join([*words, "[MASK]", *words])
    alone = " ".join([*words[-19:], "[MASK]", *words[:18]])
    (mask,), (expected,) = fill_mask(text, targets=["mat", "home"]), fill_mask(alone, targets=["mat", "home"])
    np.testing.assert_allclose(
        [candidate.probability for candidate in mask.candidates],
        [c.probability for c in expected.candidates],
        atol=1e-6,
    )
    found, expected = fill_mask.jointly(text, top_k=3), fill_mask.jointly(alone, top_k=3)
    assert [filling.words for filling in found] == [filling.words for filling in expected]
    assert len(fill_mask.jointly(f"[MASK] {text}", top_k=3)[0].words) == 2


def test_the_longest_row_can_be_set_lower_than_the_model(fill_mask):
    short = FillMask(fill_mask.source.model, make_tokenizer(), max_sequence_length=9)
    text = "the cat sat on a dog the [MASK] ran on the cat sat a"
    assert text[slice(*short(text)[0].window)] == "a dog the [MASK] ran on the"
