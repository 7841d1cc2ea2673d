"""Find the damage in a dataset: which shard, and where in it."""

import re
from pathlib import Path

import tensorflow as tf

from kbert.data.schema import DATASET_FILE, DatasetInfo, check_rows, read_shard


def check_dataset(folder: str | Path) -> None:
    """Read every row of a dataset and refuse the first bad one by shard and row.

    Raises:
        TypeError, ValueError: as `check_rows`; also when a shard is damaged, or its row count differs from
            `dataset.json`.
    """
    info = DatasetInfo.from_folder(folder)
    limits = {"vocabulary_size": info.vocabulary_size, "max_sequence_length": info.max_sequence_length}
    for shard in (*info.shards, *info.held_out):
        path = Path(folder) / shard.file
        try:
            count = sum(1 for _ in check_rows(read_shard(path), **limits, shard=str(path)))
        except tf.errors.DataLossError as error:
            place = re.search(r"\w+ record at \d+", error.message)  # Between names of TensorFlow's parts.
            found = place[0] if place else error.message
            raise ValueError(f"A shard must be as it was written. Received: {path}, {found}.") from error
        if count != shard.rows:
            raise ValueError(f"A shard must have the rows that {DATASET_FILE} says. Received: {count} rows, {shard}.")
