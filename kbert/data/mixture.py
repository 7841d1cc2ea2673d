"""Several dataset folders read as one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kbert.data.schema import DatasetInfo


def mixed_datasets(folders: str | Path | Sequence[str | Path]) -> DatasetInfo:
    """Describe the rows of all folders as one dataset.

    Args:
        folders: one folder with `dataset.json`, or several that were prepared with one vocabulary.
    Returns:
        `DatasetInfo` of all shards, with whole paths as their names and the longest `max_sequence_length`.
    Raises:
        FileNotFoundError, ValueError: as `DatasetInfo.from_folder`.
        ValueError: no folder, one folder twice, or vocabularies that differ in size or special tokens.
    """
    folders = [folders] if isinstance(folders, str | Path) else list(folders)
    if not folders or len(set(map(str, folders))) < len(folders):
        raise ValueError(f"`folders` must name at least one dataset, each once. Received: folders={folders}.")
    infos = [_with_whole_paths(DatasetInfo.from_folder(folder), folder) for folder in folders]
    first = infos[0]
    for folder, info in zip(folders, infos, strict=True):
        if (info.vocabulary_size, info.special_token_ids) != (first.vocabulary_size, first.special_token_ids):
            raise ValueError(
                "`folders` must be prepared with one vocabulary. Received: "
                f"{folders[0]} with {first.vocabulary_size} tokens, special ones {first.special_token_ids}, and "
                f"{folder} with {info.vocabulary_size} tokens, special ones {info.special_token_ids}."
            )
    return replace(
        first,
        max_sequence_length=max(info.max_sequence_length for info in infos),
        shards=tuple(shard for info in infos for shard in info.shards),
        held_out=tuple(shard for info in infos for shard in info.held_out),
    )


def _with_whole_paths(info, folder):
    def whole(shards):
        return tuple(replace(shard, file=str(Path(folder) / shard.file)) for shard in shards)

    return replace(info, shards=whole(info.shards), held_out=whole(info.held_out))
