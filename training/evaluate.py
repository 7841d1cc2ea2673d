"""Measure a pretrained model on the held-out rows of datasets, each by itself.

    python -m training.evaluate kbert-small-en runs/wikipedia runs/books

For each dataset: masked-word accuracy and perplexity, and how often next-sentence prediction is right. The last column
is the hard case: the two halves of a true pair in the wrong order, of one document and one topic, where "random" is
right. The last line is one JSON object.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json

import numpy as np

from kbert.convert import load
from kbert.data.mixture import mixed_datasets
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import read_shard
from kbert.models import BertPretrainer
from training.arguments import one_line_errors, parse, setting
from training.environment import leave_gpus_to_backend
from training.pairs import has_pairs
from training.phases import check_folder
from training.pretrain_settings import PRECISIONS

COLUMNS = {
    "mlm_rows": "rows",
    "mlm_accuracy": "MLM acc.",
    "mlm_perplexity": "perplexity",
    "nsp_accuracy": "NSP acc.",
    "swapped_pairs": "pairs swapped",
    "swapped_accuracy": "acc.",
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="checkpoint folder or preset, with both heads")
    data: tuple = setting(text="folders that training/prepare.py wrote with the vocabulary of the checkpoint")
    precision: str = setting("float32", "mixed_bfloat16 where the processor has it", choices=PRECISIONS)
    batch_size: int = setting(64, "rows a batch")
    batches: int = setting(0, "held-out batches of each dataset; 0 for all")
    mask_selection_length: int = setting(20, "mask slots a row: 20 for 128 tokens, 77 for 512")


def main(argv=None):
    """Print a row a dataset; return the numbers by its folder."""
    settings = parse(Settings, argv, __doc__)
    leave_gpus_to_backend()
    with one_line_errors():
        model = _open_model(settings)
        print(f"{'':24}" + "".join(f"{title:>14}" for title in COLUMNS.values()))
        results = {}
        for folder in settings.data:
            results[folder] = measured = _measure(model, folder, settings)
            shown = (f"{value:,}" if isinstance(value, int) else f"{value:.4f}" for value in measured.values())
            print(f"{folder[-24:]:24}" + "".join(f"{value:>14}" for value in shown), flush=True)
    print(json.dumps(results))
    return results


def _open_model(settings):
    checkpoint = load(settings.checkpoint, dtype=settings.precision)
    absent = {*checkpoint.missing_parts} if isinstance(checkpoint.model, BertPretrainer) else {"mlm", "nsp"}
    if "mlm" in absent or (absent and has_pairs(settings.data)):
        raise ValueError(
            "A checkpoint to measure must have the head for masked words, and for pairs that for the next sentence. "
            f"Received: {settings.checkpoint} without {', '.join(sorted(absent))}."
        )
    for folder in settings.data:
        check_folder(folder, checkpoint.tokenizer, checkpoint.config, settings.checkpoint)
    checkpoint.model.compile()
    return checkpoint.model


def _measure(model, folder, settings):
    size = {"batch_size": settings.batch_size, "mask_selection_length": settings.mask_selection_length}
    batches = pretraining_dataset(folder, split="held_out", **size).take(settings.batches or -1)
    num_rows = sum(len(targets["nsp"]) for _, targets, _ in batches.as_numpy_iterator())
    measured = model.evaluate(batches, return_dict=True, verbose=0)
    found = {"mlm_rows": num_rows} | {name: measured[name] for name in list(COLUMNS)[1:4]}
    pairs = swapped_pairs(folder, num_rows)
    if not pairs:
        return {name: value for name, value in found.items() if name != "nsp_accuracy"}
    starts = range(0, len(pairs), settings.batch_size)
    says_random = np.concatenate([_says_random(model, pairs[start : start + settings.batch_size]) for start in starts])
    return found | {"swapped_pairs": len(pairs), "swapped_accuracy": float(says_random.mean())}


def swapped_pairs(folder, num_rows):
    """Return the true pairs among the first held-out rows of a dataset, each with its halves in the wrong order.

    Args:
        folder: with `dataset.json`.
        num_rows: int, rows looked at.

    Returns:
        list of (`token_ids`, `segment_ids`), two NumPy arrays of one length: [CLS] second [SEP] first [SEP].
    """
    info = mixed_datasets(folder)
    rows = (row for shard in info.held_out for row in read_shard(shard.file))
    swapped = []
    for _, row in zip(range(num_rows), rows, strict=False):
        if row.is_random_next == 0:
            cls, is_second = row.token_ids[:1], row.segment_ids == 1
            first, second = row.token_ids[1:][~is_second[1:]], row.token_ids[is_second]
            segments = np.repeat([0, 1], [1 + len(second), len(first)])
            swapped.append((np.concatenate([cls, second, first]), segments))
    return swapped


def _says_random(model, rows):
    length = max(len(token_ids) for token_ids, _ in rows)

    def padded(arrays):
        return np.stack([np.pad(array, (0, length - len(array))) for array in arrays]).astype("int32")

    token_ids, segment_ids = map(padded, zip(*rows, strict=True))
    inputs = {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": padded([np.ones(len(ids)) for ids, _ in rows]),
        "mask_positions": np.zeros((len(rows), 1), "int32"),
    }
    logits = model.predict_on_batch(inputs)["nsp"]
    return logits.argmax(-1) == 1


if __name__ == "__main__":
    main()
