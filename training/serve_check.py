"""Compare a live server with the checkpoint that it serves, and see that it refuses what it must.

    python -m training.serve_check http://127.0.0.1:8501/v1/models/kbert kbert-small-en --texts corpus.txt

Puts texts of a file and hostile strings to every signature that takes strings, in batches of different sizes, and
compares the answers with kbert.inference. grpc://HOST:PORT/NAME asks over gRPC. Ends with status 1 if an answer
differs.
"""

import dataclasses
import itertools
import pathlib
import sys

from kbert.convert import load
from kbert.export.references import find_references
from kbert.serving.client import open_client
from training.arguments import one_line_errors, parse, setting
from training.hostile_texts import hostile_texts

TOLERANCE = 1e-5
BATCH_SIZES = (1, 2, 7, 32)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    url: str = setting(text="http://HOST:8501/v1/models/NAME, or grpc://HOST:8500/NAME")
    checkpoint: str = setting(text="preset or folder that was exported")
    texts: str = setting(None, "file with a text a line; a word of each is masked")
    count: int = setting(1000, "texts of the file, and as many hostile strings")


def main(argv=None):
    """Ask, compare, print a line a signature, and return the exit status."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        texts = hostile_texts(settings.count)
        if settings.texts:
            texts = masked_lines(settings.texts, settings.count) + texts
        checkpoint = load(settings.checkpoint, dtype="float32")
        client = open_client(settings.url)
        largest = 0.0
        for name, (inputs, compare) in find_references(checkpoint).items():
            difference = _compare_in_batches(client, name, inputs, compare, texts)
            print(f"{name}: {len(texts):,} texts, largest difference {difference:.2g}", flush=True)
            largest = max(largest, difference)
        refused = _count_refusals(client)
    print(f"{refused} of {len(WRONG_REQUESTS)} wrong requests refused")
    return 0 if largest <= TOLERANCE and refused == len(WRONG_REQUESTS) else 1


WRONG_REQUESTS = (
    ("no_such_signature", {"text": ["a"]}),
    ("fill_mask", {"texts": ["[MASK]"]}),
    ("fill_mask", {"text": [1]}),
    ("sentence_pair", {"text": ["a"]}),
    ("sentence_pair", {"text": ["a", "b"], "text_pair": ["c"]}),
)


def masked_lines(path, count):
    """Return texts of `count` lines spread over a file, each with one word of its own masked."""
    lines = [line for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    masked = []
    for number, line in enumerate(lines[:: max(1, len(lines) // count)][:count]):
        words = line.split()
        words[number % len(words)] = "[MASK]"
        masked.append(" ".join(words).encode())
    return masked


def _compare_in_batches(client, name, inputs, compare, texts):
    differences, start = [], 0
    for size in itertools.cycle(BATCH_SIZES):
        batch = texts[start : start + size]
        if not batch:
            return max(differences, default=0.0)
        asked = [batch, batch[::-1]][: len(inputs)]
        answer = client.predict(name, **dict(zip(inputs, asked, strict=True)))
        differences.append(compare(answer, *asked))
        start += size


def _count_refusals(client):
    refused = 0
    for name, inputs in WRONG_REQUESTS:
        try:
            client.predict(name, **inputs)
        except ValueError:
            refused += 1
    return refused


if __name__ == "__main__":
    sys.exit(main())
