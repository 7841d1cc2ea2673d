"""Names and other tags of words: CoNLL-2003, KLUE-NER, and any file with a tag a word."""

import dataclasses
import pathlib

import numpy as np
import seqeval.metrics

from kbert.tasks.batches import Row, group_by_example
from kbert.tasks.metrics import accuracy
from kbert.tasks.recipe import Recipe
from kbert.tasks.tables import find_file
from kbert.tasks.tagged_files import join_documents, read_tagged
from kbert.tasks.tags import is_span_tag, label_names, spans_of_tags, split_tag, tags_of_spans
from kbert.tasks.units import find_units
from kbert.tasks.windows import cut_windows, join_windows, split_text

SUFFIXES = ("", ".txt", ".tsv", ".conll", ".conllu", ".bio")
# Task -> its files without suffix: train, dev, test.
LAYOUTS = {
    "conll2003": ("eng.train", "eng.testa", "eng.testb"),
    "klue-ner": ("klue-ner-v1.1_train", "klue-ner-v1.1_dev", "klue-ner-v1.1_test"),
    "tags": ("train", "dev", "test"),
}


@dataclasses.dataclass(frozen=True)
class TaggingTask:
    """The sets of a task and how it is scored.

    Attributes:
        label_names: tuple of str, C tags.
        scheme: "IOB1", "IOB2" or "BIOES", of the tags the model learns; None for tags that are no spans, such as parts
            of speech, which are scored by accuracy.
        train: list of `Sentence`, with tags in `scheme`.
        dev, test: dict of set name to such a list.
        stride: int or None, tokens between the starts of two windows of a long sentence or document.
        notes: tuple of str.
    """

    label_names: tuple
    scheme: str | None
    train: list
    dev: dict
    test: dict
    stride: int | None = None
    notes: tuple = ()

    head = "tagger"
    recipe = Recipe(batch_size=32, learning_rate=5e-5, epochs=3, max_sequence_length=128)

    @property
    def tags_pieces(self):
        """Whether each piece of a word learns a tag of its own: the words of the files are single characters."""
        return all(len(word) == 1 for sentence in self.train for word in sentence.words)

    def rows(self, tokenizer, sentences, max_sequence_length):
        """Return a `Row` a window, with `extra` the window.

        The target of a word's first token is its tag; the other tokens, and those that another window shows with more
        text round them, have weight 0.
        """
        numbers = {name: number for number, name in enumerate(self.label_names)}
        rows = []
        for index, sentence in enumerate(sentences):
            units = find_units(split_text(tokenizer, sentence.text)[1], sentence.offsets)
            tag_of = dict(zip(units.tokens, self._unit_tags(sentence.tags, units), strict=True))
            for window in cut_windows(tokenizer, None, sentence.text, max_sequence_length, self.stride):
                tokens = range(window.start, window.start + len(window.offsets))
                targets = [numbers[tag_of[token]] if token in tag_of else 0 for token in tokens]
                weights = [float(token in tag_of and window.is_best[token - window.start]) for token in tokens]
                row = Row(
                    parts=(window.packed,),
                    targets={"logits": [0, *targets, 0]},
                    weights={"logits": [0.0, *weights, 0.0]},
                    example=index,
                    extra=window,
                )
                rows.append(row)
        return rows

    def _unit_tags(self, tags, units):
        if self.scheme is None:
            return [tags[words[0]] for words in units.words]
        spans = units.from_words(spans_of_tags(tags))
        return tags_of_spans(spans, len(units.tokens), self.scheme)

    def decode(self, sentences, rows, outputs):
        """Return the tags of each sentence's words, from the logits `[T, C]` of each row."""
        answers = []
        for sentence, group in zip(sentences, group_by_example(rows, outputs, len(sentences)), strict=True):
            windows, logits = zip(*((row.extra, output[0]) for row, output in group), strict=True)
            tags = [self.label_names[number] for number in np.argmax(join_windows(windows, logits), -1)]
            offsets = np.concatenate([window.offsets[window.is_best] for window in windows])
            answers.append(self._word_tags(tags, find_units(offsets, sentence.offsets), len(sentence.words)))
        return answers

    def _word_tags(self, tags, units, num_words):
        tags = [tags[token] for token in units.tokens]
        if self.scheme is not None:
            return tags_of_spans(units.to_words(spans_of_tags(tags)), num_words, self.scheme)
        found = {word: tag for tag, words in zip(tags, units.words, strict=True) for word in words}
        return [found.get(word, self.label_names[0]) for word in range(num_words)]

    def has_answers(self, sentences):
        """Tell whether the tags are known: a file holds them, unless all of them are O."""
        return _has_tags(sentences)

    def score(self, sentences, answers):
        """Return precision, recall and F1 of whole spans over all kinds, and the mean F1 of the kinds, in percent.

        For tags that are no spans, accuracy.
        """
        pairs = [
            pair
            for sentence, answer in zip(sentences, answers, strict=True)
            for pair in zip(_split(sentence.tags, sentence.lengths), _split(answer, sentence.lengths), strict=True)
        ]
        targets, found = zip(*pairs, strict=True)
        if self.scheme is None:
            return {"accuracy": accuracy(np.concatenate(targets), np.concatenate(found))}
        targets, found = ([tags_of_spans(spans_of_tags(tags), len(tags)) for tags in sets] for sets in (targets, found))
        metrics = seqeval.metrics
        scores = {
            "precision": metrics.precision_score(targets, found, zero_division=0),
            "recall": metrics.recall_score(targets, found, zero_division=0),
            "f1": metrics.f1_score(targets, found, zero_division=0),
            "f1_macro": metrics.f1_score(targets, found, average="macro", zero_division=0),
        }
        return {name: 100 * float(value) for name, value in scores.items()}

    def main_score(self, scores):
        """Return F1, or accuracy, on dev."""
        return scores["dev"]["f1" if self.scheme else "accuracy"]

    def write_answers(self, set_name, sentences, answers, folder):
        """Write word, tag and answer of each word, as conlleval takes them (with `-d '\\t'`).

        Returns:
            pathlib.Path, the file.
        """
        path = pathlib.Path(folder) / f"{set_name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for sentence, answer in zip(sentences, answers, strict=True):
                lines = list(zip(sentence.words, sentence.tags, answer, strict=True))
                for part in _split(lines, sentence.lengths):
                    file.writelines(f"{word}\t{tag}\t{found}\n" for word, tag, found in part)
                    file.write("\n")
        return path


def _split(values, lengths):
    """Return the values of each sentence."""
    ends = np.cumsum(lengths)
    return [list(values[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def open_tagging(name, folder, scheme="IOB2", document_context=False, stride=None, encoding="utf-8", column="upos"):
    """Read a task.

    Args:
        name: str, one of `LAYOUTS`.
        folder: holds its files, compressed or not. The file of the test set may be missing.
        scheme: "IOB1", "IOB2" or "BIOES": the tags the model is to learn. The files may have any.
        document_context: bool. True: read each sentence with those round it; the files need -DOCSTART- lines.
        stride: int or None, tokens between the starts of two windows.
        encoding: str, of the files.
        column: of CoNLL-U; see `read_tagged`.

    Returns:
        `TaggingTask`.

    Raises:
        FileNotFoundError: there is no training or dev file.
        ValueError: a file is damaged, a tag is none or not in the training file, dev has no span, or documents are
            asked for and not marked.
    """
    sets = {}
    for split, stem in zip(("train", "dev", "test"), LAYOUTS[name], strict=True):
        path = find_file(folder, stem, SUFFIXES)
        if path is not None:
            sets[split] = _read(path, encoding, column, document_context)
        elif split != "test":
            raise FileNotFoundError(f"There must be a file {stem}. Received: --data {folder} without one.")
    if not _has_tags(sets["dev"]):
        raise ValueError(f"A file to be scored must have spans. Received: none from {sets['dev'][0].where} on.")
    # One is enough: with any other tag beside it the file is damaged, not a file of parts of speech.
    has_spans = any(tag != "O" and is_span_tag(tag) for sentence in sets["train"] for tag in sentence.tags)
    if not has_spans:
        _refuse_spans_without_kinds(sets["train"])
    names = _check_tags(sets, has_spans, scheme)
    if has_spans:
        sets = {split: [_in_scheme(sentence, scheme) for sentence in sentences] for split, sentences in sets.items()}
    return TaggingTask(
        label_names=names,
        scheme=scheme if has_spans else None,
        train=sets["train"],
        dev={"dev": sets["dev"]},
        test={"test": sets["test"]} if "test" in sets else {},
        stride=stride,
        notes=_notes(sets.get("test")),
    )


def _notes(test):
    if not test or _has_tags(test):
        return ()
    return (f"the test set from {test[0].where} on is not scored: all of its tags are O",)


def _has_tags(sentences):
    return any(tag != "O" for sentence in sentences for tag in sentence.tags)


def _read(path, encoding, column, document_context):
    sentences = read_tagged(path, encoding, column)
    if not document_context:
        return sentences
    documents = join_documents(sentences)
    if len(documents) == 1:
        raise ValueError(f"--document_context needs a file with -DOCSTART- lines. Received: {path} without.")
    return documents


def _refuse_spans_without_kinds(sentences):
    """Raise ValueError for tags such as B, I, O or PER_B, which would pass for parts of speech and be scored so."""
    tags = {tag: sentence.where for sentence in sentences for tag in sentence.tags}
    if "O" in tags:
        other = next(tag for tag in tags if tag != "O")
        raise ValueError(
            "A file with the tag O must have spans with a kind, such as B-PER and I-PER. "
            f"Received: {other} beside O in the sentence from {tags[other]} on. Write B as B-NAME, PER_B as B-PER."
        )


def _check_tags(sets, has_spans, scheme):
    """Return the names of the model's labels; refuse tags that the training file has not."""

    def kind_of(tag, where):
        if not has_spans:
            return tag
        try:
            return split_tag(tag)[1]
        except ValueError as error:
            raise ValueError(f"{error} In the sentence from {where} on.") from error

    kinds = {kind_of(tag, sentence.where) for sentence in sets["train"] for tag in sentence.tags}
    for split in ("dev", "test"):
        for sentence in sets.get(split, ()):
            unknown = [tag for tag in sentence.tags if kind_of(tag, sentence.where) not in kinds | {""}]
            if unknown:
                raise ValueError(
                    f"A tag must be of a kind that is in the training file: {sorted(kinds)}. "
                    f"Received: {unknown[0]} in the sentence from {sentence.where} on."
                )
    return label_names(kinds - {""}, scheme) if has_spans else tuple(sorted(kinds))


def _in_scheme(sentence, scheme):
    parts = _split(sentence.tags, sentence.lengths)
    tags = [tag for part in parts for tag in tags_of_spans(spans_of_tags(part), len(part), scheme)]
    return dataclasses.replace(sentence, tags=tuple(tags))
