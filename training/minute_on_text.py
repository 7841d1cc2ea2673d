"""Pretrain the tiny size for a minute on one text, such as a page full of sentences somebody pasted.

    python -m training.minute_on_text text.txt --output runs/minute

Learns a vocabulary of the text, makes rows of it and pretrains, each by the functions of training/prepare.py and
training/pretrain.py with settings for little text. Consecutive sentences make the documents, whatever stood between
them: the random next sentence of a pair comes from another place of the same text. --output gets corpus.txt,
vocab.txt, shards/ and run/, the checkpoint folder. A minute teaches which words are frequent and which stand together
in this text, no more.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import os
import pathlib
import threading

from kbert.text.corpora import read_documents
from kbert.text.corpus_report import CorpusReport
from kbert.text.particles import SPARE, set_particles_apart
from kbert.text.sentences import LANGUAGES, split_sentences
from kbert.text.vocabulary import learn_vocabulary, write_vocabulary
from training import prepare, pretrain
from training.arguments import one_line_errors, parse, setting

SENTENCES_A_DOCUMENT = 6
VOCABULARY_SIZE, LIMIT_ALPHABET = 4000, 1500
# Half of the rows short, and the text paired as often as Google's script does: what is learnt is less tied to one row.
ROWS = ("--max_sequence_length", "32", "--held_out_rate", "0.1", "--short_sequence_rate", "0.5")
DUPLICATES = 10
# One line of history.csv every few seconds; dropout would only slow down what passes over the text so often.
RUN = (
    *("--size", "tiny", "--batch_size", "32", "--mask_selection_length", "5", "--learning_rate", "3e-3"),
    *("--save_every", "50", "--held_out_batches", "2", "--no_dropout"),
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    text: str = setting(text="a file, UTF-8")
    output: str = setting("runs/minute", "folder of all that is made")
    language: str = setting("en", "of the text", choices=LANGUAGES)
    minutes: float = setting(1.0, "of training; the preparation comes on top")
    until_end_of_input: bool = setting(False, "end when standard input does, as it does with the program behind it")


def main(argv=None):
    """Train, save, and return the final numbers."""
    settings = parse(Settings, argv, __doc__)
    if settings.until_end_of_input:
        threading.Thread(target=_end_with_input, daemon=True).start()
    output = pathlib.Path(settings.output)
    with one_line_errors():
        sentences = split_sentences(pathlib.Path(settings.text).read_text(encoding="utf-8"), settings.language)
        output.mkdir(parents=True, exist_ok=True)
        (output / "corpus.txt").write_text(_documents(sentences), encoding="utf-8")
        write_vocabulary(_learn(sentences, settings.language), output / "vocab.txt")
        accents = ("--keep_accents",) if settings.language == "ko" else ()
        command = [str(output / "corpus.txt"), "--vocabulary", str(output / "vocab.txt"), *ROWS, *accents]
        command += ["--language", settings.language, "--output", str(output / "shards")]
        prepare.prepare(parse(prepare.Settings, command, prepare.__doc__), _make_shards)
    command = [str(output / "shards"), "--output", str(output / "run"), "--minutes", str(settings.minutes), *RUN]
    return pretrain.main(command)


def _end_with_input():
    while os.read(0, 1):  # Not `sys.stdin`, whose lock this thread would still hold when Python ends.
        pass
    os._exit(1)


def _documents(sentences):
    starts = range(0, len(sentences), SENTENCES_A_DOCUMENT)
    return "\n".join("".join(f"{one}\n" for one in sentences[start : start + SENTENCES_A_DOCUMENT]) for start in starts)


def _learn(sentences, language):
    settings = {"min_frequency": 1, "limit_alphabet": LIMIT_ALPHABET}
    if language == "ko":
        tokens = learn_vocabulary(sentences, VOCABULARY_SIZE * SPARE, strip_accents=False, **settings)
        return set_particles_apart(tokens, VOCABULARY_SIZE)
    return learn_vocabulary(sentences, VOCABULARY_SIZE, **settings)


def _make_shards(settings, files):
    """Make all shards here: starting workers would take longer than their work.

    Source: google-research/bert, create_pretraining_data.py, dupe_factor.
    """
    prepare.open_worker(settings)
    texts = {split: [] for split in prepare.SPLITS}
    for document in read_documents(files):
        texts[prepare.split_of(document, settings)].append(document.text)
    counts = {"train": DUPLICATES, "held_out": 1}
    made = {
        split: [prepare.make_shard(split, number, texts[split]) for number in range(counts[split])]
        for split in prepare.SPLITS
    }
    shards = {split: [shard for _, shard, _ in made[split] if shard] for split in made}
    return shards, CorpusReport.merge([report for (_, _, report), *_ in made.values()])


if __name__ == "__main__":
    main()
