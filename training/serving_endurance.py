"""Keep a server of an export busy with good and hostile requests, and see that it neither fails, errs nor grows.

    python -m training.serving_endurance kbert-small-en --texts corpus.txt --minutes 10

Exports, starts `kbert serve`, and puts a pool of requests to it: texts of a file and hostile strings, to every
signature that takes strings, in batches of different sizes; the answers are compared with kbert.inference. Then
threads ask these again and again, and requests that must be refused among them. Every answer must be the first one
again. Prints a line a minute, and as the last line one JSON object; ends with status 1 after a failure, a difference
above 1e-5, or more than 2 % growth of the server's memory after the first quarter. Linux only: memory is read in /proc.
"""

import training.quiet_start  # noqa: F401

# isort: split
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

from kbert.convert import load
from kbert.export import export_saved_model
from kbert.export.references import find_references
from kbert.serving.client import open_client
from training.arguments import one_line_errors, parse, setting
from training.hostile_texts import hostile_texts
from training.serve_check import BATCH_SIZES, TOLERANCE, WRONG_REQUESTS, masked_lines

MAX_GROWTH = 0.02
WRONG_EVERY = 10


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="preset or folder")
    texts: str = setting(None, "file with a text a line; a word of each is masked")
    count: int = setting(500, "texts of the file, and as many hostile strings")
    pool: int = setting(200, "different requests")
    minutes: float = setting(10.0, "of full load")
    threads: int = setting(2 * (os.cpu_count() or 1), "requests at a time")
    seed: int = setting(0, "of the draws")


def main(argv=None):
    """Export, serve, ask, and return the exit status."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        texts = hostile_texts(settings.count)
        if settings.texts:
            texts += masked_lines(settings.texts, settings.count)
        export_saved_model(settings.checkpoint, folder)
        references = find_references(load(settings.checkpoint, dtype="float32"))
        with _serve(folder) as (url, process):
            client = open_client(url)
            pool, difference = _make_pool(client, references, texts, settings)
            print(f"{len(pool)} requests, largest difference to kbert.inference {difference:.2g}", flush=True)
            result = {"difference": difference} | Load(client, pool, process.pid).run(settings)
    print(json.dumps(result))
    sound = not result["failures"] and result["difference"] <= TOLERANCE and result["change"] <= TOLERANCE
    return 0 if sound and result["growth"] <= MAX_GROWTH else 1


@contextlib.contextmanager
def _serve(folder):
    command = [sys.executable, "-m", "kbert.cli", "serve", folder, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = process.stdout.readline()
            if not line:
                raise OSError("`kbert serve` must start. Received: no address; try the command by hand.")
            yield line.split()[4], process
        finally:
            process.terminate()


def _make_pool(client, references, texts, settings):
    """Return a list of (signature, inputs, answer), and the largest difference of an answer to its reference."""
    draw = random.Random(settings.seed)
    pool, largest = [], 0.0
    for _ in range(settings.pool):
        name = draw.choice(list(references))
        names, compare = references[name]
        size = draw.choice(BATCH_SIZES)
        asked = [draw.choices(texts, k=size) for _ in names]
        inputs = dict(zip(names, asked, strict=True))
        answer = client.predict(name, **inputs)
        largest = max(largest, compare(answer, *asked))
        pool.append((name, inputs, answer))
    return pool, largest


class Load:
    """What the threads share: requests, counts, and the largest change of an answer.

    Args:
        client: what `kbert.serving.client.open_client` returns.
        pool: list of (signature, inputs, answer).
        process_id: int, the server's.
    """

    def __init__(self, client, pool, process_id):
        self.client, self.pool, self.process_id = client, pool, process_id
        self.lock = threading.Lock()
        self.answered = self.refused = self.failures = 0
        self.change = 0.0

    def run(self, settings):
        """Ask until the time is over, and return the counts as a dict."""
        start = time.monotonic()
        end = start + 60 * settings.minutes
        threads = [
            threading.Thread(target=self._ask, args=(random.Random(f"{settings.seed} {number}"), end))
            for number in range(settings.threads)
        ]
        for thread in threads:
            thread.start()
        memory = []
        while any(thread.is_alive() for thread in threads):
            memory.append((time.monotonic() - start, _resident_megabytes(self.process_id)))
            if len(memory) % 60 == 1:
                print(f"{memory[-1][0]:5.0f} s  {self.answered:,} answers  {memory[-1][1]:,.0f} MB", flush=True)
            time.sleep(1)
        warm = max(size for seconds, size in memory if seconds <= max(15 * settings.minutes, memory[0][0]))
        largest = max(size for _, size in memory)
        counts = {name: getattr(self, name) for name in ("answered", "refused", "failures", "change")}
        return counts | {"warm_megabytes": warm, "largest_megabytes": largest, "growth": largest / warm - 1}

    def _ask(self, draw, end):
        for number in itertools.count():
            if time.monotonic() >= end:
                return
            if number % WRONG_EVERY == 0:
                self._ask_wrongly(draw)
                continue
            name, inputs, expected = draw.choice(self.pool)
            try:
                change = _change(self.client.predict(name, **inputs), expected)
            except (ValueError, OSError) as error:
                self._fail(f"{name}: {error}")
                continue
            with self.lock:
                self.answered += 1
                self.change = max(self.change, change)

    def _ask_wrongly(self, draw):
        name, inputs = draw.choice(WRONG_REQUESTS)
        try:
            self.client.predict(name, **inputs)
        except ValueError as error:
            if "with status 4" in str(error):
                with self.lock:
                    self.refused += 1
                return
            self._fail(f"{name}: {error}")
        except OSError as error:
            self._fail(f"{name}: {error}")
        else:
            self._fail(f"{name} with {inputs} was answered")

    def _fail(self, reason):
        with self.lock:
            self.failures += 1
        print(f"FAILED {reason[:300]}", flush=True)


def _change(answer, expected):
    """Return the largest difference of a number, or infinity where the shapes or the words differ."""
    if answer.keys() != expected.keys() or any(answer[name].shape != expected[name].shape for name in answer):
        return float("inf")
    numbers = [name for name in answer if expected[name].dtype != object]
    if any((answer[name] != expected[name]).any() for name in answer if answer[name].dtype == object):
        return float("inf")
    return max((float(np.max(np.abs(answer[name] - expected[name]), initial=0.0)) for name in numbers), default=0.0)


def _resident_megabytes(process_id):
    pages = int(pathlib.Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
