"""Pretraining examples in Google's layout: masked once, padded, one `tf.train.Example` a row.

Features, as `create_pretraining_data.py` of google-research/bert writes them and its `run_pretraining.py` reads them:
int64 `input_ids`, `input_mask`, `segment_ids` `[T]`, `masked_lm_positions`, `masked_lm_ids` `[P]`,
`next_sentence_labels` `[1]` (1 = random next), float `masked_lm_weights` `[P]`. The Model Garden reads these too, and
with `use_v2_feature_names` the same with `input_word_ids` and `input_type_ids` for the first and third.

Source: google-research/bert `create_pretraining_data.write_instance_to_example_files`; tensorflow/models
`official/nlp/data/pretrain_dataloader.py`, `BertPretrainDataLoader._name_to_features`.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from kbert.data.schema import NO_PAIR, PretrainingRow

# Ours -> theirs, and the Model Garden's second names.
_NAMES = {"token_ids": "input_ids", "padding_mask": "input_mask", "segment_ids": "segment_ids"}
_V2_NAMES = _NAMES | {"token_ids": "input_word_ids", "segment_ids": "input_type_ids"}


def write_google_records(paths: Sequence[str | Path], batches: Iterable, *, v2_names: bool = False) -> int:
    """Write batches to several files in turn, row by row, as Google's script does.

    A row that is not a pair has no `next_sentence_labels`: the Model Garden reads such rows with
    `use_next_sentence_label=False`, Google's own script does not read them.

    Args:
        paths: the files. Each exists only when all are complete.
        batches: of (inputs, targets, weights) as NumPy arrays, as `batch_spec` describes.
        v2_names: bool. True = `input_word_ids` and `input_type_ids`.
    Returns:
        int, the number of rows written.
    """
    names = _V2_NAMES if v2_names else _NAMES
    paths = [Path(path) for path in paths]
    partials = [path.with_name(path.name + ".partial") for path in paths]
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(tf.io.TFRecordWriter(str(partial))) for partial in partials]
        count = 0
        for writer, record in zip(itertools.cycle(writers), _records(batches, names), strict=False):
            writer.write(record)
            count += 1
    for partial, path in zip(partials, paths, strict=True):
        partial.replace(path)
    return count


def _records(batches, names) -> Iterator[bytes]:
    for inputs, targets, weights in batches:
        for row in range(len(targets["nsp"])):
            example = tf.train.Example()
            feature = example.features.feature
            for ours, theirs in names.items():
                feature[theirs].int64_list.value.extend(inputs[ours][row])
            feature["masked_lm_positions"].int64_list.value.extend(inputs["mask_positions"][row])
            feature["masked_lm_ids"].int64_list.value.extend(targets["mlm"][row])
            feature["masked_lm_weights"].float_list.value.extend(weights["mlm"][row])
            if weights["nsp"][row]:
                feature["next_sentence_labels"].int64_list.value.append(targets["nsp"][row])
            yield example.SerializeToString(deterministic=True)


def google_dataset(paths: str | Path | Sequence[str | Path], *, batch_size: int) -> tf.data.Dataset:
    """Read files in Google's layout as batches for `fit`, with the masks that were written.

    T and P are those of the first row. One pass in file order; shuffle and repeat as you like.

    Args:
        paths: TFRecord files, with either set of names.
        batch_size: int, B. The last batch may be smaller.
    Returns:
        `tf.data.Dataset` of `batch_spec(T, P)`.
    Raises:
        ValueError: no file, an empty first file, a first row that is something else or lacks a feature.
        tf.errors.InvalidArgumentError: while reading, a row of another layout or other lengths.
    """
    paths = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not paths:
        raise ValueError("`paths` must name a file. Received: paths=[].")
    names, length, slots = _first_row(paths[0])
    features = {theirs: tf.io.FixedLenFeature([length], tf.int64) for theirs in names.values()}
    features |= {name: tf.io.FixedLenFeature([slots], tf.int64) for name in ("masked_lm_positions", "masked_lm_ids")}
    features["masked_lm_weights"] = tf.io.FixedLenFeature([slots], tf.float32)
    features["next_sentence_labels"] = tf.io.FixedLenFeature([1], tf.int64, default_value=[NO_PAIR])

    def parse(records):
        row = tf.io.parse_example(records, features)
        integers = {name: tf.cast(value, tf.int32) for name, value in row.items() if value.dtype == tf.int64}
        inputs = {ours: integers[theirs] for ours, theirs in names.items()}
        inputs["mask_positions"] = integers["masked_lm_positions"]
        label = integers["next_sentence_labels"][:, 0]
        targets = {"mlm": integers["masked_lm_ids"], "nsp": tf.maximum(label, 0)}
        return inputs, targets, {"mlm": row["masked_lm_weights"], "nsp": tf.cast(label != NO_PAIR, tf.float32)}

    records = tf.data.TFRecordDataset(paths).batch(batch_size)
    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(tf.data.AUTOTUNE)


def read_google_rows(paths: str | Path | Sequence[str | Path]) -> Iterator[PretrainingRow]:
    """Yield the rows as they were before they were masked and padded, for `kbert.data.schema.write_shard`.

    Raises:
        ValueError: as `google_dataset`.
    """
    for inputs, targets, weights in google_dataset(paths, batch_size=1024).as_numpy_iterator():
        row, slot = np.nonzero(weights["mlm"])
        original = inputs["token_ids"].copy()
        original[row, inputs["mask_positions"][row, slot]] = targets["mlm"][row, slot]
        labels = np.where(weights["nsp"] > 0, targets["nsp"], NO_PAIR)
        lengths = inputs["padding_mask"].sum(axis=1)
        for token_ids, segment_ids, length, label in zip(original, inputs["segment_ids"], lengths, labels, strict=True):
            yield PretrainingRow(token_ids[:length], segment_ids[:length], int(label))


def padded_lengths(path: str | Path) -> tuple[int, int]:
    """Return (T, P), the tokens and the mask slots of a file's first row.

    Raises:
        ValueError: as `google_dataset`.
    """
    return _first_row(path)[1:]


def _first_row(path) -> tuple:
    """Return the names of a file's first row, T and P."""
    record = next(tf.data.TFRecordDataset(str(path)).as_numpy_iterator(), None)
    if record is None:
        raise ValueError(f"A file in Google's layout must have rows. Received: {path} without any.")
    try:
        feature = tf.train.Example.FromString(record).features.feature
    except DecodeError as error:
        raise ValueError(f"A row must be a tf.train.Example. Received: {path}: {error}.") from error
    names = _V2_NAMES if "input_word_ids" in feature else _NAMES
    wanted = {*names.values(), "masked_lm_positions", "masked_lm_ids", "masked_lm_weights"}
    if missing := sorted(wanted - set(feature)):
        raise ValueError(
            f"A row must have the features of Google's layout. Received: {path} without {', '.join(missing)}."
        )
    return names, *(len(feature[name].int64_list.value) for name in ("input_mask", "masked_lm_positions"))
