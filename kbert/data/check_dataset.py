"""Read a whole dataset once, to find what does not fit before a training does."""

from dataclasses import replace
from pathlib import Path

from kbert.data.document_shards import pair_documents
from kbert.data.schema import DATASET_FILE, DatasetInfo, check_rows, read_shard


def check_dataset(folder: str | Path) -> None:
    """Read every row of a dataset and refuse the first bad one by shard and row.

    Of a shard of documents the rows are those of one pairing; their number differs from pairing to pairing.

    Raises:
        TypeError, ValueError: as `check_rows`; also when a shard's row count differs from `dataset.json`.
    """
    info = DatasetInfo.from_folder(folder)
    limits = {"vocabulary_size": info.vocabulary_size, "max_sequence_length": info.max_sequence_length}
    for shard in (*info.shards, *info.held_out):
        path = Path(folder) / shard.file
        if shard.pairing:
            rows = pair_documents(replace(shard, file=str(path)), info.special_token_ids, [info.seed])
        else:
            rows = read_shard(path)
        count = sum(1 for _ in check_rows(rows, **limits, shard=shard.file))
        if count != shard.rows and not shard.pairing:
            raise ValueError(f"A shard must have the rows that {DATASET_FILE} says. Received: {count} rows, {shard}.")
