"""The masked-words game: counts, places, shares, repeatability."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import once

from kbert.data.masking import mask_tokens

pytestmark = once

VOCABULARY_SIZE = 997
PAD, CLS, SEP, MASK = 3, 5, 6, 8
SETTINGS = {
    "vocabulary_size": VOCABULARY_SIZE,
    "mask_token_id": MASK,
    "special_token_ids": (PAD, CLS, SEP),
    "mask_selection_length": 23,
}


def random_row(rng, length):
    """Draw [CLS] first [SEP] second [SEP]; the text avoids ids that mean something."""
    row = rng.integers(10, VOCABULARY_SIZE, length)
    row[[0, rng.integers(2, length - 2), -1]] = CLS, SEP, SEP
    return row.astype(np.int32)


def mask_rows(rows, first_row=0, **changes):
    """Mask equally long rows with seed 17. Returns NumPy arrays."""
    lengths = np.full(len(rows), rows.shape[1], np.int32)
    masked = mask_tokens(tf.constant(rows), lengths, seed=17, first_row=first_row, **(SETTINGS | changes))
    return {name: array.numpy() for name, array in masked.items()}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.stack([random_row(rng, 131) for _ in range(1000)])  # 131,000 tokens.


@pytest.fixture(scope="module")
def masked(rows):
    return mask_rows(rows)


def test_types_and_shapes(rows, masked):
    assert {name: (array.dtype, array.shape) for name, array in masked.items()} == {
        "token_ids": (np.int32, (1000, 131)),
        "mask_positions": (np.int32, (1000, 23)),
        "mask_ids": (np.int32, (1000, 23)),
        "mask_weights": (np.float32, (1000, 23)),
    }


def test_putting_mask_ids_back_restores_the_row(rows, masked):
    real = masked["mask_weights"] == 1
    row_number, _ = np.nonzero(real)
    restored = masked["token_ids"].copy()
    restored[row_number, masked["mask_positions"][real]] = masked["mask_ids"][real]
    np.testing.assert_array_equal(restored, rows)
    assert np.any(masked["token_ids"] != rows)


def test_slots_are_ascending_then_empty(masked):
    count = round(0.15 * 131)
    np.testing.assert_array_equal(masked["mask_weights"], np.tile(np.arange(23) < count, (1000, 1)))
    assert np.all(np.diff(masked["mask_positions"][:, :count]) > 0)
    assert np.all(masked["mask_positions"][:, count:] == 0)
    assert np.all(masked["mask_ids"][:, count:] == 0)


def test_special_tokens_are_never_chosen(masked):
    chosen = masked["mask_ids"][masked["mask_weights"] == 1]
    assert not np.isin(chosen, (PAD, CLS, SEP)).any()


def test_padding_is_never_chosen():
    row = np.array([CLS, 11, SEP, 12, SEP, *[PAD] * 9], np.int32)
    masked = mask_rows(np.tile(row, (50, 1)))
    assert set(masked["mask_ids"][masked["mask_weights"] == 1]) == {11, 12}
    # Behind its length a row has nothing to hide, whatever stands there, and it does not count.
    row[5:] = 13
    masked = mask_tokens(tf.constant([row] * 50), tf.constant([5] * 50), seed=1, first_row=0, **SETTINGS)
    assert set(masked["mask_ids"].numpy().ravel()) == {0, 11, 12} and np.sum(masked["mask_weights"]) == 50
    np.testing.assert_array_equal(masked["token_ids"][:, 5:], np.full((50, 9), 13))


def test_places_are_chosen_alike():
    row = np.array([CLS, *range(10, 50), SEP, *range(50, 109), SEP], np.int32)
    num_rows = 1000
    masked = mask_rows(np.tile(row, (num_rows, 1)))
    chosen = masked["mask_positions"][masked["mask_weights"] == 1]
    share = round(0.15 * len(row)) / (len(row) - 3)
    counts = np.delete(np.bincount(chosen, minlength=len(row)), [0, 41, 101])
    assert np.all(np.abs(counts / num_rows - share) < 4 * np.sqrt(share * (1 - share) / num_rows))


@pytest.mark.parametrize(
    ("length", "rate", "slots"),
    [(5, 0.15, 23), (10, 0.15, 23), (30, 0.15, 23), (77, 0.15, 23), (131, 0.15, 4), (64, 0.5, 40), (12, 0.01, 3)],
)
def test_count_is_a_share_of_all_tokens(length, rate, slots):
    rng = np.random.default_rng(length)
    masked = mask_rows(random_row(rng, length)[None], mask_selection_rate=rate, mask_selection_length=slots)
    assert masked["mask_weights"].sum() == min(slots, max(1, round(rate * length)))


def test_fewer_candidates_than_the_count():
    rows = np.array([[CLS, 11, SEP, 12, SEP], [CLS, SEP, SEP, SEP, SEP]], np.int32)
    masked = mask_rows(rows, mask_selection_rate=1.0)
    assert masked["mask_weights"].sum(axis=1).tolist() == [2, 0]
    assert masked["mask_ids"][0, :3].tolist() == [11, 12, 0]
    np.testing.assert_array_equal(masked["token_ids"][1], rows[1])


@pytest.mark.parametrize(("mask_token_rate", "random_token_rate"), [(0.8, 0.1), (0.3, 0.5), (1.0, 0.0)])
def test_shares_of_mask_random_and_kept(rows, mask_token_rate, random_token_rate):
    masked = mask_rows(rows, mask_token_rate=mask_token_rate, random_token_rate=random_token_rate)
    shown = np.take_along_axis(masked["token_ids"], masked["mask_positions"], axis=1)[:, : round(0.15 * 131)]
    original = masked["mask_ids"][:, : round(0.15 * 131)]
    hit = random_token_rate / VOCABULARY_SIZE  # A random token may happen to be [MASK], or the original.
    expected = {
        "mask": mask_token_rate + hit,
        "kept": 1 - mask_token_rate - random_token_rate + hit,
        "other": random_token_rate - 2 * hit,
    }
    is_mask, is_kept = shown == MASK, shown == original
    found = {"mask": is_mask, "kept": is_kept, "other": ~is_mask & ~is_kept}
    for name, share in expected.items():
        assert abs(found[name].mean() - share) <= 4 * np.sqrt(share * (1 - share) / shown.size), name
        # Drawn token by token, the number in a row is binomial; a fixed quota per row would have no spread.
        variance = shown.shape[1] * share * (1 - share)
        spread = found[name].sum(axis=1).var()
        kurtosis_bound = 2 + (1 - 6 * share * (1 - share)) / max(variance, 1e-9)
        assert abs(spread - variance) <= 4 * variance * np.sqrt(kurtosis_bound / len(rows)), name


def test_random_tokens_come_from_the_whole_vocabulary(rows):
    masked = mask_rows(rows, mask_token_rate=0.0, random_token_rate=1.0)
    shown = np.take_along_axis(masked["token_ids"], masked["mask_positions"], axis=1)[:, : round(0.15 * 131)]
    counts = np.bincount(shown.ravel(), minlength=VOCABULARY_SIZE)
    assert len(counts) == VOCABULARY_SIZE
    expected = shown.size / VOCABULARY_SIZE
    chi_squared, freedom = np.sum((counts - expected) ** 2 / expected), VOCABULARY_SIZE - 1
    assert abs(chi_squared - freedom) < 4 * np.sqrt(2 * freedom)
    assert counts[[PAD, CLS, SEP, MASK]].min() > 0


def test_choice_and_fate_are_independent(masked):
    """If one draw served both, rows that choose many early places would mask few tokens."""
    count = round(0.15 * 131)
    shown = np.take_along_axis(masked["token_ids"], masked["mask_positions"], axis=1)[:, :count]
    chosen_early = np.sum(masked["mask_positions"][:, :count] <= count, axis=1)
    masked_in_row = np.sum(shown == MASK, axis=1)
    assert abs(np.corrcoef(chosen_early, masked_in_row)[0, 1]) < 4 / np.sqrt(len(shown))


def test_choice_and_fate_are_independent_place_by_place():
    """Of rows as long as they have slots: if one draw served both, a slot's would be that of the token as far in."""
    rng = np.random.default_rng(2)
    masked = mask_rows(np.stack([random_row(rng, 23) for _ in range(4000)]), mask_selection_rate=0.5)
    count = round(0.5 * 23)
    is_chosen = (masked["mask_positions"][:, :count, None] == np.arange(count)).any(axis=1)
    is_mask = np.take_along_axis(masked["token_ids"], masked["mask_positions"][:, :count], axis=1) == MASK
    assert abs(np.corrcoef(is_chosen[:, 1:].ravel(), is_mask[:, 1:].ravel())[0, 1]) < 4 / np.sqrt(4000 * (count - 1))


def test_a_row_gets_the_same_masks_in_any_batch(rows, masked):
    for first, last in ((0, 1), (1, 3), (3, 400), (400, 1000)):
        part = mask_rows(rows[first:last], first_row=first)
        for name, array in masked.items():
            np.testing.assert_array_equal(part[name], array[first:last])


def test_rows_of_another_number_or_seed_get_other_masks(rows):
    same = np.tile(rows[:1], (40, 1))
    positions = mask_rows(same)["mask_positions"]
    assert len(np.unique(positions, axis=0)) == 40
    assert not np.array_equal(mask_rows(same, first_row=40)["mask_positions"], positions)
    other = mask_tokens(tf.constant(same), np.full(40, 131, np.int32), seed=18, first_row=0, **SETTINGS)
    assert not np.array_equal(other["mask_positions"], positions)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mask_selection_rate": 0.0},
            r"`mask_selection_rate` must lie in \(0, 1\]. Received: mask_selection_rate=0.0",
        ),
        (
            {"mask_selection_rate": 3.0},
            r"`mask_selection_rate` must lie in \(0, 1\]. Received: mask_selection_rate=3.0",
        ),
        ({"mask_token_rate": -0.1}, r"`mask_token_rate` must lie in \[0, 1\]. Received: mask_token_rate=-0.1"),
        ({"random_token_rate": 1.1}, r"`random_token_rate` must lie in \[0, 1\]. Received: random_token_rate=1.1"),
        ({"random_token_rate": 0.3}, "must sum to at most 1. Received: mask_token_rate=0.8, random_token_rate=0.3"),
        ({"mask_selection_length": 0}, "`mask_selection_length` must be at least 1. Received: mask_selection_length=0"),
        ({"mask_token_id": 997}, r"`mask_token_id` must lie in \[0, vocabulary_size\). Received: mask_token_id=997"),
        ({"mask_token_id": -1}, r"`mask_token_id` must lie in \[0, vocabulary_size\). Received: mask_token_id=-1"),
    ],
)
def test_refuses(rows, changes, message):
    with pytest.raises(ValueError, match=message):
        mask_rows(rows[:1], **changes)
