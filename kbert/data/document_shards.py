"""Shards of whole documents: their sentences are paired anew every epoch, while training reads them."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.data.schema import PretrainingRow, ShardInfo, encode_row
from kbert.data.sentence_pairs import Document, make_sentence_pairs, pack


def write_documents(path: str | Path, documents: Iterable[Document]) -> None:
    """Write documents to one TFRecord file that exists only when it is complete.

    Args:
        path: the file. A killed run leaves `<name>.partial` there.
        documents: documents -> sentences -> token ids. Empty sentences and documents are left out.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    with tf.io.TFRecordWriter(str(partial)) as writer:
        for document in documents:
            sentences = [sentence for sentence in document if sentence]
            if sentences:
                example = tf.train.Example()
                feature = example.features.feature
                feature["token_ids"].int64_list.value.extend(itertools.chain.from_iterable(sentences))
                feature["sentence_lengths"].int64_list.value.extend(map(len, sentences))
                writer.write(example.SerializeToString(deterministic=True))
    partial.replace(path)


def read_documents(path: str | Path) -> list[Document]:
    """Return the documents of one shard, in the order of the file."""
    documents = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature
        token_ids = iter(feature["token_ids"].int64_list.value)
        lengths = feature["sentence_lengths"].int64_list.value
        documents.append([list(itertools.islice(token_ids, length)) for length in lengths])
    return documents


def pair_documents(
    shard: ShardInfo, special_token_ids: dict[str, int], draw: Sequence[int], num_rows: int | None = None
) -> list[PretrainingRow]:
    """Pair the sentences of a shard's documents, which come in an order drawn anew.

    Pairings differ a little in their number of rows. An epoch takes as many as the first one gave, so that a step
    stands for a known place in the data: the last few pairs are left out, or the first few of one more pairing added.

    Args:
        shard: `ShardInfo` with `pairing`; its `file` is a path.
        special_token_ids: dict with "[CLS]" and "[SEP]".
        draw: ints, the seed of order and pairs.
        num_rows: int or None. None: one pairing, whole.
    Returns:
        list of `PretrainingRow`.
    """
    rng = np.random.default_rng(draw)
    documents = read_documents(shard.file)

    def pairing():
        pairs = make_sentence_pairs(
            [documents[index] for index in rng.permutation(len(documents))],
            max_sequence_length=shard.pairing.max_sequence_length,
            rng=rng,
            short_sequence_rate=shard.pairing.short_sequence_rate,
        )
        for pair in pairs:
            yield PretrainingRow(
                *pack(pair, special_token_ids["[CLS]"], special_token_ids["[SEP]"]), pair.is_random_next
            )

    if num_rows is None:
        return list(pairing())
    endless = itertools.chain.from_iterable(pairing() for _ in itertools.count())
    return list(itertools.islice(endless, num_rows))


def records_of_shards(shards: Sequence[ShardInfo], special_token_ids: dict[str, int], seed: int, epoch: tf.Tensor):
    """Return a function that reads one shard by its number, whichever kind it is, for `tf.data.Dataset.interleave`.

    Args:
        shards: `ShardInfo`s whose `file` is a path.
        special_token_ids: dict with "[CLS]" and "[SEP]".
        seed: int, of the pairs, with epoch and shard.
        epoch: int64 `[]`.
    Returns:
        function from int64 `[]` to a `tf.data.Dataset` of string `[]`, records that `parse_row` decodes.
    """
    files = tf.constant([shard.file for shard in shards])
    holds_rows = tf.constant([shard.pairing is None for shard in shards])

    def pair(number, epoch):
        shard = shards[number]
        if shard.pairing is None:
            return np.array([], object)
        rows = pair_documents(shard, special_token_ids, [seed, int(epoch), int(number)], shard.rows)
        return np.array([encode_row(row) for row in rows], object)

    def read(number):
        of_rows = tf.data.TFRecordDataset(tf.boolean_mask([files[number]], [holds_rows[number]]))
        paired = tf.ensure_shape(tf.numpy_function(pair, [number, epoch], tf.string), [None])
        return of_rows.concatenate(tf.data.Dataset.from_tensor_slices(paired))

    return read
