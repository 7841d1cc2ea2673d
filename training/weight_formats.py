"""Export a model with smaller weights, and see how much the answers of fill-mask change, and the files.

    python -m training.weight_formats kbert-small-en training/cloze/en.tsv

A line of the file is a sentence with one [MASK]; what stands behind a tab is left out. The models are asked as
TensorFlow Serving asks them. Prints for each format the size, the share of sentences with the same first word as with
float32, the share with the same words among the first ones, how many of these words are shared, and the largest
difference of a first word's probability; as the last line a JSON object.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json
import pathlib
import tempfile

import numpy as np

from kbert.export import export_saved_model
from kbert.export.front import WEIGHT_FORMATS
from kbert.serving.session import SavedModelSession
from training.arguments import one_line_errors, parse, setting


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="preset or folder")
    sentences: str = setting(text="file of sentences with one [MASK] each")
    top_k: int = setting(5, "words that count")


def main(argv=None):
    """Export in every format, ask, print a line for each, and return the last line's object."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(settings.sentences).read_text(encoding="utf-8").splitlines()
        texts = [line.partition("\t")[0].encode() for line in lines if "[MASK]" in line]
        result, exact = {"sentences": len(texts), "top_k": settings.top_k}, None
        for weights in WEIGHT_FORMATS:
            path = export_saved_model(settings.checkpoint, folder, settings.top_k, weights)
            answers = _ask(path, texts)
            exact = answers if exact is None else exact
            megabytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
            difference = float(np.abs(answers["probabilities"] - exact["probabilities"])[:, 0, 0].max())
            found = {"megabytes": round(megabytes, 1), "difference": difference}
            found |= count_agreement(exact["words"][:, 0], answers["words"][:, 0])
            result[weights] = found
            print(weights, *(f"{name} {value:.4g}" for name, value in found.items()))
    print(json.dumps(result))
    return result


def count_agreement(words, others):
    """Compare the words of the same sentences in two models.

    Args:
        words, others: arrays `[N, K]`, most probable first.

    Returns:
        dict of shares of N: `first`, the same first word; `same_words`, the same K words in whatever order; and
        `shared`, the share of N K words that are among the others.
    """
    shared = np.array([len(set(row) & set(other)) for row, other in zip(words, others, strict=True)])
    return {
        "first": float(np.mean(words[:, 0] == others[:, 0])),
        "same_words": float(np.mean(shared == words.shape[1])),
        "shared": float(np.mean(shared) / words.shape[1]),
    }


def _ask(path, texts):
    session = SavedModelSession(path)
    try:
        return session.run("fill_mask", {"text": np.array(texts, object)})
    finally:
        session.close()


if __name__ == "__main__":
    main()
