"""Time kbert's batches of masked rows beside transformers' collator and KerasHub's mask generator, on one core each.

    python -m training.benchmark_pipeline runs/shards

Same rows for each, 15 % of their tokens selected, batches of token ids, segments, padding and masked places. kbert
reads them from the shards, shuffles, checks and masks them as in training. The peers get them as lists that are in
memory already: `DataCollatorForLanguageModeling`, with NumPy or with PyTorch, whichever is faster, and
`MaskedLMMaskGenerator` mapped over a tf.data of padded batches. Each runs in a process of its own, bound to one core.
Prints tokens a second, padding not counted, and as the last line one JSON object. Only ratios out of one run mean
anything: machines differ, and so does what else they do. Needs transformers, KerasHub and Linux' taskset.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import datetime
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import tensorflow as tf

from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, parse_rows
from training.arguments import one_line_errors, parse, setting

PEERS = ("kbert", "keras-hub", "transformers np", "transformers pt")
KEPT = ("[PAD]", "[CLS]", "[SEP]")  # Never selected.


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    data: str = setting(text="folder that training/prepare.py wrote")
    batch_size: int = setting(32, "rows a batch")
    mask_selection_length: int = setting(20, "mask slots a row: 20 for 128 tokens, 77 for 512")
    rows: int = setting(20_000, "rows of the shards that the peers get")
    seconds: float = setting(5.0, "that each is timed for, after a first second")
    only: str = setting(None, "run one of them in this process, as this script starts itself", choices=PEERS)


def main(argv=None):
    """Time all of them, print the table and the JSON line, and return the summary."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        info = DatasetInfo.from_folder(settings.data)
        if any(shard.pairing for shard in info.shards):
            raise ValueError(f"The shards must hold rows. Received: {settings.data}, prepared with --pair_anew.")
        if settings.only:
            print(json.dumps(_time(counts_of(settings, info), settings.seconds)))
            return None
    rows = {name: _run(settings, name) for name in PEERS}
    for name, tokens in rows.items():
        print(f"{name:16} {tokens:12,.0f} tokens/s  kbert / it {rows['kbert'] / tokens:6.2f}", flush=True)
    summary = {"date": datetime.date.today().isoformat(), "settings": dataclasses.asdict(settings), "rows": rows}
    print(json.dumps(summary))
    return summary


def _run(settings, name):
    command = ["taskset", "--cpu-list", "0", sys.executable, "-m", "training.benchmark_pipeline", settings.data]
    command += ["--only", name]
    for key in ("batch_size", "mask_selection_length", "rows", "seconds"):
        command += [f"--{key}", str(getattr(settings, key))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def _time(counts, seconds):
    """Return the tokens a second of an endless iterator of each batch's number of tokens."""
    start = time.perf_counter()
    while time.perf_counter() < start + min(1.0, seconds):  # Graphs are traced, buffers filled.
        next(counts)
    start, tokens = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        tokens += next(counts)
    return tokens / (time.perf_counter() - start)


def counts_of(settings, info):
    """Return an endless iterator over the batches of `settings.only`: the number of tokens in each."""
    return {"kbert": _kbert, "keras-hub": _keras_hub}.get(settings.only, _transformers)(settings, info)


def _kbert(settings, info):
    sizes = {"batch_size": settings.batch_size, "mask_selection_length": settings.mask_selection_length}
    for inputs, _, _ in pretraining_dataset(settings.data, **sizes):
        yield int(tf.reduce_sum(inputs["padding_mask"]))


def _rows(settings, info):
    """Return the first rows of the shards, padded, as NumPy arrays."""
    records = tf.data.TFRecordDataset([str(pathlib.Path(settings.data) / shard.file) for shard in info.shards])
    records = next(iter(records.batch(settings.rows)))
    rows = parse_rows(records, info.max_sequence_length, info.special_token_ids["[PAD]"])
    return {name: array.numpy() for name, array in rows.items()}


def _transformers(settings, info):
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        names = {number: name for name, number in info.special_token_ids.items()}
        vocabulary = pathlib.Path(folder, "vocab.txt")
        vocabulary.write_text(
            "".join(f"{names.get(number, f'word{number}')}\n" for number in range(info.vocabulary_size))
        )
        tokenizer = transformers.BertTokenizerFast(str(vocabulary))
    collate = transformers.DataCollatorForLanguageModeling(
        tokenizer,
        mlm_probability=0.15,
        pad_to_multiple_of=info.max_sequence_length,
        return_tensors=settings.only.split()[1],
    )
    kept = [info.special_token_ids[name] for name in KEPT]
    found = _rows(settings, info)
    columns = {
        "input_ids": found["token_ids"],
        "token_type_ids": found["segment_ids"],
        "special_tokens_mask": np.isin(found["token_ids"], kept).astype(int),
    }
    rows = [
        {name: array[number, :length].tolist() for name, array in columns.items()}
        for number, length in enumerate(found["lengths"])
    ]
    for start in itertools.cycle(range(0, len(rows), settings.batch_size)):
        yield int(collate(rows[start : start + settings.batch_size])["attention_mask"].sum())


def _keras_hub(settings, info):
    import keras_hub

    mask = keras_hub.layers.MaskedLMMaskGenerator(
        vocabulary_size=info.vocabulary_size,
        mask_selection_rate=0.15,
        mask_token_id=info.special_token_ids["[MASK]"],
        mask_selection_length=settings.mask_selection_length,
        unselectable_token_ids=[info.special_token_ids[name] for name in KEPT],
    )
    found = _rows(settings, info)
    inputs = {name: found[name].astype("int32") for name in ("token_ids", "segment_ids")}
    inputs["padding_mask"] = (np.arange(info.max_sequence_length) < found["lengths"][:, None]).astype("int32")
    rows = tf.data.Dataset.from_tensor_slices(inputs).repeat()
    masked = rows.batch(settings.batch_size).map(
        lambda inputs: inputs | mask(inputs["token_ids"]), num_parallel_calls=tf.data.AUTOTUNE
    )
    for inputs in masked.prefetch(tf.data.AUTOTUNE):
        yield int(tf.reduce_sum(inputs["padding_mask"]))


if __name__ == "__main__":
    main()
