"""Masking whole words: Google's rule, written again in plain Python, on rows of words of one to five pieces."""

import random

import numpy as np
import pytest
import tensorflow as tf
from conftest import once

from kbert.data.masking import mask_tokens
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, PretrainingRow, ShardInfo, write_shard
from kbert.data.whole_words import choose_whole_words, read_continuations

pytestmark = once

VOCABULARY_SIZE, FIRST_PIECE = 997, 600
PAD, CLS, SEP, MASK = 3, 5, 6, 8
CONTINUES_WORD = np.arange(VOCABULARY_SIZE) >= FIRST_PIECE
SETTINGS = {
    "vocabulary_size": VOCABULARY_SIZE,
    "mask_token_id": MASK,
    "special_token_ids": (PAD, CLS, SEP),
    "mask_selection_length": 20,
}
NUM_ROWS, LENGTH = 1000, 131  # 131,000 tokens.


def random_row(rng, length=LENGTH):
    """Draw [CLS] first [SEP] second [SEP]. Half of the tokens continue a word, some at the start of a sentence."""
    is_piece = rng.random(length) < 0.5
    row = np.where(is_piece, rng.integers(FIRST_PIECE, VOCABULARY_SIZE, length), rng.integers(10, FIRST_PIECE, length))
    row[[0, length // 3, -1]] = CLS, SEP, SEP
    return row.astype(np.int32)


def words_of(row):
    """Group positions as Google's script does: a piece joins the candidate before it."""
    words = []
    for position, token_id in enumerate(row):
        if token_id in (PAD, CLS, SEP):
            continue
        if words and CONTINUES_WORD[token_id]:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def choose_as_google_does(row, rng, most):
    words = words_of(row)
    rng.shuffle(words)
    budget = min(most, max(1, round(len(row) * 0.15)))
    chosen = []
    for word in words:
        if len(chosen) < budget and len(chosen) + len(word) <= budget:
            chosen += word
    return sorted(chosen)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.stack([random_row(rng) for _ in range(NUM_ROWS)])


def mask_rows(rows, **changes):
    settings = SETTINGS | {"continues_word": CONTINUES_WORD} | changes
    masked = mask_tokens(
        tf.constant(rows), np.full(len(rows), rows.shape[1], np.int32), seed=17, first_row=0, **settings
    )
    return {name: array.numpy() for name, array in masked.items()}


@pytest.fixture(scope="module")
def masked(rows):
    return mask_rows(rows)


def positions_of(masked, number):
    return masked["mask_positions"][number][masked["mask_weights"][number] == 1].tolist()


def test_all_pieces_of_a_word_or_none_and_no_other_word_would_fit(rows, masked):
    longest = 0
    for number, row in enumerate(rows):
        chosen, words = set(positions_of(masked, number)), words_of(row)
        taken = [word for word in words if chosen & set(word)]
        assert sorted(sum(taken, [])) == sorted(chosen)
        left = 20 - len(chosen)
        assert left >= 0 and all(len(word) > left for word in words if word not in taken)
        longest = max(longest, *map(len, taken))
    assert longest > 5


def test_places_and_counts_are_distributed_as_googles(rows):
    """One row, masked many times by both: every place within four standard errors, and the mean count too."""
    row, num_draws = rows[0], 2000
    masked = mask_rows(np.tile(row, (num_draws, 1)), mask_selection_length=7)
    ours = [positions_of(masked, number) for number in range(num_draws)]
    rng = random.Random(3)
    theirs = [choose_as_google_does(row, rng, most=7) for _ in range(10 * num_draws)]
    expected = np.bincount(sum(theirs, []), minlength=LENGTH) / len(theirs)
    found = np.bincount(sum(ours, []), minlength=LENGTH) / num_draws
    assert len(np.unique(np.round(expected, 2))) > 3  # Long words are chosen less often than short ones.
    assert np.all(np.abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) * 1.1 / num_draws))
    counts, expected_counts = np.array(list(map(len, ours))), np.array(list(map(len, theirs)))
    assert abs(counts.mean() - expected_counts.mean()) <= 4 * np.sqrt(expected_counts.var() * 1.1 / num_draws)


def test_what_becomes_of_a_piece_is_drawn_piece_by_piece(rows, masked):
    real = masked["mask_weights"] == 1
    shown = np.take_along_axis(masked["token_ids"], masked["mask_positions"], axis=1)
    hit = 0.1 / VOCABULARY_SIZE  # A random token may happen to be [MASK], or the original.
    is_mask, is_kept = (shown == MASK)[real], (shown == masked["mask_ids"])[real]
    found = {0.8 + hit: is_mask, 0.1 + hit: is_kept, 0.1 - 2 * hit: ~is_mask & ~is_kept}
    for share, those in found.items():
        assert abs(those.mean() - share) <= 4 * np.sqrt(share * (1 - share) / those.size)
    # Neighbours in one word: both [MASK] with 0.8 x 0.8. A draw a word would give 0.8.
    together = CONTINUES_WORD[masked["mask_ids"]][:, 1:] & real[:, 1:] & (np.diff(masked["mask_positions"]) == 1)
    both = (shown[:, 1:] == MASK)[together] & (shown[:, :-1] == MASK)[together]
    share = (0.8 + hit) ** 2
    assert both.size > 5000
    # Pairs that share a piece are correlated, by at most 0.8^3 - 0.8^4 each; a pair has two such neighbours.
    variance = share * (1 - share) + 2 * (0.8**3 - 0.8**4)
    assert abs(both.mean() - share) <= 4 * np.sqrt(variance / both.size)


def test_putting_mask_ids_back_restores_the_row(rows, masked):
    real = masked["mask_weights"] == 1
    restored = masked["token_ids"].copy()
    restored[np.nonzero(real)[0], masked["mask_positions"][real]] = masked["mask_ids"][real]
    np.testing.assert_array_equal(restored, rows)


def test_special_cases_by_hand():
    a, b, piece = 11, 12, FIRST_PIECE
    row = np.array([CLS, piece, a, piece, SEP, piece, b, SEP], np.int32)
    # Words: the piece after [CLS] on its own; a with both pieces, across [SEP]; b. Rate 0.25 allows 2 tokens of 8.
    masked = mask_rows(np.tile(row, (200, 1)), mask_selection_rate=0.25)
    assert {tuple(positions_of(masked, number)) for number in range(200)} == {(1, 6)}
    # A budget that no word fits leaves all words alone, as does a row without words.
    for row in ([CLS, a, piece, piece, SEP], [CLS, SEP, SEP]):
        masked = mask_rows(np.array([row], np.int32), mask_selection_rate=0.25)
        assert masked["mask_weights"].sum() == 0 and masked["token_ids"].tolist() == [row]


def test_words_are_taken_in_random_order_while_they_fit():
    """The few rounds in the graph agree with the loop over words, on the order that the draws give."""
    rng = np.random.default_rng(5)
    shape = 60, 90
    lengths, shares = rng.integers(1, 91, (60, 1)), rng.choice([0.2, 0.6, 0.9], (60, 1))
    continues_word, draws = rng.random(shape) < shares, rng.random(shape).astype("float32")
    is_candidate = (np.arange(90) < lengths) & (rng.random(shape) < 0.9)
    budget = rng.integers(0, 25, 60).astype("int32")
    tensors = map(tf.constant, (continues_word, is_candidate))
    found = choose_whole_words(*tensors, draws=tf.constant(draws), budget=tf.constant(budget)).numpy()
    for row in range(60):
        words = []
        for position in np.flatnonzero(is_candidate[row]):
            if words and continues_word[row, position]:
                words[-1].append(position)
            else:
                words.append([position])
        expected = []
        for word in sorted(words, key=lambda word: draws[row, word[0]]):
            if len(expected) + len(word) <= budget[row]:
                expected += word
        assert np.flatnonzero(found[row]).tolist() == sorted(expected)


@pytest.fixture
def folder(rows, tmp_path):
    tokens = {PAD: "[PAD]", 1: "[UNK]", CLS: "[CLS]", SEP: "[SEP]", MASK: "[MASK]"}
    lines = [tokens.get(i, f"##p{i}" if CONTINUES_WORD[i] else f"w{i}") for i in range(VOCABULARY_SIZE)]
    (tmp_path / "vocab.txt").write_text("\n".join(lines) + "\n")
    some = [PretrainingRow(row.tolist(), [0] * LENGTH, 0) for row in rows[:40]]
    shard = ShardInfo("a.tfrecord", write_shard(tmp_path / "a.tfrecord", some), 40 * LENGTH)
    ids = {token: token_id for token_id, token in tokens.items()}
    DatasetInfo(VOCABULARY_SIZE, LENGTH, 0, (shard,), (), ids).write(tmp_path)
    return tmp_path


def test_a_dataset_masks_whole_words_by_the_vocabulary_in_its_folder(folder):
    np.testing.assert_array_equal(read_continuations(folder), CONTINUES_WORD)
    for whole_words in (True, False):
        batches = pretraining_dataset(folder, batch_size=40, whole_words=whole_words).take(1)
        inputs, targets, weights = next(batches.as_numpy_iterator())
        broken = 0
        for number, token_ids in enumerate(inputs["token_ids"]):
            real = weights["mlm"][number] == 1
            chosen = inputs["mask_positions"][number][real]
            row = token_ids.copy()
            row[chosen] = targets["mlm"][number][real]
            broken += sum(0 < len(set(word) & set(chosen)) < len(word) for word in words_of(row))
        assert (broken == 0) == whole_words


def test_refuses(folder, rows):
    with pytest.raises(ValueError, match=r"one entry a token.* len\(continues_word\)=996, vocabulary_size=997"):
        mask_rows(rows[:1], continues_word=CONTINUES_WORD[1:])
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match="vocab.txt"):
        pretraining_dataset(folder, batch_size=4, whole_words=True)
