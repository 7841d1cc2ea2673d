"""The preparation of a corpus as an Apache Beam pipeline, for corpora past one machine.

The same blocks as on one machine: duplicates are dropped and documents put together in the order of the corpus, so that
each block has its number, and draws from it what it would draw there. Texts are shuffled twice, to find duplicates and
to bring the documents of a block together. In one place there is never more than the table from which the blocks are
planned, 32 bytes a document. How a document is read and what becomes of a block is not said here: the functions of the
tool for one machine are passed in.
"""

import array
import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apache_beam as beam
import numpy as np

from kbert.data.blocks import blocks_of
from kbert.text.corpora import Document
from kbert.text.duplicates import text_digest


def make_blocks(
    pipeline: beam.Pipeline,
    files: Sequence[str],
    *,
    read: Callable[[str], Iterable[Document]],
    split_of: Callable[[Document], str],
    splits: Sequence[str],
    block_characters: int,
    open_worker: Callable[[], Callable[[str, int, list[str]], Any]],
) -> tuple[beam.PCollection, beam.PCollection]:
    """Add to a pipeline what turns files into finished blocks.

    Args:
        pipeline: `beam.Pipeline`.
        files: paths that every worker can read, in the order of the corpus. Each is read by one worker.
        read: function from a path to its documents, in order.
        split_of: function from a document to its split.
        splits: all splits there are.
        block_characters: int, as in `blocks_of`.
        open_worker: called once by every worker; returns the function that is called with each block (split, number,
            texts) and leaves its result where it can be found. Beam may call it twice with the same block.
    Returns:
        PCollections of ints: the blocks' numbers, and one number, how many documents were duplicates.
    """
    documents = (
        pipeline
        | "files" >> beam.Create(list(enumerate(map(str, files))))
        | "one a worker" >> beam.Reshuffle()
        | "read" >> beam.FlatMap(_numbered, read)
    )
    unique = documents | "keep the first of each text" >> beam.CombinePerKey(_FirstOf()) | beam.Values()
    table = unique | "sizes" >> beam.Map(_size, split_of, splits) | "in one table" >> beam.CombineGlobally(_Table())
    first_places = table | "plan blocks" >> beam.Map(_first_places, splits, block_characters)
    blocks = (
        unique
        | "find the block" >> beam.Map(_in_block, split_of, beam.pvalue.AsSingleton(first_places))
        | "bring together" >> beam.GroupByKey()
        | "finish" >> beam.ParDo(_Finish(open_worker))
    )
    read_in_all = documents | "count" >> beam.combiners.Count.Globally()
    num_duplicates = table | "duplicates" >> beam.Map(
        lambda rows, count: count - len(rows), beam.pvalue.AsSingleton(read_in_all)
    )
    return blocks, num_duplicates


def _numbered(file, read):
    """Yield (digest of the text, (place in the corpus, document)). The place, (file, number), orders documents."""
    file_number, path = file
    for number, document in enumerate(read(path)):
        yield text_digest(document), ((file_number, number), document)


class _FirstOf(beam.CombineFn):
    """The document with the first place. Combined where they are read, so copies are not sent round."""

    def create_accumulator(self):
        return None

    def add_input(self, accumulator, placed):
        return placed if accumulator is None or placed[0] < accumulator[0] else accumulator

    def merge_accumulators(self, accumulators):
        return min((found for found in accumulators if found is not None), key=lambda placed: placed[0], default=None)

    def extract_output(self, accumulator):
        return accumulator


def _size(placed, split_of, splits):
    place, document = placed
    return *place, splits.index(split_of(document)), len(document.text)


class _Table(beam.CombineFn):
    """All rows of four numbers as int64 `[documents, 4]`, in the order of the corpus."""

    def create_accumulator(self):
        return array.array("q")

    def add_input(self, accumulator, row):
        accumulator.extend(row)
        return accumulator

    def merge_accumulators(self, accumulators):
        merged = array.array("q")
        for accumulator in accumulators:
            merged.extend(accumulator)
        return merged

    def extract_output(self, accumulator):
        rows = np.frombuffer(accumulator, np.int64).reshape(-1, 4)
        return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _first_places(rows, splits, block_characters):
    """Return the place of the first document of each block, in order, for each split."""
    places = {split: [] for split in splits}
    documents = ((splits[split], size, (file, number)) for file, number, split, size in map(tuple, rows.tolist()))
    for split, _, block in blocks_of(documents, block_characters):
        places[split].append(block[0])
    return places


def _in_block(placed, split_of, first_places):
    place, document = placed
    split = split_of(document)
    return (split, bisect.bisect_right(first_places[split], place) - 1), (place, document.text)


class _Finish(beam.DoFn):
    """Hand each block, its documents in order, to a worker's function."""

    def __init__(self, open_worker):
        self._open_worker = open_worker

    def setup(self):
        self._finish = self._open_worker()

    def process(self, element):
        (split, number), placed = element
        self._finish(split, number, [text for _, text in sorted(placed)])
        yield number
