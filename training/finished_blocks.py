"""What a preparation that was killed leaves, so that the same command goes on where it stopped.

While it runs, the output folder has a folder `unfinished`: the settings and files it started from, and a note beside
each finished shard. A note is written after its shard, and neither is ever there in part.
"""

import dataclasses
import importlib.metadata
import json
import pathlib
import shutil

from kbert.data.schema import ShardInfo
from kbert.text.corpus_report import CorpusReport

# They change where and how fast shards are written, not what is in them.
NOT_COMPARED = ("corpus", "output", "workers")
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json")
LIBRARIES = ("keras-kbert", "tokenizers", "sentencex", "mwparserfromhell")


class FinishedBlocks:
    """The finished blocks of a preparation.

    Args:
        output: folder of the shards.
    """

    def __init__(self, output):
        self._output = pathlib.Path(output)
        self._folder = self._output / "unfinished"

    def begin(self, settings, files):
        """Write down what a preparation starts from, or check that one that was stopped started from the same.

        Args:
            settings: dataclass, the command line; its `vocabulary` is a file or a folder.
            files: list of paths, the corpus.
        Returns:
            int, the number of blocks that are finished.
        Raises:
            ValueError: there are finished shards of other settings, files or versions.
        """
        path, now = self._folder / "settings.json", _describe(settings, files)
        before = json.loads(path.read_text("utf-8")) if path.exists() else None
        if before != now:
            if before and list(self._output.glob("*.tfrecord")):
                self._refuse(before, now)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            _write(path, now)
        for partial in self._output.glob("*.partial"):
            partial.unlink()
        return len(list(self._folder.glob("*-*.json")))

    def _refuse(self, before, now):
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        shown = ", ".join(f"{name} was {before.get(name)} and is {now.get(name)}" for name in changed[:3])
        raise ValueError(
            "A preparation that was stopped must go on with the settings and files it started from. Received: "
            f"--output {self._output}, where {shown}. Type the first command again, or delete the folder."
        )

    def find(self, split, number):
        """Return (`ShardInfo` or None, `CorpusReport`) of a block, or None if it is not finished."""
        path = self._path(split, number)
        if not path.exists():
            return None
        note = json.loads(path.read_text("utf-8"))
        report = CorpusReport(**note["report"])
        if note["shard"] is None:
            return None, report
        shard = ShardInfo(**note["shard"])
        file = self._output / shard.file
        # A loss of power, unlike a kill, may keep the note and lose the end of the shard.
        return (shard, report) if file.exists() and file.stat().st_size == note["bytes"] else None

    def save(self, split, number, shard, report):
        """Note that a block is finished; `shard` is None if it gave no rows."""
        note = {"shard": shard and dataclasses.asdict(shard), "report": dataclasses.asdict(report)}
        if shard:
            note["bytes"] = (self._output / shard.file).stat().st_size
        _write(self._path(split, number), note)

    def end(self):
        """Delete the notes: the dataset is complete, or nothing is worth keeping."""
        shutil.rmtree(self._folder)

    def _path(self, split, number):
        return self._folder / f"{split}-{number:05d}.json"


def _describe(settings, files):
    """Return a flat dict of all that decides about the shards: settings, versions, size and time of each file."""
    values = {name: value for name, value in dataclasses.asdict(settings).items() if name not in NOT_COMPARED}
    for name in LIBRARIES:
        try:
            values[f"version of {name}"] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            values[f"version of {name}"] = None
    vocabulary = pathlib.Path(settings.vocabulary)
    of_tokenizer = [vocabulary, *(vocabulary / name for name in TOKENIZER_FILES)]
    for path in [*map(pathlib.Path, files), *filter(pathlib.Path.is_file, of_tokenizer)]:
        status = path.stat()
        values[str(path)] = f"{status.st_size} bytes of {status.st_mtime_ns}"
    return values


def _write(path, values):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(values), "utf-8")
    partial.replace(path)
