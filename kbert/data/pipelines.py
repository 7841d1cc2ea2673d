"""Shards -> batches of (inputs, targets, weights), masked anew every epoch.

The order is: interleave files, shuffle records, skip what was seen, parse and mask, pad and batch, prefetch. Records
are shuffled and skipped while they are still serialised, because that is cheap.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.data.document_shards import records_of_shards
from kbert.data.masking import mask_tokens
from kbert.data.mixture import mixed_datasets
from kbert.data.schema import NO_PAIR, DatasetInfo, ShardInfo, batch_spec, check_rows_in_graph, parse_rows
from kbert.data.whole_words import read_continuations

FILES_AT_ONCE = 16
RECORDS_A_TURN = 16


def pretraining_dataset(
    folders: str | Path | Sequence[str | Path],
    *,
    batch_size: int,
    mask_selection_length: int = 20,
    mask_selection_rate: float = 0.15,
    mask_token_rate: float = 0.8,
    random_token_rate: float = 0.1,
    whole_words: bool = False,
    seed: int = 0,
    start_step: int = 0,
    num_processes: int = 1,
    process_id: int = 0,
    split: str = "train",
    shuffle_buffer: int = 16384,
    max_sequence_length: int | None = None,
) -> tf.data.Dataset:
    """Read dataset folders as batches for masked words and next-sentence prediction.

    `split="train"` is endless. Epoch e reads the files in an order, shuffles the records, and pairs the sentences of
    shards that hold documents, by (seed, e); the masks of row i of the endless stream are drawn from (seed, i).
    `split="held_out"` is one pass in file order with fixed masks; its last batch may be smaller.

    Args:
        folders: the folder with `dataset.json`, or several, whose rows are mixed.
        batch_size: int, B, rows of all processes together.
        mask_selection_length: int, P, mask slots of a row.
        mask_selection_rate, mask_token_rate, random_token_rate: see `mask_tokens`.
        whole_words: bool. True = hide all pieces of a word or none; the first folder must hold `vocab.txt`.
        seed: int, the only source of randomness.
        start_step: int, steps already taken: the first batch is the one an uninterrupted run would see then.
        num_processes: int, processes that share each training batch; divides `batch_size`.
        process_id: int in [0, num_processes). The batches are the rows [process_id, process_id + 1) * B / num_processes
            of those that one process would read; no other row is parsed or masked.
        split: "train" or "held_out".
        shuffle_buffer: int, records that are shuffled together, window by window.
        max_sequence_length: int, T, the padded length. Default: the dataset's.
    Returns:
        `tf.data.Dataset` of `batch_spec(T, P)`. Padding is [PAD], segment 0 and `padding_mask` 0.
    Raises:
        FileNotFoundError: `whole_words` without `vocab.txt`.
        ValueError: a value out of range, a split without rows.
        tf.errors.InvalidArgumentError: while reading, a row that does not fit (see `check_rows_in_graph`).
    Source: BERT paper, appendix A.1 and A.2; masks drawn while training rather than once, as in RoBERTa, section 4.1.
    """
    info = mixed_datasets(folders)
    max_sequence_length = info.max_sequence_length if max_sequence_length is None else max_sequence_length
    shards = _shards_of(info, split)
    _check_settings(info, shards, split, batch_size, start_step, shuffle_buffer, max_sequence_length)
    _check_processes(split, batch_size, num_processes, process_id)
    continues_word = _continuations(folders) if whole_words else None
    is_training = split == "train"
    first_row = start_step * batch_size
    if is_training:
        records = _endless_records(info, seed, first_row, shuffle_buffer)
    else:
        records = _records(_file_names(shards), shards, tf.data.TFRecordDataset)

    own_rows = batch_size // num_processes
    spec = batch_spec(max_sequence_length, mask_selection_length, own_rows if is_training else None)

    def prepare(number, records):
        rows = parse_rows(records, max_sequence_length, info.special_token_ids["[PAD]"])
        first = number * own_rows
        check_rows_in_graph(
            rows, vocabulary_size=info.vocabulary_size, max_sequence_length=max_sequence_length, first_row=first
        )
        lengths = tf.cast(rows["lengths"], tf.int32)
        masked = mask_tokens(
            rows["token_ids"],
            lengths,
            seed=seed,
            first_row=first,
            vocabulary_size=info.vocabulary_size,
            mask_token_id=info.special_token_ids["[MASK]"],
            special_token_ids=[info.special_token_ids[token] for token in ("[PAD]", "[CLS]", "[SEP]")],
            mask_selection_rate=mask_selection_rate,
            mask_selection_length=mask_selection_length,
            mask_token_rate=mask_token_rate,
            random_token_rate=random_token_rate,
            continues_word=continues_word,
        )
        batch = _example(rows, lengths, masked)
        return tf.nest.map_structure(lambda tensor, expected: tf.ensure_shape(tensor, expected.shape), batch, spec)

    # Every batch begins at a multiple of `own_rows`, so the turns of the processes fall where they should.
    batches = records.batch(own_rows, drop_remainder=is_training).enumerate(first_row // own_rows)
    if num_processes > 1:
        batches = batches.shard(num_processes, process_id)
    batches = batches.map(prepare, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return batches.prefetch(tf.data.AUTOTUNE)


def _endless_records(info, seed, first_row, shuffle_buffer) -> tf.data.Dataset:
    shards = info.shards
    first_epoch, rows_seen = divmod(first_row, sum(shard.rows for shard in shards))
    holds_documents = any(shard.pairing for shard in shards)
    names = tf.range(len(shards)) if holds_documents else _file_names(shards)

    def epoch(number):
        epoch_seed = tf.stack([tf.constant(seed, tf.int64), number])
        shuffled_names = tf.random.experimental.stateless_shuffle(names, epoch_seed)
        read = tf.data.TFRecordDataset
        if holds_documents:
            read = records_of_shards(shards, info.special_token_ids, seed, number)
        return _shuffle(_records(shuffled_names, shards, read), epoch_seed, shuffle_buffer)

    return tf.data.Dataset.counter(first_epoch).flat_map(epoch).skip(rows_seen)


def _records(names: tf.Tensor, shards: tuple[ShardInfo, ...], read) -> tf.data.Dataset:
    """Read every record of the shards once, a few from each of several in turn. `read` opens one by its name."""
    records = tf.data.Dataset.from_tensor_slices(names).interleave(
        read,
        cycle_length=FILES_AT_ONCE,
        block_length=RECORDS_A_TURN,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    # Resuming relies on the row counts of `dataset.json`: other rows in a shard are an error, not a shifted stream.
    return records.apply(tf.data.experimental.assert_cardinality(sum(shard.rows for shard in shards)))


def _shuffle(records: tf.data.Dataset, epoch_seed: tf.Tensor, shuffle_buffer: int) -> tf.data.Dataset:
    """Shuffle window by window. `Dataset.shuffle` would also depend on `tf.random.set_seed`."""

    def shuffle_window(number, window):
        seed = tf.random.fold_in(epoch_seed, number)
        return tf.data.Dataset.from_tensor_slices(tf.random.experimental.stateless_shuffle(window, seed))

    return records.batch(shuffle_buffer).enumerate().flat_map(shuffle_window)


def _example(rows: dict[str, tf.Tensor], lengths: tf.Tensor, masked: dict[str, tf.Tensor]) -> tuple:
    """Arrange rows as `batch_spec` says."""
    inputs = {
        "token_ids": masked["token_ids"],
        "segment_ids": tf.cast(rows["segment_ids"], tf.int32),
        "padding_mask": tf.cast(tf.range(rows["token_ids"].shape[1]) < lengths[:, None], tf.int32),
        "mask_positions": masked["mask_positions"],
    }
    is_random_next = tf.cast(rows["is_random_next"], tf.int32)
    targets = {"mlm": masked["mask_ids"], "nsp": tf.maximum(is_random_next, 0)}
    weights = {"mlm": masked["mask_weights"], "nsp": tf.cast(is_random_next != NO_PAIR, tf.float32)}
    return inputs, targets, weights


def _continuations(folders) -> np.ndarray:
    return read_continuations(folders if isinstance(folders, str | Path) else folders[0])


def _file_names(shards) -> tf.Tensor:
    return tf.constant([shard.file for shard in shards])


def _shards_of(info: DatasetInfo, split: str) -> tuple[ShardInfo, ...]:
    splits = {"train": info.shards, "held_out": info.held_out}
    if split not in splits:
        raise ValueError(f"`split` must be one of {sorted(splits)}. Received: split={split!r}.")
    return splits[split]


def _check_settings(info, shards, split, batch_size, start_step, shuffle_buffer, max_sequence_length):
    for name, value, least in (
        ("batch_size", batch_size, 1),
        ("start_step", start_step, 0),
        ("shuffle_buffer", shuffle_buffer, 1),
        ("max_sequence_length", max_sequence_length, info.max_sequence_length),
    ):
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}.")
    if start_step and split != "train":
        raise ValueError(f"`start_step` belongs to split='train'. Received: split={split!r}, start_step={start_step}.")
    if not any(shard.rows for shard in shards):
        raise ValueError(f"A split must have rows. Received: split={split!r} without any. Prepare more documents.")


def _check_processes(split, batch_size, num_processes, process_id):
    if not 0 <= process_id < num_processes or batch_size % num_processes:
        raise ValueError(
            "`num_processes` must divide `batch_size`, and `process_id` lie in [0, num_processes). "
            f"Received: num_processes={num_processes}, process_id={process_id}, batch_size={batch_size}."
        )
    if num_processes > 1 and split != "train":
        raise ValueError(
            f"`num_processes` belongs to split='train'. Received: split={split!r}, num_processes={num_processes}."
        )
