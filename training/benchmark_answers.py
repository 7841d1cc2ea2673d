"""Time what kbert answers in Python, fill-mask and vectors of texts, beside transformers with the same float32 weights.

    python -m training.benchmark_answers kbert-small-en

Strings in, words or vectors out: tokenisation counts on both sides. One text at a time and 32, the 100 sentences of
training/cloze/en.tsv, or the lines of --texts. kbert on each backend; transformers' fill-mask pipeline, and for vectors
its tokenizer and encoder themselves, with the mean over the tokens. Prints the median milliseconds of a call, how many
times as fast as transformers that is, and in the first round how often both have the same first word, or the largest
difference of a number; as the last line one JSON object. Only ratios out of one run mean anything: machines differ, and
so does what else they do.
"""

import dataclasses
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from training.arguments import one_line_errors, parse, setting
from training.text_timing import fill_mask_pipeline, median_milliseconds

PEER = "transformers"
BATCH_SIZES = (1, 32)
SENTENCES = pathlib.Path(__file__).parent / "cloze" / "en.tsv"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="preset or folder")
    texts: str = setting(None, "file with a text a line, a [MASK] in each (default: the sentences of the repository)")
    backends: tuple = setting(("tensorflow", "jax", "torch"), "of kbert")
    seconds: float = setting(3.0, "that each is timed for, after a first round")
    only: str = setting(None, "run one side in this process, as this script starts itself", choices=("kbert", PEER))


def main(argv=None):
    """Run every side, and print and return what was found."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        texts = _read_texts(settings.texts)
    if settings.only:
        print(json.dumps(_time_both(settings, texts)))
        return None
    rows = []
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        _write_model(settings.checkpoint, folder)
        theirs = _run(settings, folder, PEER, "torch")
        for backend in settings.backends:
            ours = _run(settings, folder, "kbert", backend)
            for (question, size), ms in ours["ms"].items():
                rows.append({"backend": backend, "question": question, "batch": size, "ms": ms})
                rows[-1]["their_ms"] = theirs["ms"][question, size]
                print(_describe(rows[-1]), flush=True)
            same = np.mean([one == other for one, other in zip(ours["words"], theirs["words"], strict=True)])
            apart = np.abs(np.subtract(ours["vectors"], theirs["vectors"])).max()
            print(f"{backend}: same first word {same:.1%}, largest difference of a vector {apart:.2g}", flush=True)
            rows[-1] |= {"same_first": float(same), "difference": float(apart)}
    summary = {"date": datetime.date.today().isoformat(), "texts": len(texts), "settings": dataclasses.asdict(settings)}
    print(json.dumps(summary | {"rows": rows}))
    return rows


def _describe(row):
    faster = row["their_ms"] / row["ms"]
    title = f"{row['backend']:12}{row['question']:10} batch {row['batch']:2}"
    return f"{title}  kbert {row['ms']:8.1f} ms  {PEER} {row['their_ms']:8.1f} ms  {faster:.2f}x"


def _read_texts(path):
    lines = pathlib.Path(path or SENTENCES).read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines if line.count("[MASK]") == 1]
    if not texts:
        raise ValueError(f"A line with one [MASK] must be in {path}. Received: none.")
    return texts


def _write_model(checkpoint, folder):
    from kbert.convert import load, save_checkpoint

    opened = load(checkpoint, dtype="float32")
    save_checkpoint(opened.model, opened.tokenizer, folder, missing_parts=opened.missing_parts)


def _run(settings, folder, name, backend):
    command = [sys.executable, "-m", "training.benchmark_answers", folder, "--only", name]
    command += ["--seconds", str(settings.seconds), *(["--texts", settings.texts] if settings.texts else [])]
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE)
    if finished.returncode:
        raise ValueError(f"{name} on {backend} must answer. Received: status {finished.returncode}; see above.")
    found = json.loads(finished.stdout.splitlines()[-1])
    return found | {"ms": {(question, size): ms for question, size, ms in found["ms"]}}


def _time_both(settings, texts):
    ask_word, ask_vector = {"kbert": _open_kbert, PEER: _open_transformers}[settings.only](settings.checkpoint)
    found = {"words": ask_word(texts), "vectors": np.asarray(ask_vector(texts), "float64").tolist(), "ms": []}
    for question, ask in (("fill mask", ask_word), ("vectors", ask_vector)):
        found["ms"] += [
            (question, size, median_milliseconds(ask, texts, size, settings.seconds)) for size in BATCH_SIZES
        ]
    return found


def _open_kbert(folder):
    from kbert.convert import load
    from kbert.inference import EmbedText, FillMask

    checkpoint = load(folder)
    fill_mask, embed = FillMask(checkpoint), EmbedText(checkpoint)
    return lambda texts: [masks[0].candidates[0].word for masks in fill_mask(texts)], embed


def _open_transformers(folder):
    import torch
    import transformers

    model = transformers.BertForMaskedLM.from_pretrained(folder).eval()
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)

    @torch.inference_mode()
    def ask_vector(texts):
        inputs = tokenizer(texts, padding=True, return_tensors="pt")
        states = model.bert(**inputs).last_hidden_state
        real = inputs["attention_mask"][:, :, None]
        return ((states * real).sum(1) / real.sum(1)).numpy()

    return fill_mask_pipeline(model, tokenizer), ask_vector


if __name__ == "__main__":
    main()
