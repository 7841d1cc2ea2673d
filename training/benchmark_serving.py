"""Time fill-mask in an exported SavedModel beside transformers' pipeline with the same weights, both in float32.

    python -m training.benchmark_serving kbert-small-en --texts corpus.txt

Strings in, words out: tokenisation counts on both sides. One core and two, one text at a time and 32. Each runs in a
process of its own, the SavedModel through TensorFlow's C library as TensorFlow Serving does. Prints the median
milliseconds of a request and the texts a second, how many times as fast as the pipeline that is, how often both have
the same first word, and as the last line one JSON object. Only ratios out of one run mean anything: machines differ,
and so does what else they do. Needs transformers and Linux' taskset.
"""

import dataclasses
import datetime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from training.arguments import one_line_errors, parse, setting
from training.serve_check import masked_lines
from training.text_timing import fill_mask_pipeline, median_milliseconds

PEERS = ("kbert", "transformers")
BATCH_SIZES = (1, 32)
MAX_WORDS = 100  # The pipeline refuses texts that are longer than the model.


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="preset or folder")
    texts: str = setting(None, "file with a text a line; a word of each is masked")
    count: int = setting(256, "lines of the file, spread over it")
    top_k: int = setting(5, "words a mask")
    seconds: float = setting(5.0, "that each is timed for, after a first round")
    cores: tuple = setting((1, 2), "numbers of cores, one run each")
    only: str = setting(None, "run one of them in this process, as this script starts itself", choices=PEERS)
    model: str = setting(None, "for --only: the folder that it opens")


def main(argv=None):
    """Export, run both on each number of cores, and print the table and the JSON line."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        texts = _read_texts(settings)
    if settings.only:
        ask = {"kbert": _open_saved_model, "transformers": _open_pipeline}[settings.only](settings)
        print(
            json.dumps(
                {
                    "ms": [median_milliseconds(ask, texts, size, settings.seconds) for size in BATCH_SIZES],
                    "words": ask(texts),
                }
            )
        )
        return None
    rows = []
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        models = _write_models(settings, folder)
        for cores in map(int, settings.cores):
            ours, theirs = (_run(settings, models[name], name, cores) for name in PEERS)
            agreement = float(
                np.mean([one == other for one, other in zip(ours["words"], theirs["words"], strict=True)])
            )
            for size, ms, their_ms in zip(BATCH_SIZES, ours["ms"], theirs["ms"], strict=True):
                rows.append({"cores": cores, "batch": size, "ms": ms, "their_ms": their_ms, "same_first": agreement})
                print(_describe(rows[-1]), flush=True)
    settings = dataclasses.asdict(settings)
    summary = {"date": datetime.date.today().isoformat(), "texts": len(texts), "settings": settings, "rows": rows}
    print(json.dumps(summary))
    return summary


def _describe(row):
    sides = ((name, row[key]) for name, key in zip(PEERS, ("ms", "their_ms"), strict=True))
    columns = (f"{name} {ms:9.2f} ms {1000 * row['batch'] / ms:8.1f}/s" for name, ms in sides)
    faster, same = row["their_ms"] / row["ms"], row["same_first"]
    return f"{row['cores']} core(s), batch {row['batch']:2}  {'  '.join(columns)}  {faster:.2f}x, {same:.1%} same word"


def _read_texts(settings):
    if settings.texts is None:
        raise ValueError("--texts must be given: a file with a text a line. Received: none.")
    texts = [text.decode() for text in masked_lines(settings.texts, settings.count)]
    texts = [text for text in texts if len(text.split()) <= MAX_WORDS]
    if not texts:
        raise ValueError(f"A line of at most {MAX_WORDS} words must be in {settings.texts}. Received: none.")
    return texts


def _write_models(settings, folder):
    """Return the folder of each peer's model."""
    from kbert.convert import load, save_checkpoint
    from kbert.export import export_saved_model

    opened = load(settings.checkpoint, dtype="float32")
    save_checkpoint(opened.model, opened.tokenizer, f"{folder}/checkpoint", missing_parts=opened.missing_parts)
    saved_model = export_saved_model(f"{folder}/checkpoint", f"{folder}/versions", settings.top_k)
    return {"kbert": str(saved_model), "transformers": f"{folder}/checkpoint"}


def _run(settings, model, name, cores):
    command = ["taskset", "--cpu-list", f"0-{cores - 1}", sys.executable, "-m", "training.benchmark_serving"]
    command += [settings.checkpoint, "--only", name, "--model", model]
    for key in ("texts", "count", "top_k", "seconds"):
        command += [f"--{key}", str(getattr(settings, key))]
    environment = os.environ | {"OMP_NUM_THREADS": str(cores), "TF_CPP_MIN_LOG_LEVEL": "3"}
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def _open_saved_model(settings):
    from kbert.serving.session import SavedModelSession

    session = SavedModelSession(settings.model)

    def ask(texts):
        answers = session.run("fill_mask", {"text": np.array([text.encode() for text in texts], object)})
        return [words[0, 0].decode() for words in answers["words"]]

    return ask


def _open_pipeline(settings):
    import transformers

    model = transformers.BertForMaskedLM.from_pretrained(settings.model)
    return fill_mask_pipeline(model, transformers.BertTokenizerFast.from_pretrained(settings.model), settings.top_k)


if __name__ == "__main__":
    main()
