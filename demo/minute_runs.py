"""The one-minute runs that people start on the page: each a child process in a folder of its own, one at a time."""

import collections
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from demo.questions import check_texts
from demo.training_run import read_run
from kbert import FillMask
from kbert.inference.languages import KOREAN, preset_for
from kbert.text.sentences import split_sentences

MAX_CHARACTERS = 100_000
MIN_SENTENCES = 30
KEPT = 5  # Runs whose model can still be asked.
NEEDED = ("tensorflow", "tensorboard", "tqdm")  # By training/, beside what the page itself needs.
NEEDED_FOR_KOREAN = ("kiwipiepy",)


class MinuteRuns:
    """All runs of a page.

    Args:
        minutes: float, of training in each.
    """

    def __init__(self, minutes=1.0):
        self.minutes = minutes
        self.runs = collections.OrderedDict()
        self.lock = threading.Lock()

    def start(self, text):
        """Start a run on a text and return it.

        Raises:
            ValueError: the text is too long or has too few sentences, another run is not over, or what training needs
                is not installed.
        """
        language = "ko" if preset_for(text) == KOREAN else "en"
        check_texts(text, most=MAX_CHARACTERS)
        num_sentences = len(set(split_sentences(text, language)))
        if num_sentences < MIN_SENTENCES:
            raise ValueError(
                f"A text to train on must have at least {MIN_SENTENCES} different sentences. "
                f"Received: {num_sentences}. Paste a longer one."
            )
        check_installed(NEEDED + NEEDED_FOR_KOREAN * (language == "ko"))
        with self.lock:
            if any(run.is_going_on for run in self.runs.values()):
                raise ValueError(
                    "One run must be over before another starts. Received: another that is going on. "
                    "Try again in a minute."
                )
            run = MinuteRun(text, language, self.minutes, num_sentences)
            self.runs[run.name] = run
            while len(self.runs) > KEPT:
                self.runs.popitem(last=False)[1].close()
        return run

    def find(self, name):
        """Return the run of a name, None for one that is kept no more."""
        return self.runs.get(name)

    def close(self):
        """End what is going on, and delete all folders."""
        for run in self.runs.values():
            run.close()


class MinuteRun:
    """A run from its start on.

    Args:
        text: str.
        language: "en" or "ko".
        minutes: float.
        num_sentences: int, of the text.
    """

    def __init__(self, text, language, minutes, num_sentences):
        self.num_sentences = num_sentences
        self.temporary = tempfile.TemporaryDirectory(prefix="kbert-minute-", ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self.temporary.name)
        self.name = self.folder.name
        self.is_stopped = False
        (self.folder / "text.txt").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "training.minute_on_text", str(self.folder / "text.txt")]
        command += ["--output", str(self.folder), "--language", language, "--minutes", str(minutes)]
        # Its input ends with this process, however that ends. The page's model may hold all memory of a GPU.
        with (self.folder / "printed.txt").open("wb") as printed:
            self.process = subprocess.Popen(
                [*command, "--until_end_of_input"],
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"},
            )

    @property
    def is_going_on(self):
        """Whether its process has not ended."""
        return self.process.poll() is None

    @property
    def stage(self):
        """Return where it is: "starting", "preparing", "training", then "done", "stopped", "ended" or "failed".

        A run that was stopped before its first save has ended: it has nothing to ask.
        """
        if not self.is_going_on and self.is_stopped:
            return "stopped" if self.has_model else "ended"
        if not self.is_going_on:
            return "failed" if self.process.returncode else "done"
        if (self.folder / "run" / "run.json").is_file():
            return "training"
        return "preparing" if (self.folder / "vocab.txt").is_file() else "starting"

    @property
    def has_model(self):
        """Whether something was saved that can be asked."""
        return (self.folder / "run" / "state").is_dir()  # Written after the checkpoint.

    def read(self):
        """Return its `demo.training_run.TrainingRun`, None before the first update."""
        return read_run(self.folder / "run") if (self.folder / "run" / "run.json").is_file() else None

    def last_words(self):
        """Return the last line that it printed."""
        printed = (self.folder / "printed.txt").read_text(encoding="utf-8", errors="replace")
        return "".join(printed.strip().splitlines()[-1:])

    def fill_mask(self, text, top_k):
        """Return what `kbert.FillMask` of the last save answers."""
        if not self.has_model:
            raise ValueError("A run must have saved before it is asked. Received: a run without a save. Wait for it.")
        return _open(self.folder / "run", (self.folder / "run" / "model.safetensors").stat().st_mtime_ns)(text, top_k)

    def stop(self):
        """End it; what it saved stays."""
        if self.is_going_on:
            self.is_stopped = True
            self.process.terminate()
            self.process.wait()

    def close(self):
        """End it and delete its folder."""
        self.stop()
        self.process.stdin.close()
        self.temporary.cleanup()


@functools.lru_cache(2)
def _open(folder, saved_at):
    """Return the `FillMask` of a folder as it was at a time: a run that goes on saves again."""
    return FillMask(folder)


def check_installed(modules):
    """Raise ValueError unless all modules are there to import."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"What training needs must be installed. Received: no {', '.join(missing)}. "
            "Type `pip install 'keras-kbert[training]'` and open the page again."
        )
