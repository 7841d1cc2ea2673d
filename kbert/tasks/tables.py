"""Tables of texts: TSV as it is, CSV with quotes, JSON lines; compressed or not."""

import csv
import dataclasses
import json
import pathlib

from kbert.text.text_files import OPENERS, read_lines

SUFFIXES = (".tsv", ".csv", ".jsonl", ".txt")


@dataclasses.dataclass(frozen=True)
class Line:
    """One row of a table.

    Attributes:
        cells: dict of column to str; of a JSON line to any value of JSON. A row with fewer cells than the header lacks
            the last columns.
        where: str, "line 3 of FILE", for messages.
    """

    cells: dict
    where: str


def find_file(folder, stem, suffixes=SUFFIXES):
    """Return the path of the file `stem` with any of the suffixes, compressed or not, or None.

    Raises:
        ValueError: there are several.
    """
    names = (f"{stem}{suffix}{packed}" for suffix in suffixes for packed in ("", *OPENERS))
    found = [path for path in (pathlib.Path(folder) / name for name in names) if path.is_file()]
    if len(found) > 1:
        raise ValueError(f"There must be one {stem} file in {folder}. Received: {', '.join(map(str, found))}.")
    return found[0] if found else None


def read_table(path, header=None, encoding="utf-8", may_be_short=False):
    """Yield each `Line` of a table.

    In .tsv and .txt every tab ends a cell and a quote is a character like any other, as in GLUE's files. In .csv cells
    may stand in quotes, as RFC 4180 says. A .jsonl file has an object a line.

    Args:
        path: pathlib.Path; .xz, .gz and .bz2 are decompressed on the way.
        header: tuple of str, for a file that has none; None to take the first line.
        encoding: str; see `kbert.text.text_files.read_lines`.
        may_be_short: bool. True: take a row with too few cells; its last columns are not in `cells`.

    Raises:
        ValueError: the file is not in `encoding`, a row has another number of cells than the header, a quote is never
            closed, or a line is no JSON object.
    """
    path = pathlib.Path(path)
    suffix = (path.with_suffix("") if path.suffix in OPENERS else path).suffix
    lines = read_lines(path, encoding)
    if suffix == ".jsonl":
        yield from _read_json_lines(lines, path)
        return
    rows = _read_csv(lines, path) if suffix == ".csv" else _read_tabs(lines)
    for number, cells in rows:
        where = f"line {number} of {path}"
        if header is None:
            header = _check_header(cells, where)
            continue
        if len(cells) > len(header) or (len(cells) < len(header) and not may_be_short):
            raise ValueError(
                f"A row must have as many cells as the header, {len(header)}. Received: {len(cells)} cells in {where}."
            )
        yield Line(dict(zip(header, cells, strict=False)), where)


def _read_tabs(lines):
    for number, line in lines:
        line = line.rstrip("\r\n")
        if line:
            yield number, line.split("\t")


def _read_csv(lines, path):
    reader = csv.reader((line for _, line in lines), strict=True)
    while True:
        number = reader.line_num + 1  # A cell in quotes may go on over several lines; the first is named.
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"A cell in quotes must end with a quote and a comma, quotes inside doubled. Received: line {number} "
                f"of {path}: {error}."
            ) from error
        if cells:
            yield number, cells


def _read_json_lines(lines, path):
    for number, line in lines:
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except ValueError as error:
            raise ValueError(f"A line must be JSON. Received: line {number} of {path}: {error}.") from error
        if not isinstance(cells, dict):
            raise ValueError(f"A line must be a JSON object. Received: {cells!r} in line {number} of {path}.")
        yield Line(cells, f"line {number} of {path}")


def _check_header(cells, where):
    if len(set(cells)) < len(cells):
        raise ValueError(f"The columns of a table must have different names. Received: {cells} in {where}.")
    return tuple(cells)
