"""Find the damage in a dataset: which shard, and where in it."""

import re
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from kbert.data.document_shards import pair_documents
from kbert.data.schema import DATASET_FILE, DatasetInfo, check_rows, read_shard


def check_dataset(folder: str | Path) -> None:
    """Read every row of a dataset and refuse the first bad one by shard and row.

    Of a shard of documents the rows are those of one pairing, whose number differs from pairing to pairing.

    Raises:
        TypeError, ValueError: as `check_rows`; also when a shard is damaged, or its row count differs from
            `dataset.json`.
    """
    info = DatasetInfo.from_folder(folder)
    limits = {"vocabulary_size": info.vocabulary_size, "max_sequence_length": info.max_sequence_length}
    for shard in (*info.shards, *info.held_out):
        path = Path(folder) / shard.file
        try:
            if shard.pairing:
                rows = pair_documents(replace(shard, file=str(path)), info.special_token_ids, [info.seed])
            else:
                rows = read_shard(path)
            count = sum(1 for _ in check_rows(rows, **limits, shard=str(path)))
        except tf.errors.DataLossError as error:
            # Without the op that met it: "{{function_node ...}} corrupted record at 12 [Op:IteratorGetNext] name: ".
            reason = re.sub(r"\{\{.*?\}\} *|\s*\[Op:.*", "", error.message)
            raise ValueError(f"A shard must be as it was written. Received: {path}, {reason}.") from error
        if count != shard.rows and not shard.pairing:
            raise ValueError(f"A shard must have the rows that {DATASET_FILE} says. Received: {count} rows, {shard}.")
