"""What a pretraining dataset is: feature names, types, shapes and checks, on disk and in a batch.

A dataset is a folder of TFRecord shards and one `dataset.json`. A shard holds rows that are packed
([CLS] first [SEP] second [SEP]) but neither masked nor padded: both happen while training reads them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

DATASET_FILE = "dataset.json"
NO_PAIR = -1  # The `is_random_next` of a row that is one text, not a pair.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class PretrainingRow(NamedTuple):
    """One packed row.

    Attributes:
        token_ids: ints `[T]`, [CLS] first [SEP] second [SEP].
        segment_ids: ints `[T]`, 0 = first sentence with [CLS] and its [SEP], 1 = second.
        is_random_next: bool or int, 1 = the second sentence is a random one, 0 = it follows the first, `NO_PAIR` = the
            row has no second sentence and teaches masked words only.
    """

    token_ids: Sequence[int]
    segment_ids: Sequence[int]
    is_random_next: int


ROW_FEATURES = {
    "token_ids": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "segment_ids": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "is_random_next": tf.io.FixedLenFeature([], tf.int64),
}
BATCH_FEATURES = ROW_FEATURES | {name: tf.io.RaggedFeature(tf.int64) for name in ("token_ids", "segment_ids")}


def batch_spec(max_sequence_length: int, mask_selection_length: int, batch_size: int | None = None) -> tuple:
    """Describe a training batch: (inputs, targets, weights), each a dict of `tf.TensorSpec`.

    Args:
        max_sequence_length: int, T.
        mask_selection_length: int, P.
        batch_size: int or None, B. None = free.
    Returns:
        inputs `token_ids`, `segment_ids`, `padding_mask` (1 = real token) int32 `[B, T]`, `mask_positions` int32
        `[B, P]`; targets `mlm` int32 `[B, P]`, `nsp` int32 `[B]` (1 = random next); weights `mlm` float32 `[B, P]`
        (1 = real slot), `nsp` float32 `[B]` (1 = a pair, 0 = no next-sentence label).
    """
    row = tf.TensorSpec([batch_size, max_sequence_length], tf.int32)
    slots = tf.TensorSpec([batch_size, mask_selection_length], tf.int32)
    inputs = {"token_ids": row, "segment_ids": row, "padding_mask": row, "mask_positions": slots}
    targets = {"mlm": slots, "nsp": tf.TensorSpec([batch_size], tf.int32)}
    weights = {name: tf.TensorSpec(target.shape, tf.float32) for name, target in targets.items()}
    return inputs, targets, weights


def write_shard(path: str | Path, rows: Iterable[PretrainingRow]) -> int:
    """Write rows to one TFRecord file that exists only when it is complete.

    Args:
        path: the file. A killed run leaves `<name>.partial` there, never half a shard.
        rows: iterable of `PretrainingRow`. Pass them through `check_rows` to refuse bad ones.
    Returns:
        int, the number of rows written.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    count = 0
    with tf.io.TFRecordWriter(str(partial)) as writer:
        for row in rows:
            writer.write(encode_row(row))
            count += 1
    partial.replace(path)
    return count


def encode_row(row: PretrainingRow) -> bytes:
    """Return the record that `parse_row` decodes."""
    # Filling the message in place is more than twice as fast as building it from nested constructors.
    example = tf.train.Example()
    feature = example.features.feature
    feature["token_ids"].int64_list.value.extend(row.token_ids)
    feature["segment_ids"].int64_list.value.extend(row.segment_ids)
    feature["is_random_next"].int64_list.value.append(int(row.is_random_next))
    return example.SerializeToString(deterministic=True)  # Protobuf writes a map in an order of its own each run.


def parse_row(record: tf.Tensor) -> dict[str, tf.Tensor]:
    """Decode one record (string `[]`) to int64 `token_ids` `[T]`, `segment_ids` `[T]`, `is_random_next` `[]`."""
    return tf.io.parse_single_example(record, ROW_FEATURES)


def parse_rows(records: tf.Tensor, max_sequence_length: int, pad_token_id: int) -> dict[str, tf.Tensor]:
    """Decode records to padded rows.

    Args:
        records: string `[B]`.
        max_sequence_length: int, T.
        pad_token_id: int, what stands behind the `token_ids` of a row; segment 0 does behind its `segment_ids`.
    Returns:
        int64 `token_ids` and `segment_ids` `[B, T]`, their `lengths` and `segment_lengths` `[B]` (of a row that is too
        long, though the rest of it is left out), `is_random_next` `[B]`.
    """
    rows = tf.io.parse_example(records, BATCH_FEATURES)
    shape = [None, max_sequence_length]
    return {
        "token_ids": rows["token_ids"].to_tensor(pad_token_id, shape=shape),
        "segment_ids": rows["segment_ids"].to_tensor(0, shape=shape),
        "lengths": rows["token_ids"].row_lengths(),
        "segment_lengths": rows["segment_ids"].row_lengths(),
        "is_random_next": rows["is_random_next"],
    }


def read_shard(path: str | Path) -> Iterator[PretrainingRow]:
    """Yield the rows of one shard as NumPy arrays, in the order of the file."""
    for row in tf.data.TFRecordDataset(str(path)).map(parse_row).as_numpy_iterator():
        yield PretrainingRow(row["token_ids"], row["segment_ids"], int(row["is_random_next"]))


def check_rows(
    rows: Iterable[PretrainingRow], *, vocabulary_size: int, max_sequence_length: int, shard: str
) -> Iterator[PretrainingRow]:
    """Pass rows through unchanged and refuse the first bad one.

    Args:
        rows: iterable of `PretrainingRow`.
        vocabulary_size: int, V. Ids must lie in [0, V).
        max_sequence_length: int, most tokens a row may have.
        shard: the name that errors give.
    Raises:
        TypeError: ids that are not integers.
        ValueError: an id or label out of range, a row empty or too long, two different lengths.
    """
    for number, row in enumerate(rows):
        place = f"shard={shard}, row={number}"
        lengths = len(row.token_ids), len(row.segment_ids)
        if not 1 <= lengths[0] <= max_sequence_length or lengths[0] != lengths[1]:
            raise ValueError(
                f"A row must have 1 to {max_sequence_length} `token_ids` and as many `segment_ids`. "
                f"Received: {lengths[0]} and {lengths[1]}, {place}."
            )
        _check_ids("token_ids", row.token_ids, vocabulary_size, place)
        _check_ids("segment_ids", row.segment_ids, 2, place)
        if row.is_random_next not in (0, 1, NO_PAIR):
            raise ValueError(f"`is_random_next` must be 0, 1 or {NO_PAIR}. Received: {row.is_random_next!r}, {place}.")
        yield row


def _check_ids(name: str, ids: Sequence[int], limit: int, place: str) -> None:
    array = np.asarray(ids)
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be integers. Received: dtype={array.dtype}, {place}.")
    if array.min() < 0 or array.max() >= limit:
        raise ValueError(f"`{name}` must lie in [0, {limit}). Received: {array.min()} to {array.max()}, {place}.")


def check_rows_in_graph(
    rows: dict[str, tf.Tensor], *, vocabulary_size: int, max_sequence_length: int, first_row: tf.Tensor
) -> None:
    """Stop the pipeline at a row that does not fit the model: an id out of range would become NaN on JAX.

    Args:
        rows: what `parse_rows` returns.
        vocabulary_size: int, V.
        max_sequence_length: int, T.
        first_row: int64 `[]`, the place of the first row in the stream, for the error.
    Raises:
        tf.errors.InvalidArgumentError: when the rows are read.
    """
    token_ids, segment_ids, lengths = rows["token_ids"], rows["segment_ids"], rows["lengths"]
    smallest, largest = tf.reduce_min(token_ids, axis=1), tf.reduce_max(token_ids, axis=1)
    fits = (smallest >= 0) & (largest < vocabulary_size) & (lengths >= 1) & (lengths <= max_sequence_length)
    fits &= (lengths == rows["segment_lengths"]) & tf.reduce_all((segment_ids >= 0) & (segment_ids < 2), axis=1)
    requirement = (
        f"A row must have 1 to {max_sequence_length} `token_ids` in [0, {vocabulary_size}), and as many `segment_ids` "
        "in [0, 2). `kbert.data.check_dataset` names the shard. Received: row number, smallest id, largest id, number "
        "of tokens ="
    )
    bad = tf.argmin(tf.cast(fits, tf.int32))
    row = tf.gather(token_ids, bad)[: tf.cast(lengths[bad], tf.int32)]
    found = first_row + bad, tf.reduce_min(row), tf.reduce_max(row), lengths[bad]
    tf.debugging.Assert(tf.reduce_all(fits), [requirement, *found])


@dataclass(frozen=True)
class PairingInfo:
    """How the documents of a shard become rows: the arguments of `make_sentence_pairs`."""

    max_sequence_length: int
    short_sequence_rate: float


@dataclass(frozen=True)
class ShardInfo:
    """One TFRecord file of a dataset: its name in the folder, its rows, its tokens with special ones.

    `pairing` None: the file holds these rows. Otherwise it holds documents, of which every epoch makes as many rows,
    other ones each time; `tokens` is then the number in one pairing.
    """

    file: str
    rows: int
    tokens: int
    pairing: PairingInfo | None = None

    def __post_init__(self):
        if isinstance(self.pairing, dict):
            object.__setattr__(self, "pairing", PairingInfo(**self.pairing))


@dataclass(frozen=True)
class DatasetInfo:
    """What `dataset.json` says about a folder of shards.

    Args:
        vocabulary_size: int, V. Every id lies in [0, V).
        max_sequence_length: int, most tokens of a row.
        seed: int, the seed that the dataset was made with.
        shards: tuple of `ShardInfo`, the training rows.
        held_out: tuple of `ShardInfo`, rows that are never trained on. May be empty.
        special_token_ids: dict from "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" to their ids.
    """

    vocabulary_size: int
    max_sequence_length: int
    seed: int
    shards: tuple[ShardInfo, ...]
    held_out: tuple[ShardInfo, ...]
    special_token_ids: dict[str, int]

    @classmethod
    def from_folder(cls, folder: str | Path) -> "DatasetInfo":
        """Read `dataset.json` of a folder and check that every shard is there.

        Raises:
            FileNotFoundError: no `dataset.json`, or a shard that it names is missing.
            ValueError: missing or unknown keys, or a missing special token.
        """
        path = Path(folder) / DATASET_FILE
        if not path.is_file():
            raise FileNotFoundError(f"`folder` must hold {DATASET_FILE}. Received: folder={folder}. Prepare it first.")
        values = _with_exact_keys(json.loads(path.read_text("utf-8")), cls, path)
        for split in ("shards", "held_out"):
            values[split] = tuple(ShardInfo(**_with_exact_keys(shard, ShardInfo, path)) for shard in values[split])
        info = cls(**values)
        absent = [token for token in SPECIAL_TOKENS if token not in info.special_token_ids]
        if absent:
            raise ValueError(f"`special_token_ids` must name {SPECIAL_TOKENS}. Received: {path} without {absent}.")
        for shard in (*info.shards, *info.held_out):
            if not (Path(folder) / shard.file).is_file():
                raise FileNotFoundError(f"Every shard of {path} must exist. Received: {shard.file} is missing.")
        return info

    def write(self, folder: str | Path) -> None:
        """Write `dataset.json` into a folder, whole or not at all."""
        path = Path(folder) / DATASET_FILE
        partial = path.with_name(path.name + ".partial")
        values = asdict(self, dict_factory=lambda items: {key: value for key, value in items if value is not None})
        partial.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
        partial.replace(path)


def _with_exact_keys(values: dict, kind: type, path: Path) -> dict:
    expected = {field.name for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is MISSING}
    if not required <= set(values) <= expected:
        raise ValueError(
            f"{path} must hold the keys of {kind.__name__}, no more, no fewer. Received: "
            f"missing={sorted(required - set(values))}, unknown={sorted(set(values) - expected)}."
        )
    return values
