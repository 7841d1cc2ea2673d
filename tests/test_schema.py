"""The dataset on disk: round trips, atomic writes, and each refusal by its text."""

import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import once

from kbert.data.check_dataset import check_dataset
from kbert.data.schema import (
    DatasetInfo,
    PretrainingRow,
    ShardInfo,
    batch_spec,
    check_rows,
    read_shard,
    write_shard,
)

pytestmark = once

ROWS = [
    PretrainingRow([2, 11, 12, 3, 21, 3], [0, 0, 0, 0, 1, 1], False),
    PretrainingRow([2, 13, 3, 22, 3], [0, 0, 0, 1, 1], True),
]
SPECIAL_TOKEN_IDS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}


@pytest.fixture
def folder(tmp_path):
    write_shard(tmp_path / "train-00000.tfrecord", ROWS)
    write_shard(tmp_path / "held-out-00000.tfrecord", ROWS[:1])
    info = DatasetInfo(
        vocabulary_size=29,
        max_sequence_length=7,
        seed=5,
        shards=(ShardInfo("train-00000.tfrecord", rows=2, tokens=11),),
        held_out=(ShardInfo("held-out-00000.tfrecord", rows=1, tokens=6),),
        special_token_ids=SPECIAL_TOKEN_IDS,
    )
    info.write(tmp_path)
    return tmp_path


def change_json(folder, **changes):
    path = folder / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_batch_spec():
    inputs, targets, weights = batch_spec(7, 4, batch_size=2)
    described = {
        part: {name: (spec.dtype.name, spec.shape.as_list()) for name, spec in specs.items()}
        for part, specs in (("inputs", inputs), ("targets", targets), ("weights", weights))
    }
    assert described == {
        "inputs": {
            "token_ids": ("int32", [2, 7]),
            "segment_ids": ("int32", [2, 7]),
            "padding_mask": ("int32", [2, 7]),
            "mask_positions": ("int32", [2, 4]),
        },
        "targets": {"mlm": ("int32", [2, 4]), "nsp": ("int32", [2])},
        "weights": {"mlm": ("float32", [2, 4]), "nsp": ("float32", [2])},
    }


def test_shard_round_trip(tmp_path):
    path = tmp_path / "rows.tfrecord"
    assert write_shard(path, iter(ROWS)) == 2
    read = list(read_shard(path))
    assert [row.token_ids.tolist() for row in read] == [row.token_ids for row in ROWS]
    assert [row.segment_ids.tolist() for row in read] == [row.segment_ids for row in ROWS]
    assert [row.is_random_next for row in read] == [0, 1]


def test_a_record_is_a_plain_example(tmp_path):
    """Other programs can read the shards: a record holds three int64 features and nothing else."""
    write_shard(tmp_path / "rows.tfrecord", ROWS)
    record = next(iter(tf.data.TFRecordDataset(str(tmp_path / "rows.tfrecord")))).numpy()
    features = tf.train.Example.FromString(record).features.feature
    assert {name: list(feature.int64_list.value) for name, feature in features.items()} == {
        "token_ids": [2, 11, 12, 3, 21, 3],
        "segment_ids": [0, 0, 0, 0, 1, 1],
        "is_random_next": [0],
    }


def test_an_interrupted_write_leaves_no_shard(tmp_path):
    def interrupted():
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path / "rows.tfrecord", interrupted())
    assert not (tmp_path / "rows.tfrecord").exists()
    write_shard(tmp_path / "rows.tfrecord", ROWS)  # What was left behind does not stand in the way.
    assert [path.name for path in tmp_path.iterdir()] == ["rows.tfrecord"]


def test_check_rows_passes_good_rows_through():
    edge = PretrainingRow(np.array([0, 28, 1, 2, 3, 4, 5]), [0, 0, 0, 0, 0, 1, 1], 1)
    rows = [*ROWS, edge]
    assert list(check_rows(rows, vocabulary_size=29, max_sequence_length=7, shard="a")) == rows


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"token_ids": [2, 29, 3, 22, 3]}, ValueError, r"`token_ids` must lie in \[0, 29\). Received: 2 to 29"),
        ({"token_ids": [2, -3, 3, 22, 3]}, ValueError, r"`token_ids` must lie in \[0, 29\). Received: -3 to 22"),
        ({"segment_ids": [0, 0, 0, 1, 2]}, ValueError, r"`segment_ids` must lie in \[0, 2\). Received: 0 to 2"),
        ({"segment_ids": [0, -1, 0, 1, 1]}, ValueError, r"`segment_ids` must lie in \[0, 2\). Received: -1 to 1"),
        ({"token_ids": [2.0, 5.0, 3.0, 5.0, 3.0]}, TypeError, "`token_ids` must be integers. Received: dtype=float64"),
        ({"segment_ids": [False] * 3 + [True] * 2}, TypeError, "`segment_ids` must be integers. Received: dtype=bool"),
        ({"is_random_next": 2}, ValueError, "`is_random_next` must be 0, 1 or -1. Received: 2"),
        ({"segment_ids": [0, 0, 1]}, ValueError, "1 to 7 `token_ids` and as many `segment_ids`. Received: 5 and 3"),
        ({"token_ids": [5] * 8, "segment_ids": [0] * 8}, ValueError, "1 to 7 `token_ids`.*Received: 8 and 8"),
        ({"token_ids": [], "segment_ids": []}, ValueError, "1 to 7 `token_ids`.*Received: 0 and 0"),
    ],
)
def test_check_rows_names_shard_and_row(changes, error, message):
    rows = [ROWS[0], ROWS[1]._replace(**changes)]
    with pytest.raises(error, match=message + ", shard=train-00003, row=1"):
        list(check_rows(rows, vocabulary_size=29, max_sequence_length=7, shard="train-00003"))


def test_info_round_trip(folder):
    info = DatasetInfo.from_folder(folder)
    assert info.shards == (ShardInfo("train-00000.tfrecord", 2, 11),)
    written = json.loads((folder / "dataset.json").read_text())
    assert written == {
        "vocabulary_size": 29,
        "max_sequence_length": 7,
        "seed": 5,
        "shards": [{"file": "train-00000.tfrecord", "rows": 2, "tokens": 11}],
        "held_out": [{"file": "held-out-00000.tfrecord", "rows": 1, "tokens": 6}],
        "special_token_ids": SPECIAL_TOKEN_IDS,
    }
    info.write(folder)
    assert DatasetInfo.from_folder(folder) == info
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".tfrecord", ".tfrecord"]


def test_info_refuses_missing_and_unknown_keys(folder):
    change_json(folder, sead=5)
    with pytest.raises(ValueError, match=r"keys of DatasetInfo.*Received: missing=\[\], unknown=\['sead'\]"):
        DatasetInfo.from_folder(folder)


def test_info_refuses_a_shard_entry_without_rows(folder):
    change_json(folder, shards=[{"file": "train-00000.tfrecord", "tokens": 11}])
    with pytest.raises(ValueError, match=r"keys of ShardInfo.*Received: missing=\['rows'\], unknown=\[\]"):
        DatasetInfo.from_folder(folder)


def test_info_refuses_a_missing_special_token(folder):
    change_json(folder, special_token_ids={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3})
    with pytest.raises(ValueError, match=r"`special_token_ids` must name.*without \['\[MASK\]'\]"):
        DatasetInfo.from_folder(folder)


@pytest.mark.parametrize("file", ["train-00000.tfrecord", "held-out-00000.tfrecord"])
def test_info_refuses_a_missing_shard(folder, file):
    (folder / file).unlink()
    with pytest.raises(FileNotFoundError, match=f"Every shard of .*Received: {file} is missing"):
        DatasetInfo.from_folder(folder)


def test_info_refuses_a_folder_without_dataset_json(tmp_path):
    with pytest.raises(FileNotFoundError, match="`folder` must hold dataset.json. Received: folder=.*Prepare it first"):
        DatasetInfo.from_folder(tmp_path)


def test_check_dataset_accepts_a_good_folder(folder):
    check_dataset(folder)


def test_check_dataset_names_the_bad_row(folder):
    change_json(folder, vocabulary_size=22)
    with pytest.raises(ValueError, match=r"\[0, 22\). Received: 2 to 22, shard=.*train-00000.tfrecord, row=1"):
        check_dataset(folder)


def test_check_dataset_counts_rows(folder):
    change_json(folder, held_out=[{"file": "held-out-00000.tfrecord", "rows": 3, "tokens": 6}])
    with pytest.raises(ValueError, match="rows that dataset.json says. Received: 1 rows, ShardInfo.*held-out.*rows=3"):
        check_dataset(folder)
