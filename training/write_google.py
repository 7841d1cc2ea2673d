"""Write prepared shards in Google's layout: examples that are masked once and for all.

    python -m training.write_google runs/shards --output runs/google/train --dupe_factor 10

run_pretraining.py of google-research/bert and the Model Garden read the files. Each row comes --dupe_factor times, each
time masked another way. Its copies are one pair of sentences, the one that training/prepare.py made; for other pairs
prepare with another --seed. To train with training/pretrain.py none of this is needed: it masks anew every epoch.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import pathlib

import tensorflow as tf

from kbert.data.google_records import write_google_records
from kbert.data.mixture import mixed_datasets
from kbert.data.pipelines import pretraining_dataset
from training.arguments import one_line_errors, parse, setting

ROWS_AT_ONCE = 512
MASKING = (
    "mask_selection_length", "mask_selection_rate", "mask_token_rate", "random_token_rate", "whole_words", "seed",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    data: tuple = setting(text="folders that training/prepare.py wrote, with one vocabulary; their rows are mixed")
    output: str = setting("runs/google/train", "start of the files' names: -00000-of-00001.tfrecord follows")
    files: int = setting(1, "files; rows go to each in turn")
    split: str = setting("train", "held_out: those rows, once each", choices=("train", "held_out"))
    dupe_factor: int = setting(10, "copies of each training row")
    mask_selection_length: int = setting(20, "mask slots a row, max_predictions_per_seq: 20 for 128 tokens, 77 for 512")
    mask_selection_rate: float = setting(0.15, "share of the tokens that is selected, masked_lm_prob")
    mask_token_rate: float = setting(0.8, "share of the selected that becomes [MASK]")
    random_token_rate: float = setting(0.1, "share of the selected that becomes a random token; the rest stays")
    whole_words: bool = setting(False, "select all pieces of a word or none, do_whole_word_mask")
    v2_names: bool = setting(False, "the Model Garden's names, input_word_ids and input_type_ids")
    seed: int = setting(12345, "of masks and order")


def main(argv=None):
    """Write the files and return the number of rows."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        for name in ("files", "dupe_factor"):
            if getattr(settings, name) < 1:
                raise ValueError(f"--{name} must be at least 1. Received: --{name} {getattr(settings, name)}.")
        return _write(settings)


def _write(settings):
    info = mixed_datasets(settings.data)
    is_training = settings.split == "train"
    rows = sum(shard.rows for shard in (info.shards if is_training else info.held_out))
    rows *= settings.dupe_factor if is_training else 1
    masking = {name: getattr(settings, name) for name in MASKING}
    dataset = pretraining_dataset(settings.data, batch_size=ROWS_AT_ONCE, split=settings.split, **masking)
    first = pathlib.Path(settings.output)
    first.parent.mkdir(parents=True, exist_ok=True)
    paths = [
        first.with_name(f"{first.name}-{number:05d}-of-{settings.files:05d}.tfrecord")
        for number in range(settings.files)
    ]
    count = write_google_records(paths, _first_rows(dataset, rows), v2_names=settings.v2_names)
    print(f"{count:,} rows of {info.max_sequence_length} tokens in {settings.files} files, {paths[0]} the first")
    return count


def _first_rows(dataset, rows):
    """Yield the batches of a dataset as NumPy arrays, up to a number of rows."""
    for batch in dataset.as_numpy_iterator():
        yield tf.nest.map_structure(lambda array, rows=rows: array[:rows], batch)
        rows -= ROWS_AT_ONCE
        if rows <= 0:
            return


if __name__ == "__main__":
    main()
