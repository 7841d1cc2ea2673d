"""Batches from shards: layout, one epoch = every row once, repeatability, resuming, refusals."""

import json
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from conftest import once

from kbert.data.masking import mask_tokens
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, PretrainingRow, ShardInfo, batch_spec, write_shard

pytestmark = once

SPECIAL_TOKEN_IDS = {"[PAD]": 3, "[UNK]": 1, "[CLS]": 5, "[SEP]": 6, "[MASK]": 8}  # [PAD] is not 0 on purpose.
VOCABULARY_SIZE, MAX_LENGTH, SLOTS = 211, 13, 4
TRAIN_ROWS, HELD_OUT_ROWS = (11, 7, 5), (4, 3)
ROWS_AN_EPOCH = sum(TRAIN_ROWS)
SETTINGS = {"batch_size": 4, "mask_selection_length": SLOTS, "mask_selection_rate": 0.3, "seed": 7}


def make_rows(rng, count):
    rows = []
    for _ in range(count):
        first, second = rng.integers(1, 6, 2)
        text = rng.integers(10, VOCABULARY_SIZE, first + second).tolist()
        token_ids = [5, *text[:first], 6, *text[first:], 6]
        rows.append(PretrainingRow(token_ids, [0] * (first + 2) + [1] * (second + 1), int(rng.integers(2))))
    return rows


def write_dataset(folder, shards, held_out):
    """Write a dataset of given rows, shard by shard."""
    infos = {"train": [], "held-out": []}
    for split, parts in (("train", shards), ("held-out", held_out)):
        for number, rows in enumerate(parts):
            name = f"{split}-{number:05d}.tfrecord"
            tokens = sum(len(row.token_ids) for row in rows)
            infos[split].append(ShardInfo(name, write_shard(folder / name, rows), tokens))
    info = DatasetInfo(
        VOCABULARY_SIZE, MAX_LENGTH, 0, tuple(infos["train"]), tuple(infos["held-out"]), SPECIAL_TOKEN_IDS
    )
    info.write(folder)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    return [make_rows(rng, count) for count in TRAIN_ROWS], [make_rows(rng, count) for count in HELD_OUT_ROWS]


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    write_dataset(folder, *corpus)
    return folder


def batches(folder, count=None, **changes):
    dataset = pretraining_dataset(folder, **(SETTINGS | changes))
    return list((dataset if count is None else dataset.take(count)).as_numpy_iterator())


def unmasked_rows(some_batches):
    """Undo padding and masking of batches, row by row."""
    rows = []
    for inputs, targets, weights in some_batches:
        for i in range(len(targets["nsp"])):
            token_ids = inputs["token_ids"][i].copy()
            real = weights["mlm"][i] == 1
            token_ids[inputs["mask_positions"][i][real]] = targets["mlm"][i][real]
            length = inputs["padding_mask"][i].sum()
            segment_ids = inputs["segment_ids"][i][:length].tolist()
            rows.append(PretrainingRow(token_ids[:length].tolist(), segment_ids, int(targets["nsp"][i])))
    return rows


def hashable(rows):
    return [(tuple(row.token_ids), tuple(row.segment_ids), row.is_random_next) for row in rows]


def assert_equal_batches(found, expected):
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(("split", "batch_size"), [("train", 4), ("held_out", None)])
def test_element_spec(folder, split, batch_size):
    dataset = pretraining_dataset(folder, batch_size=4, mask_selection_length=SLOTS, split=split)
    assert dataset.element_spec == batch_spec(MAX_LENGTH, SLOTS, batch_size)


def test_padding(folder):
    inputs, targets, weights = batches(folder, 1, max_sequence_length=17)[0]
    assert inputs["token_ids"].shape == (4, 17)
    is_real = np.arange(17) < inputs["padding_mask"].sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(inputs["padding_mask"], is_real)
    assert np.all(inputs["token_ids"][~is_real] == SPECIAL_TOKEN_IDS["[PAD]"])
    assert np.all(inputs["segment_ids"][~is_real] == 0)
    assert not np.any(inputs["token_ids"][is_real] == SPECIAL_TOKEN_IDS["[PAD]"])
    assert np.all(weights["nsp"] == 1) and weights["mlm"].min() == 0 and weights["mlm"].max() == 1


@pytest.mark.parametrize("shuffle_buffer", [1, 6, 1000])
def test_an_epoch_is_every_row_once_in_another_order(folder, corpus, shuffle_buffer):
    # 23 batches of 4 are 4 epochs of 23 rows: batches cross the borders of epochs.
    rows = hashable(unmasked_rows(batches(folder, ROWS_AN_EPOCH, shuffle_buffer=shuffle_buffer)))
    expected = Counter(hashable(row for shard in corpus[0] for row in shard))
    epochs = [rows[start : start + ROWS_AN_EPOCH] for start in range(0, len(rows), ROWS_AN_EPOCH)]
    assert [Counter(epoch) for epoch in epochs] == [expected] * 4
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_a_row_gets_other_masks_every_epoch(folder):
    masks = {}
    for inputs, targets, weights in batches(folder, ROWS_AN_EPOCH, mask_token_rate=1.0, random_token_rate=0.0):
        rows = hashable(unmasked_rows([(inputs, targets, weights)]))
        for row, positions in zip(rows, inputs["mask_positions"], strict=True):
            masks.setdefault(row, set()).add(tuple(positions))
    assert np.mean([len(seen) for seen in masks.values()]) > 1.5


def test_masks_of_row_i_are_drawn_from_seed_and_i(folder):
    rows = unmasked_rows(batches(folder, 12))
    found = batches(folder, 12)
    for i, row in enumerate(rows):
        inputs, targets, weights = found[i // 4]
        padded = np.full(MAX_LENGTH, SPECIAL_TOKEN_IDS["[PAD]"], np.int32)
        padded[: len(row.token_ids)] = row.token_ids
        expected = mask_tokens(
            tf.constant(padded[None]),
            tf.constant([len(row.token_ids)]),
            seed=7,
            first_row=i,
            vocabulary_size=VOCABULARY_SIZE,
            mask_token_id=8,
            special_token_ids=[3, 5, 6],
            mask_selection_rate=0.3,
            mask_selection_length=SLOTS,
        )
        np.testing.assert_array_equal(inputs["token_ids"][i % 4], expected["token_ids"][0])
        np.testing.assert_array_equal(inputs["mask_positions"][i % 4], expected["mask_positions"][0])
        np.testing.assert_array_equal(targets["mlm"][i % 4], expected["mask_ids"][0])
        np.testing.assert_array_equal(weights["mlm"][i % 4], expected["mask_weights"][0])


def test_held_out_masks_are_the_same_in_batches_of_any_size(folder):
    whole, *rest = batches(folder, batch_size=50, split="held_out")
    parts = batches(folder, batch_size=3, split="held_out")
    assert not rest and len(parts) > 2
    joined = tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts)
    tf.nest.map_structure(np.testing.assert_array_equal, joined, whole)


def test_one_thread_many_threads_and_another_global_seed_agree(folder):
    expected = batches(folder, 30)
    tf.random.set_seed(12345)
    assert_equal_batches(batches(folder, 30), expected)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    serial = pretraining_dataset(folder, **SETTINGS).with_options(options).take(30)
    assert_equal_batches(list(serial.as_numpy_iterator()), expected)


def test_another_seed_gives_another_order(folder):
    assert hashable(unmasked_rows(batches(folder, 5))) != hashable(unmasked_rows(batches(folder, 5, seed=8)))


@pytest.mark.parametrize("start_step", [1, 5, 6, 23, 24, 40])
def test_resuming_continues_the_uninterrupted_stream(folder, start_step):
    """Step 5 ends inside the first epoch (23 rows), step 6 inside the second, step 23 on the border of the fourth."""
    uninterrupted = batches(folder, start_step + 8)
    assert_equal_batches(batches(folder, 8, start_step=start_step), uninterrupted[start_step:])


def test_a_batch_mixes_shards(tmp_path):
    rng = np.random.default_rng(1)
    shards = [make_rows(rng, count) for count in (60, 50, 40)]
    write_dataset(tmp_path, shards, [])
    shard_of_row = {row: number for number, shard in enumerate(shards) for row in hashable(shard)}
    # A window far smaller than a shard cannot do this by itself.
    rows = hashable(unmasked_rows(batches(tmp_path, 1, batch_size=48, shuffle_buffer=1)))
    assert {shard_of_row[row] for row in rows} == {0, 1, 2}


def test_records_are_shuffled_inside_a_window(tmp_path):
    rows = make_rows(np.random.default_rng(2), 90)
    write_dataset(tmp_path, [rows], [])
    place = {row: number for number, row in enumerate(hashable(rows))}
    order = [place[row] for row in hashable(unmasked_rows(batches(tmp_path, 9, batch_size=10, shuffle_buffer=30)))]
    windows = [order[start : start + 30] for start in (0, 30, 60)]
    for number, window in enumerate(windows):
        assert sorted(window) == list(range(30 * number, 30 * number + 30))
        assert window != sorted(window)
    assert windows[0] != [place - 30 for place in windows[1]]  # Each window has its own shuffle.


def test_held_out_is_one_pass_with_fixed_masks(folder, corpus):
    found = batches(folder, split="held_out")
    assert [len(targets["nsp"]) for _, targets, _ in found] == [4, 3]
    assert Counter(hashable(unmasked_rows(found))) == Counter(hashable(row for shard in corpus[1] for row in shard))
    assert_equal_batches(batches(folder, split="held_out"), found)
    assert pretraining_dataset(folder, batch_size=4, split="held_out").cardinality() == 2


@pytest.mark.parametrize(
    ("changes", "received"),
    [
        ({"token_ids": [5, 211, 6, 12, 6]}, r"\[0, 211\).*\]\s*\[\d+\]\s*\[5\]\s*\[211\]\s*\[5\]"),
        ({"token_ids": [5, -2, 6, 12, 6]}, r"\[0, 211\).*\]\s*\[\d+\]\s*\[-2\]\s*\[12\]\s*\[5\]"),
        ({"segment_ids": [0, 0, 0, 1, 2]}, r"`segment_ids` in \[0, 2\)"),
        ({"segment_ids": [0, 0, 0, 1, -1]}, r"`segment_ids` in \[0, 2\)"),
        ({"segment_ids": [0, 0, 1]}, "as many `segment_ids`"),
        ({"token_ids": [5] * 14, "segment_ids": [0] * 14}, r"must have 1 to 13 `token_ids`.*\[5\]\s*\[5\]\s*\[14\]"),
        ({"token_ids": [], "segment_ids": []}, "must have 1 to 13 `token_ids`"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(tmp_path, changes, received):
    row = PretrainingRow([5, 11, 6, 12, 6], [0, 0, 0, 1, 1], 1)
    write_dataset(tmp_path, [[row, row._replace(**changes)]], [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)assertion failed.*" + received):
        batches(tmp_path, 1, batch_size=2)


@pytest.mark.parametrize("rows", [10, 12])
def test_another_number_of_rows_than_written_down_is_an_error(tmp_path, corpus, rows):
    write_dataset(tmp_path, [corpus[0][0]], [])
    info = json.loads((tmp_path / "dataset.json").read_text())
    info["shards"][0]["rows"] = rows
    (tmp_path / "dataset.json").write_text(json.dumps(info))
    with pytest.raises(tf.errors.FailedPreconditionError, match=f"expected to contain {rows} elements"):
        batches(tmp_path, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "dev"}, r"`split` must be one of \['held_out', 'train'\]. Received: split='dev'"),
        ({"batch_size": 0}, "`batch_size` must be at least 1. Received: batch_size=0"),
        ({"start_step": -1}, "`start_step` must be at least 0. Received: start_step=-1"),
        ({"shuffle_buffer": 0}, "`shuffle_buffer` must be at least 1. Received: shuffle_buffer=0"),
        ({"max_sequence_length": 12}, "`max_sequence_length` must be at least 13. Received: max_sequence_length=12"),
        ({"split": "held_out", "start_step": 3}, "`start_step` belongs to split='train'.*start_step=3"),
        ({"mask_selection_rate": 2.0}, "`mask_selection_rate` must lie in.*Received: mask_selection_rate=2.0"),
    ],
)
def test_refuses(folder, changes, message):
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(folder, **({"batch_size": 4} | changes))


def test_refuses_a_split_without_rows(tmp_path, corpus):
    write_dataset(tmp_path, corpus[0], [])
    with pytest.raises(ValueError, match="must have rows. Received: split='held_out' without any"):
        pretraining_dataset(tmp_path, batch_size=4, split="held_out")
