"""Google's record layout, out and in: the features as published, and rows that are the same on both sides."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from conftest import once_on_torch
from test_training import command, make_data

from kbert.data.google_records import google_dataset, padded_lengths, read_google_rows, write_google_records
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, PretrainingRow, batch_spec, read_shard
from training import pretrain, read_google, write_google

pytestmark = once_on_torch

T, P = 29, 5
PAD, CLS, SEP, MASK = 0, 2, 3, 4


def google_features(length, slots):
    """As `run_pretraining.input_fn_builder` of google-research/bert declares them."""
    row, slot = ((tf.io.FixedLenFeature([size], tf.int64)) for size in (length, slots))
    return {
        "input_ids": row,
        "input_mask": row,
        "segment_ids": row,
        "masked_lm_positions": slot,
        "masked_lm_ids": slot,
        "masked_lm_weights": tf.io.FixedLenFeature([slots], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }


def model_garden_features(length, slots):
    """As `BertPretrainDataLoader._name_to_features` declares them with `use_v2_feature_names`."""
    features = google_features(length, slots)
    return features | {"input_word_ids": features.pop("input_ids"), "input_type_ids": features.pop("segment_ids")}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


def batches_of(data, count, **settings):
    dataset = pretraining_dataset(data, batch_size=4, mask_selection_length=P, **settings)
    return list(dataset.take(count).as_numpy_iterator())


def joined(batches):
    return tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *batches)


def records_of(*paths):
    return [list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) for path in paths]


@pytest.mark.parametrize("v2_names", [False, True])
def test_the_readers_of_others_read_what_is_written(data, tmp_path, v2_names):
    batches = batches_of(data, 3)
    path = tmp_path / "rows.tfrecord"
    assert write_google_records([path], batches, v2_names=v2_names) == 12
    (records,) = records_of(path)
    features = (model_garden_features if v2_names else google_features)(T, P)
    found = {name: value.numpy() for name, value in tf.io.parse_example(records, features).items()}
    for record in records:
        assert set(tf.train.Example.FromString(record).features.feature) == set(features)
    inputs, targets, weights = joined(batches)
    ids, segments = ("input_word_ids", "input_type_ids") if v2_names else ("input_ids", "segment_ids")
    for name, expected in (
        (ids, inputs["token_ids"]),
        ("input_mask", inputs["padding_mask"]),
        (segments, inputs["segment_ids"]),
        ("masked_lm_positions", inputs["mask_positions"]),
        ("masked_lm_ids", targets["mlm"]),
        ("masked_lm_weights", weights["mlm"]),
        ("next_sentence_labels", targets["nsp"][:, None]),
    ):
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
    assert 0 < weights["mlm"].mean() < 1 and 0 < inputs["padding_mask"].mean() < 1


def by_hand(ids="input_ids", segments="segment_ids"):
    """An example as `write_instance_to_example_files` writes it: [CLS] a ##b [SEP] c d [SEP] + 2, two masks + 1."""

    def integers(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {
        ids: integers(CLS, 11, MASK, SEP, 13, 27, SEP, PAD, PAD),
        "input_mask": integers(1, 1, 1, 1, 1, 1, 1, 0, 0),
        segments: integers(0, 0, 0, 0, 1, 1, 1, 0, 0),
        "masked_lm_positions": integers(2, 5, 0),
        "masked_lm_ids": integers(12, 14, 0),
        "masked_lm_weights": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 1, 0])),
        "next_sentence_labels": integers(1),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def write_examples(path, *examples):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for example in examples:
            writer.write(example.SerializeToString())
    return path


@pytest.mark.parametrize("names", [(), ("input_word_ids", "input_type_ids")])
def test_their_examples_as_batches_and_as_rows(tmp_path, names):
    path = write_examples(tmp_path / "theirs", by_hand(*names), by_hand(*names))
    assert padded_lengths(path) == (9, 3)
    dataset = google_dataset(path, batch_size=2)
    tf.nest.map_structure(
        lambda spec, expected: spec.is_compatible_with(expected) or pytest.fail(f"{spec} {expected}"),
        dataset.element_spec,
        batch_spec(9, 3),
    )
    ((inputs, targets, weights),) = dataset.as_numpy_iterator()
    expected = {
        "token_ids": [CLS, 11, MASK, SEP, 13, 27, SEP, PAD, PAD],
        "segment_ids": [0, 0, 0, 0, 1, 1, 1, 0, 0],
        "padding_mask": [1, 1, 1, 1, 1, 1, 1, 0, 0],
        "mask_positions": [2, 5, 0],
    }
    assert {name: value.tolist() for name, value in inputs.items()} == {name: [v] * 2 for name, v in expected.items()}
    assert {name: value.tolist() for name, value in targets.items()} == {"mlm": [[12, 14, 0]] * 2, "nsp": [1, 1]}
    assert {name: value.tolist() for name, value in weights.items()} == {"mlm": [[1, 1, 0]] * 2, "nsp": [1, 1]}
    row, _ = read_google_rows(path)
    assert row.token_ids.tolist() == [CLS, 11, 12, SEP, 13, 14, SEP]
    assert row.segment_ids.tolist() == [0, 0, 0, 0, 1, 1, 1] and row.is_random_next == 1


def test_rows_without_a_pair_have_no_label(tmp_path):
    example = by_hand()
    del example.features.feature["next_sentence_labels"]
    path = write_examples(tmp_path / "theirs", example)
    batches = list(google_dataset(path, batch_size=2).as_numpy_iterator())
    assert batches[0][2]["nsp"].tolist() == [0]
    assert next(read_google_rows(path)).is_random_next == -1
    write_google_records([tmp_path / "ours"], batches)
    ((record,),) = records_of(tmp_path / "ours")
    assert tf.train.Example.FromString(record) == example


def rows_of(data, split="shards"):
    shards = getattr(DatasetInfo.from_folder(data), split)
    return [row for shard in shards for row in read_shard(data / shard.file)]


def as_key(row):
    return tuple(row.token_ids), tuple(row.segment_ids), int(row.is_random_next)


def test_each_row_comes_dupe_factor_times_with_other_masks(data, tmp_path):
    flags = ["--files", "3", "--dupe_factor", "4", "--mask_selection_length", str(P)]
    count = write_google.main([str(data), "--output", str(tmp_path / "out" / "train"), *flags])
    paths = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in paths] == [f"train-0000{n}-of-00003.tfrecord" for n in range(3)]
    rows = [row for path in paths for row in read_google_rows(path)]
    assert len(rows) == count == 4 * len(rows_of(data))
    assert collections.Counter(map(as_key, rows)) == collections.Counter(map(as_key, 4 * rows_of(data)))
    sizes = [len(records) for records in records_of(*paths)]
    assert max(sizes) - min(sizes) <= 1
    records = [record for found in records_of(*paths) for record in found]
    # Short rows have few ways to be masked, so some copies agree by chance.
    assert len(set(records)) > 0.9 * len(records)
    again = write_google.main([str(data), "--output", str(tmp_path / "again" / "train"), *flags])
    assert again == count and records_of(*sorted((tmp_path / "again").iterdir())) == records_of(*paths)


def test_held_out_rows_are_written_once(data, tmp_path):
    write_google.main([str(data), "--output", str(tmp_path / "eval"), "--split", "held_out", "--v2_names"])
    (path,) = tmp_path.iterdir()
    assert [as_key(row) for row in read_google_rows(path)] == [as_key(row) for row in rows_of(data, "held_out")]


def test_their_files_become_shards_that_a_run_trains_on(data, tmp_path):
    flags = ["--dupe_factor", "2", "--files", "2", "--mask_selection_length", "7"]
    write_google.main([str(data), "--output", str(tmp_path / "theirs" / "train"), *flags])
    write_google.main([str(data), "--output", str(tmp_path / "eval"), "--split", "held_out"])
    arguments = [str(tmp_path / "theirs"), "--held_out", str(tmp_path / "eval-00000-of-00001.tfrecord")]
    arguments += ["--vocabulary", str(data), "--output", str(tmp_path / "shards")]
    info = read_google.main(arguments)
    assert info == DatasetInfo.from_folder(tmp_path / "shards")
    original = DatasetInfo.from_folder(data)
    assert (info.vocabulary_size, info.max_sequence_length) == (original.vocabulary_size, T)
    for name in ("rows", "tokens"):
        ours, theirs = ([getattr(shard, name) for shard in found.shards] for found in (info, original))
        assert len(ours) == 2 and sum(ours) == 2 * sum(theirs)
    rows = rows_of(tmp_path / "shards")
    assert isinstance(rows[0], PretrainingRow)
    assert collections.Counter(map(as_key, rows)) == collections.Counter(map(as_key, 2 * rows_of(data)))
    result = pretrain.main(command(tmp_path / "shards", tmp_path / "run", steps=1, batch_size=2))
    assert 0 < result["loss"] < 10
    with pytest.raises(SystemExit, match="--output must not hold a dataset yet"):
        read_google.main(arguments)


def test_what_is_no_record_of_this_layout_is_refused(data, tmp_path):
    empty = write_examples(tmp_path / "empty")
    lacking = by_hand()
    del lacking.features.feature["masked_lm_ids"]
    del lacking.features.feature["segment_ids"]
    lacking = write_examples(tmp_path / "lacking", lacking)
    text = tmp_path / "text"
    with tf.io.TFRecordWriter(str(text)) as writer:
        writer.write(b"no example")
    for paths, message in (
        ([], r"`paths` must name a file. Received: paths=\[\]"),
        (empty, "must have rows. Received: .*empty without any"),
        (lacking, "features of Google's layout. Received: .*lacking without masked_lm_ids, segment_ids"),
        (text, "must be a tf.train.Example. Received: .*text: "),
        (data / "train-00000.tfrecord", "Received: .*without input_ids, input_mask, masked_lm_ids"),
    ):
        with pytest.raises(ValueError, match=message):
            google_dataset(paths, batch_size=2)
    other = by_hand()
    other.features.feature["masked_lm_ids"].int64_list.value.append(7)
    mixed = write_examples(tmp_path / "mixed", by_hand(), other)
    with pytest.raises(tf.errors.InvalidArgumentError, match="masked_lm_ids"):
        list(read_google_rows(mixed))


@pytest.mark.parametrize(
    ("script", "changes", "message"),
    [
        (write_google, ["--files", "0"], "--files must be at least 1. Received: --files 0"),
        (write_google, ["--dupe_factor", "0"], "--dupe_factor must be at least 1. Received: --dupe_factor 0"),
        (read_google, [], "--vocabulary must be given"),
    ],
)
def test_impossible_settings_are_refused(data, tmp_path, script, changes, message):
    with pytest.raises(SystemExit, match=message):
        script.main([str(data), "--output", str(tmp_path / "out"), *changes])


def test_ids_outside_the_vocabulary_are_refused(tmp_path):
    path = write_examples(tmp_path / "theirs.tfrecord", by_hand())
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]) + "\n")
    arguments = [str(path), "--vocabulary", str(vocabulary), "--output", str(tmp_path / "shards")]
    with pytest.raises(SystemExit, match=r"`token_ids` must lie in \[0, 13\). Received: 2 to 14, shard=.*theirs"):
        read_google.main(arguments)
    assert not (tmp_path / "shards" / "dataset.json").exists()
