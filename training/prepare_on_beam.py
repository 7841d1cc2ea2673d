"""Do the work of training/prepare.py on a cluster, with Apache Beam.

    python -m training.prepare_on_beam corpus/*.bz2 --vocabulary runs/vocab.txt --output runs/shards \\
        --beam "--runner=FlinkRunner --flink_master=HOST:8081 --environment_type=DOCKER --parallelism=64"

Takes the settings of training/prepare.py and writes the same bytes. Each file of the corpus is read by one worker, each
block made by one. All workers must see corpus, vocabulary and output under the same paths, on a disk that they share,
and have kbert installed. Killed, the same command, of either tool, keeps the finished shards.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import functools
import itertools
import pathlib
import shlex

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from kbert.data.distributed import make_blocks
from kbert.text.corpora import read_documents
from kbert.text.corpus_report import CorpusReport
from training import prepare
from training.arguments import one_line_errors, parse, setting
from training.finished_blocks import FinishedBlocks

DUPLICATES_FILE = "duplicates.txt"


@dataclasses.dataclass(frozen=True)
class Settings(prepare.Settings):
    """The command line of this script."""

    beam: str = setting("--runner=FnApiRunner", "options of Apache Beam, in quotes; the default runs on this machine")


def main(argv=None):
    """Write the shards and return the `DatasetInfo`."""
    settings = parse(Settings, argv, __doc__)
    options = PipelineOptions(shlex.split(settings.beam))
    values = dataclasses.asdict(settings)
    del values["beam"]
    with one_line_errors():
        return prepare.prepare(prepare.Settings(**values), functools.partial(_make_shards, options=options))


def _make_shards(settings, files, options):
    # A worker may have another working directory.
    whole_paths = {name: str(pathlib.Path(getattr(settings, name)).resolve()) for name in ("output", "vocabulary")}
    settings = dataclasses.replace(settings, **whole_paths)
    note = pathlib.Path(settings.output) / "unfinished" / DUPLICATES_FILE
    note.parent.mkdir(parents=True, exist_ok=True)
    with beam.Pipeline(options=options) as pipeline:
        _, num_duplicates = make_blocks(
            pipeline,
            [path.resolve() for path in files],
            read=functools.partial(read_documents, text_key=settings.text_key, encoding=settings.encoding),
            split_of=functools.partial(prepare.split_of, settings=settings),
            splits=prepare.SPLITS,
            block_characters=settings.block_characters,
            open_worker=functools.partial(open_worker, settings),
        )
        num_duplicates | "note duplicates" >> beam.Map(lambda count: note.write_text(str(count)))
    finished = FinishedBlocks(settings.output)
    shards, reports = {}, []
    for split in prepare.SPLITS:
        found = map(functools.partial(finished.find, split), itertools.count())
        of_split = list(itertools.takewhile(lambda block: block is not None, found))
        shards[split] = [shard for shard, _ in of_split if shard]
        reports += [report for _, report in of_split]
    return shards, dataclasses.replace(CorpusReport.merge(reports), num_duplicates=int(note.read_text()))


def open_worker(settings):
    """Make a worker ready, and return its function for blocks."""
    prepare.open_worker(settings)
    return prepare.make_shard


if __name__ == "__main__":
    main()
