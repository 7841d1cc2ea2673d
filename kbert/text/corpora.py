"""Read a corpus as a stream of cleaned documents, whatever common file format it comes in.

Formats, recognised by what stands in the file, each also compressed as .xz, .gz or .bz2:

- plain text: one or more sentences a line, a blank line ends a document (the layout of google-research/bert);
- JSON lines: one object a line with a text field (also WikiExtractor's `--json` output);
- WikiExtractor output: `<doc id=... url=... title="..."> ... </doc>`;
- MediaWiki XML dumps: the running text of the articles (needs mwparserfromhell).
"""

import glob
import hashlib
import html
import itertools
import json
import pathlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kbert.text.cleaning import clean_text
from kbert.text.mediawiki import read_articles
from kbert.text.text_files import read_lines

Paths = str | pathlib.Path | Iterable[str | pathlib.Path]

# Typed books break their lines at 60 to 80 characters; a paragraph that stands on one line soon has more than 100.
HARD_WRAP_LENGTH = 100
MAX_LONG_LINE_RATE = 0.01

_WIKI_DOC_START = re.compile(r"<doc (?:.*?\btitle=\"(.*)\")?.*>\s*$")
_JSON_NAME = re.compile(r"\.jsonl?(?:\.xz|\.gz|\.bz2)?$")
_JSON_START = re.compile(r"\{\s*\"")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class Document:
    """One cleaned document.

    Attributes:
        text: str, not empty. Paragraphs are separated by a line feed; none is empty.
        source: str, the file it came from.
        title: str, empty if the format has none. Not part of `text`.
    """

    text: str
    source: str
    title: str = ""


def find_corpus_files(patterns: Paths) -> list[pathlib.Path]:
    """List the files that files, folders and glob patterns name.

    Args:
        patterns: one or several, such as `wiki/**/*.xz`. A folder stands for all files below it but hidden ones.
    Returns:
        Sorted list of paths, each once.
    Raises:
        FileNotFoundError: a pattern names no file.
    """
    files = set()
    for pattern in _as_paths(patterns):
        # Not Path.glob: its "*" matches hidden names, and it takes no absolute pattern.
        found = [pattern] if pattern.exists() else glob.glob(str(pattern), recursive=True)  # noqa: PTH207
        matched = [file for path in found for file in _list_files(pathlib.Path(path))]
        if not matched:
            raise FileNotFoundError(
                f"A corpus path must name a file, a folder or a glob pattern with files. Received: {str(pattern)!r}. "
                "Check the path, and where it starts from."
            )
        files.update(matched)
    return sorted(files)


def read_documents(paths: Paths, text_key: str = "text", encoding: str = "utf-8") -> Iterator[Document]:
    """Yield the cleaned documents of all files, in order. Documents without a letter are left out.

    JSON lines may hold hard-wrapped text (typed books). A text with blank lines, of whose other lines at most 1 % are
    longer than 100 characters, is taken for that: the lines between two blank lines become one paragraph. Verse and
    tables of contents in such a text are run together too.

    Args:
        paths: files, as `find_corpus_files` lists them.
        text_key: str, the field of a JSON line that holds the text. A field `title`, if there, is kept.
        encoding: str, of all files but XML, which say it themselves. Any text encoding of Python's.
    Raises:
        ImportError: a file is a MediaWiki dump, and mwparserfromhell is not installed.
        ValueError: a file is in another encoding (the error says which one it looks like) or cut off; a JSON line is
            broken or lacks `text_key`; a `<doc>` is not closed, or text stands outside; XML is no MediaWiki dump.
    """
    for path in _as_paths(paths):
        for title, raw_text in _read_file(path, text_key, encoding):
            if text := clean_text(raw_text):
                yield Document(text=text, source=str(path), title=title)


def is_held_out(document: Document, rate: float) -> bool:
    """Say whether a document belongs to the held-out part of its corpus.

    Decided by a hash of the text alone: every process, order and machine decides the same, and a copy of the document
    falls on the same side. A larger rate holds out the same documents and more.

    Args:
        document: only its text counts.
        rate: float in [0, 1], the expected share held out.
    Raises:
        ValueError: `rate` lies outside [0, 1].
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"`rate` must lie in [0, 1]. Received: rate={rate}.")
    digest = hashlib.blake2b(document.text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < rate * 2**64


def _as_paths(paths):
    return [pathlib.Path(path) for path in ([paths] if isinstance(paths, str | pathlib.PurePath) else paths)]


def _list_files(path):
    if path.is_file():
        return [path]
    inner = (file for file in path.rglob("*") if file.is_file())
    return [file for file in inner if not any(part.startswith(".") for part in file.relative_to(path).parts)]


def _read_file(path, text_key, encoding):
    """Yield (title, raw text) of one file."""
    lines = read_lines(path, encoding)
    first = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    lines = itertools.chain([first], lines)
    if first[1].lstrip().startswith(("<mediawiki", "<?xml")):
        yield from read_articles(path)
    elif first[1].startswith("<doc "):
        yield from _read_wiki_extractor(path, lines)
    elif _JSON_NAME.search(path.name) or _JSON_START.match(first[1]):
        yield from _read_json_lines(path, lines, text_key)
    else:
        for is_blank, group in itertools.groupby((line for _, line in lines), key=lambda line: not line.strip()):
            if not is_blank:
                yield "", "".join(group)


def _read_json_lines(path, lines, text_key):
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            # JSON escapes can spell half a surrogate pair, which is no character: drop it.
            text = record[text_key].encode("utf-8", "ignore").decode()
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"Each line must be one JSON object whose field {text_key!r} is a string. "
                f"Received: line {number} of {path}: {error!r}. Write one object a line, or set `text_key`."
            ) from error
        yield str(record.get("title") or ""), _join_wrapped_lines(text)


def _join_wrapped_lines(text):
    paragraphs = _BLANK_LINE.split(text)
    lines = [line for line in text.split("\n") if line.strip()]
    num_long = sum(len(line) > HARD_WRAP_LENGTH for line in lines)
    if len(paragraphs) == 1 or num_long > MAX_LONG_LINE_RATE * len(lines):
        return text
    return "\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _read_wiki_extractor(path, lines):
    for start, first in lines:
        if not first.strip():
            continue
        opening, closed, body = _WIKI_DOC_START.match(first), False, []
        for _, line in lines:
            closed = line.strip() == "</doc>"
            if closed or _WIKI_DOC_START.match(line):
                break
            body.append(line)
        if not (opening and closed):
            fault = "a <doc> that is not closed" if opening else "text outside <doc>"
            raise ValueError(
                f"WikiExtractor output must be <doc ...> ... </doc> again and again. Received: line {start} of {path}, "
                f"{fault}. The file may be cut off: extract the dump again."
            )
        title = html.unescape(opening[1] or "").strip()
        if body and html.unescape(body[0]).strip() == title:
            del body[0]
        yield title, "".join(body)
