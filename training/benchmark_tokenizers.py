"""Time kbert's two tokenizers beside transformers' and KerasHub's on the lines of one text file.

    python -m training.benchmark_tokenizers corpus.txt --vocabulary kbert/presets/kbert-small-en

Eager: lists of ids of a batch of lines, on one core and on all. In the graph: a `tf.data` pipeline of batches, on one
core. Prints MB/s of each, the best of --rounds, the ratios to the peers, on how many lines the ids differ from the
eager ones, and as the last line one JSON object.
"""

import dataclasses
import datetime
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

from training.arguments import one_line_errors, parse, setting

KINDS = ("eager", "transformers", "eager, all cores", "transformers, all cores", "in graph", "keras-hub in graph")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    corpus: str = setting(text="text file; its lines are the texts")
    vocabulary: str = setting(None, "checkpoint folder with vocab.txt and tokenizer_config.json")
    lines: int = setting(100000, "lines read at most")
    batch_size: int = setting(256, "lines a batch in the graph")
    rounds: int = setting(3, "times each is run; the best counts")
    only: str = setting(None, "run one of them in this process; what the script starts itself with", choices=KINDS)


def main(argv=None):
    """Run every tokenizer in a process of its own and print the table and the JSON line."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        if settings.vocabulary is None:
            raise ValueError("--vocabulary must be given: a checkpoint folder.")
        with pathlib.Path(settings.corpus).open(encoding="utf-8") as file:
            stripped = (line.strip() for line in file)
            texts = tuple(itertools.islice(filter(None, stripped), settings.lines))
    if settings.only:
        print(json.dumps(_time(settings, texts)))
        return
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{len(texts):,} lines, {megabytes:.1f} MB\n")
    results = {kind: _run(kind, sys.argv[1:] if argv is None else argv) for kind in KINDS}
    rates = {kind: megabytes / result["seconds"] for kind, result in results.items()}
    for kind, rate in rates.items():
        print(f"{kind:26}{rate:8.2f} MB/s")
    ratios = {
        "eager / transformers": rates["eager"] / rates["transformers"],
        "eager, all cores / one core": rates["eager, all cores"] / rates["eager"],
        "in graph / keras-hub": rates["in graph"] / rates["keras-hub in graph"],
    }
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.2f}")
    differing = {
        kind: sum(one != other for one, other in zip(results["eager"]["sums"], result["sums"], strict=True))
        for kind, result in results.items()
    }
    print("lines with other ids than the eager one:", differing)
    print(
        json.dumps(
            {"date": datetime.date.today().isoformat(), "MB": megabytes, "MB/s": rates, "ratios": ratios}
            | {"differing": differing}
        )
    )


def _run(kind, arguments):
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    if "all cores" not in kind:
        environment |= dict.fromkeys(("RAYON_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1")
    command = [sys.executable, "-m", "training.benchmark_tokenizers", *arguments, "--only", kind]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    if finished.returncode:
        raise SystemExit(f"{kind} failed: {finished.stderr.strip()}")
    return json.loads(finished.stdout.strip().splitlines()[-1])


def _time(settings, texts):
    """Return the seconds of the best round, and a checksum of the ids of each text."""
    tokenize = {
        "eager": _eager,
        "transformers": _transformers,
        "in graph": _in_graph,
        "keras-hub in graph": _keras_hub,
    }[settings.only.removesuffix(", all cores")](settings)
    tokenize(texts)
    seconds = []
    for _ in range(settings.rounds):
        start = time.perf_counter()
        token_ids = tokenize(texts)
        seconds.append(time.perf_counter() - start)
    if "in graph" in settings.only:
        token_ids = [row for batch in token_ids for row in batch.to_list()]
    return {"seconds": min(seconds), "sums": [hash(tuple(row)) for row in token_ids]}


def _eager(settings):
    from kbert.text.tokenizer import WordPieceTokenizer

    return WordPieceTokenizer.from_folder(settings.vocabulary).encode_batch


def _transformers(settings):
    from transformers import BertTokenizerFast

    tokenizer = BertTokenizerFast.from_pretrained(settings.vocabulary)
    return lambda texts: tokenizer(
        texts, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False
    )["input_ids"]


def _in_graph(settings):
    import kbert.data.text_ops
    from kbert.text.tokenizer import WordPieceTokenizer

    tokenizer = kbert.data.text_ops.GraphTokenizer(WordPieceTokenizer.from_folder(settings.vocabulary))
    return _pipeline(tokenizer.tokenize, settings.batch_size)


def _keras_hub(settings):
    import keras_hub

    from kbert.text.tokenizer import WordPieceTokenizer

    ours = WordPieceTokenizer.from_folder(settings.vocabulary)
    tokenizer = keras_hub.tokenizers.WordPieceTokenizer(
        ours.vocabulary, lowercase=ours.lowercase, strip_accents=ours.lowercase, oov_token="[UNK]"
    )
    return _pipeline(tokenizer, settings.batch_size)


def _pipeline(tokenize, batch_size):
    import tensorflow as tf

    @functools.cache
    def pipeline(texts):  # Traced once, by the round that is not timed.
        return tf.data.Dataset.from_tensor_slices(list(texts)).batch(batch_size).map(tokenize)

    def run(texts):
        return list(pipeline(texts))

    return run


if __name__ == "__main__":
    main()
