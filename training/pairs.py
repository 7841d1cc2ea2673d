"""Are there sentence pairs among the rows of a dataset? Without any, nothing trains the next-sentence head."""

import itertools

from kbert.data.mixture import mixed_datasets
from kbert.data.schema import NO_PAIR, read_shard

LOOKED_AT = 20  # Rows of each shard: `training/prepare.py --nsp none` makes no pair at all, its other ways only pairs.


def has_pairs(folders):
    """Return whether a dataset, or one of several, has a pair among the first training rows of one of its shards.

    Args:
        folders: str or tuple of str, with `dataset.json`.
    """
    return any(
        shard.pairing is not None  # Documents, paired anew in every epoch.
        or any(row.is_random_next != NO_PAIR for row in itertools.islice(read_shard(shard.file), LOOKED_AT))
        for shard in mixed_datasets(folders).shards
    )
