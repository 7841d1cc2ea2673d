"""Turn pretraining examples in Google's layout into shards that training/pretrain.py reads.

    python -m training.read_google "theirs/*.tfrecord" --vocabulary vocab.txt --output runs/shards

Reads what create_pretraining_data.py of google-research/bert or of the Model Garden wrote. Masks and padding are taken
off again, and training masks anew every epoch. Copies of one row (dupe_factor) stay copies. To train on the masks as
they were written, give `kbert.data.google_records.google_dataset` to `fit`.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import pathlib

from kbert.convert.tokenizer_fit import check_case
from kbert.data.google_records import padded_lengths, read_google_rows
from kbert.data.schema import DATASET_FILE, DatasetInfo, ShardInfo, check_rows, write_shard
from kbert.text.corpora import find_corpus_files
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import one_line_errors, parse, setting


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    records: tuple = setting(text="TFRecord files, folders or glob patterns; each file becomes a shard")
    held_out: tuple = setting(None, "files that are never trained on")
    vocabulary: str = setting(None, "vocab.txt that the examples were made with, or a checkpoint folder with one")
    cased: bool = setting(False, "upper case and accents were kept (with a vocab.txt; a folder says it itself)")
    keep_accents: bool = setting(False, "accents were kept, as with whole Hangul syllables in the vocabulary")
    output: str = setting("runs/shards", "folder of the shards; must not hold a dataset yet")


def main(argv=None):
    """Write the shards and return the `DatasetInfo`."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        return _convert(settings)


def _convert(settings):
    output = pathlib.Path(settings.output)
    if (output / DATASET_FILE).exists():
        raise ValueError(
            f"--output must not hold a dataset yet. Received: {output}. Choose another folder, or delete it."
        )
    if settings.vocabulary is None:
        raise ValueError("--vocabulary must be given: the vocab.txt of the examples, or a checkpoint folder with it.")
    if pathlib.Path(settings.vocabulary).is_dir():
        tokenizer = WordPieceTokenizer.from_folder(settings.vocabulary)
    else:
        tokenizer = WordPieceTokenizer.from_vocabulary_file(
            settings.vocabulary, not settings.cased, settings.keep_accents
        )
        check_case(tokenizer, settings.vocabulary, "--cased is for a vocabulary with capitals, and for no other.")
    files = {"train": find_corpus_files(settings.records), "held_out": find_corpus_files(settings.held_out or ())}
    max_sequence_length = max(padded_lengths(file)[0] for split in files.values() for file in split)
    limits = {"vocabulary_size": tokenizer.vocabulary_size, "max_sequence_length": max_sequence_length}
    tokenizer.save(output)
    shards = {
        split: tuple(
            _shard(file, output / f"{split}-{number:05d}.tfrecord", limits) for number, file in enumerate(found)
        )
        for split, found in files.items()
    }
    info = DatasetInfo(
        **limits,
        seed=0,
        shards=shards["train"],
        held_out=shards["held_out"],
        special_token_ids=tokenizer.special_token_ids,
    )
    info.write(output)
    for split, found in shards.items():
        print(f"{split:<10}{len(found):>6} shards {sum(shard.rows for shard in found):>12,} rows")
    return info


def _shard(file, path, limits):
    tokens = 0

    def counted():
        nonlocal tokens
        for row in check_rows(read_google_rows(file), **limits, shard=str(file)):
            tokens += len(row.token_ids)
            yield row

    rows = write_shard(path, counted())
    return ShardInfo(path.name, rows, tokens)


if __name__ == "__main__":
    main()
