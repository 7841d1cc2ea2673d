"""Open a text file, compressed or not, and decode its lines in the encoding it is said to have."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib

OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
# What a file that was cut off or changed on its way raises when it is read.
BROKEN_FILE_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error)
GUESS_BYTES = 2**16
COMMON_ENCODINGS = [
    *("utf_8", "utf_16", "utf_16_le", "utf_16_be", "cp949", "cp932", "euc_jp", "gb18030", "big5"),
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "iso8859_2"),
]


def open_binary(path):
    """Open a file for reading bytes; .xz, .gz and .bz2 are decompressed on the way."""
    return io.BufferedReader(OPENERS.get(path.suffix, io.FileIO)(path))


def read_lines(path, encoding="utf-8"):
    """Yield (number from 1, line with its line feed); only line feeds end a line. A byte order mark is dropped.

    Args:
        path: pathlib.Path.
        encoding: str, a text encoding of Python's. "euc-kr" is read as "cp949", which holds all of it and more.
    Raises:
        ValueError: `encoding` is unknown; the file is not in it, or is cut off.
    """
    encoding, line_feed = _check_encoding(encoding)
    number = 0  # of the last line read whole
    with open_binary(path) as file:
        # In UTF-16 a line feed has two bytes, so lines are found after decoding.
        lines = file if line_feed == b"\n" else io.TextIOWrapper(file, encoding, newline="\n")
        try:
            for number, line in enumerate(lines, start=1):
                text = line.decode(encoding) if isinstance(line, bytes) else line
                yield number, text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            number += line_feed != b"\n"  # Lines that are found after decoding fail before they are counted.
            raise ValueError(
                f"A corpus file must be in the encoding it is read in, here {encoding}. "
                f"Received: line {number} of {path}: {error}. {_advice(path, encoding)}"
            ) from error
        except BROKEN_FILE_ERRORS as error:
            raise ValueError(
                f"A corpus file must be whole. Received: line {number + 1} of {path}: {error}. Copy it again."
            ) from error


def _check_encoding(encoding):
    try:
        name = codecs.lookup(encoding).name
        name = {"euc_kr": "cp949"}.get(name, name)
        return name, "\n".encode(name)
    except LookupError as error:
        raise ValueError(
            f"`encoding` must be a text encoding of Python's. Received: encoding={encoding!r}. "
            "Give for example utf-8, cp949 (EUC-KR), shift_jis, gb18030 or utf-16."
        ) from error


def _advice(path, encoding):
    likely = guess_encoding(path)
    if likely in (None, encoding):
        return "Say which encoding it is in (`encoding`, --encoding), or convert it, `iconv -f CP949 -t UTF-8`."
    return f"It looks like {likely}: set `encoding` (--encoding {likely}), or convert it, `iconv -f {likely} -t UTF-8`."


def guess_encoding(path):
    """Name the likely encoding of a file by its first lines that are no ASCII, or None if that cannot be said.

    Needs the package `charset-normalizer`; without it nothing is guessed.
    """
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    with open_binary(path) as file:
        try:
            sample = next((line for line in file if not line.isascii()), b"") + file.read(GUESS_BYTES)
        except BROKEN_FILE_ERRORS:
            return None
    # A character may be cut in two at the end.
    best = from_bytes(sample[: sample.rfind(b"\n") + 1] or sample, cp_isolation=COMMON_ENCODINGS).best()
    return best and codecs.lookup(best.encoding).name
