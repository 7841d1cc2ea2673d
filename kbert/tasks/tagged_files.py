"""Sentences with a tag a word: CoNLL-2003, KLUE-NER and other columns, CoNLL-U."""

import dataclasses

from kbert.text.text_files import read_lines

DOCUMENT_START = "-DOCSTART-"
# Columns of CoNLL-U: form, and the tags one may ask for.
_CONLLU_FORM, _CONLLU_MISC = 1, 9
CONLLU_COLUMNS = {"upos": 3, "xpos": 4, "misc": _CONLLU_MISC}


@dataclasses.dataclass(frozen=True)
class Sentence:
    """Words with their tags.

    Attributes:
        words: tuple of str.
        tags: tuple of str.
        text: str, the words with the blanks between them that the file says.
        offsets: tuple of (start, end), the characters of each word in `text`.
        starts_document: bool. True: the sentence is the first of a document.
        where: str, "line 3 of FILE", its first word.
        lengths: tuple of int, the words of each sentence, where several were joined.
    """

    words: tuple
    tags: tuple
    text: str
    offsets: tuple
    starts_document: bool
    where: str
    lengths: tuple


def read_tagged(path, encoding="utf-8", column="upos"):
    """Read the sentences of a file, by its look.

    Columns stand apart by tabs, if there is one in the line, else by blanks; the first is the word, the last its tag.
    An empty line ends a sentence; comments of KLUE-NER, "## ", and "-DOCSTART-" lines are no words. Where all words of
    a file are single characters, as KLUE-NER's are, nothing stands between them, else one blank. A .conllu file has
    ten columns, lines of "#", and says itself where no blank stands.

    Args:
        path: pathlib.Path, compressed or not.
        encoding: str; see `kbert.text.text_files.read_lines`.
        column: for .conllu "upos", "xpos", or "misc" for the value of NER= or Entity= there.

    Returns:
        list of `Sentence`.

    Raises:
        ValueError: a line has another number of columns than the first, or there is no sentence.
    """
    if ".conllu" in path.suffixes:
        groups = list(_read_conllu(path, encoding, CONLLU_COLUMNS[column]))
    else:
        groups = list(_read_columns(path, encoding))
        blank = any(len(word) > 1 for words, *_ in groups for word in words)
        groups = [(words, tags, [blank] * len(words), *rest) for words, tags, *rest in groups]
    if not groups:
        raise ValueError(f"A tagged file must hold sentences. Received: none in {path}.")
    return [_sentence(*group) for group in groups]


def _sentence(words, tags, blanks, starts_document, where):
    text, offsets = "", []
    for word, blank in zip(words, blanks, strict=True):
        offsets.append((len(text), len(text) + len(word)))
        text += word + " " * blank
    return Sentence(tuple(words), tuple(tags), text.rstrip(), tuple(offsets), starts_document, where, (len(words),))


def _read_columns(path, encoding):
    """Yield (words, tags, starts a document, where) of each sentence."""
    width, starts_document, lines = None, True, []
    for number, line in [*read_lines(path, encoding), (0, "\n")]:
        line = line.rstrip("\r\n")
        cells = line.split("\t") if "\t" in line else line.split()
        if line.startswith("## ") and (width is None or "\t" in line):
            continue
        if cells and cells[0] == DOCUMENT_START:
            starts_document = True
        elif len(cells) > 1:
            width = width or len(cells)
            if len(cells) != width:
                raise ValueError(
                    f"A line must have as many columns as the first, {width}. "
                    f"Received: {len(cells)} columns in line {number} of {path}."
                )
            lines.append((cells[0], cells[-1], number))
        elif cells and cells[0].strip():
            raise ValueError(f"A line must have a word and a tag. Received: {line!r} in line {number} of {path}.")
        elif lines:
            words, tags, numbers = zip(*lines, strict=True)
            yield words, tags, starts_document, f"line {numbers[0]} of {path}"
            starts_document, lines = False, []


def _read_conllu(path, encoding, column):
    """Yield the same with the blanks behind the words (0 or 1) after the tags."""
    words, tags, blanks, first, starts_document = [], [], [], None, True
    for number, line in [*read_lines(path, encoding), (0, "\n")]:
        line = line.rstrip("\r\n")
        if line.startswith("# newdoc"):
            starts_document = True
        cells = line.split("\t")
        if line.startswith("#") or "-" in cells[0] or "." in cells[0]:  # Comments, fused words, words left out.
            continue
        if line:
            if len(cells) != 10:
                raise ValueError(
                    f"A line of CoNLL-U must have 10 columns. Received: {len(cells)} in line {number} of {path}."
                )
            first = first or number
            words.append(cells[_CONLLU_FORM])
            tags.append(_misc_tag(cells[column]) if column == _CONLLU_MISC else cells[column])
            blanks.append("SpaceAfter=No" not in cells[_CONLLU_MISC].split("|"))
        elif words:
            yield words, tags, blanks, starts_document, f"line {first} of {path}"
            words, tags, blanks, first, starts_document = [], [], [], None, False


def _misc_tag(cell):
    values = dict(part.partition("=")[::2] for part in cell.split("|"))
    return values.get("NER") or values.get("Entity") or "O"


def join_documents(sentences):
    """Return one `Sentence` a document, `lengths` telling its sentences: every word is then read in a wide context."""
    documents = []
    for sentence in sentences:
        if sentence.starts_document or not documents:
            documents.append([])
        documents[-1].append(sentence)
    return [_join(document) for document in documents]


def _join(sentences):
    text, offsets = "", []
    for sentence in sentences:
        text += " " if text else ""
        offsets += [(start + len(text), end + len(text)) for start, end in sentence.offsets]
        text += sentence.text
    return Sentence(
        words=tuple(word for sentence in sentences for word in sentence.words),
        tags=tuple(tag for sentence in sentences for tag in sentence.tags),
        text=text,
        offsets=tuple(offsets),
        starts_document=True,
        where=sentences[0].where,
        lengths=tuple(len(sentence.words) for sentence in sentences),
    )
