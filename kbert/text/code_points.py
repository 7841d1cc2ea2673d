"""BERT's normalisation as a table: what each Unicode code point becomes."""

import dataclasses
import functools

import numpy as np
import tokenizers

NUM_CODE_POINTS = 0x110000
PAGE_BITS = 8
ITSELF = -1
BLANK = ord(" ")
_PAGE_SIZE = 1 << PAGE_BITS
_LETTER = "\u12a0"  # Ethiopic: no case, no parts, no part of another.
_SURROGATES = range(0xD800, 0xE000)


@dataclasses.dataclass(frozen=True)
class CodePointTable:
    """Say of each code point which short string it becomes, in three arrays small enough to be constants of a graph.

    The *pattern* of code point c is `patterns[pages[c >> PAGE_BITS], c & 255]`; pattern p is the code points
    `replacements[starts[p] : starts[p + 1]]`, where `ITSELF` stands for c. Blanks part words: they are round each
    punctuation mark and, with `split_chinese`, each Chinese character.

    Attributes:
        pages: int32 `[4352]`, the row in `patterns` of each 256 code points.
        patterns: int32 `[rows, 256]`.
        starts: int32 `[num_patterns + 1]`.
        replacements: int32.
    """

    pages: np.ndarray
    patterns: np.ndarray
    starts: np.ndarray
    replacements: np.ndarray

    def pattern_id(self, pattern):
        """Return the number of a pattern, a tuple of code points and `ITSELF`."""
        return self._ids[pattern]

    @functools.cached_property
    def _ids(self):
        return {
            tuple(self.replacements[start:end].tolist()): index
            for index, (start, end) in enumerate(zip(self.starts, self.starts[1:], strict=False))
        }


@functools.cache
def code_point_table(lowercase=True, strip_accents=None, split_chinese=True):
    """Ask the `tokenizers` library what it does to each code point.

    One code point after another is the same as the whole text, but for two neighbouring marks that are kept and that
    NFD would swap (spacing marks of different combining classes, such as U+302E before U+1B44): these stay as written.

    Args:
        lowercase: bool.
        strip_accents: bool, or None to follow `lowercase`.
        split_chinese: bool.

    Returns:
        `CodePointTable`, cached. It always has the patterns `(ITSELF,)`, `(BLANK, ITSELF)` and `(ITSELF, BLANK)`.
    """
    normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=split_chinese, strip_accents=strip_accents, lowercase=lowercase
    )
    ids = {(ITSELF,): 0, (BLANK, ITSELF): 1, (ITSELF, BLANK): 2}
    rows, pages = {}, []
    for first in range(0, NUM_CODE_POINTS, _PAGE_SIZE):
        # A surrogate is not a character, and no decoder gives one.
        page = [] if first in _SURROGATES else [chr(first + offset) for offset in range(_PAGE_SIZE)]
        found = [ids.setdefault(pattern, len(ids)) for pattern in _patterns(page, normalizer)] or [0] * _PAGE_SIZE
        pages.append(rows.setdefault(tuple(found), len(rows)))
    return CodePointTable(
        pages=np.array(pages, "int32"),
        patterns=np.array(list(rows), "int32"),
        starts=np.cumsum([0, *map(len, ids)], dtype="int32"),
        replacements=np.array([part for pattern in ids for part in pattern], "int32"),
    )


def _patterns(characters, normalizer):
    # All at once, with a letter between that stays as it is: a call each would take a second.
    others = [character for character in characters if character != _LETTER]
    found = normalizer.normalize_str(_LETTER.join(others)).split(_LETTER)
    if not any(found):  # Most pages: no characters, or private ones.
        yield from [()] * len(characters)
        return
    texts = dict(zip(others, found, strict=True)) | {_LETTER: _LETTER}
    marks = _punctuation({part for text in texts.values() for part in text})
    for character in characters:
        text = texts[character]
        yield (ITSELF,) if text == character and text not in marks and text != " " else _pattern(character, text, marks)


def _pattern(character, text, marks):
    pattern = []
    for part in text:
        itself = BLANK if part == " " else ITSELF if part == character else ord(part)
        pattern += [BLANK, itself, BLANK] if part in marks else [itself]
    # One blank parts words as well as two.
    return tuple(part for here, part in enumerate(pattern) if part != BLANK or pattern[here - 1 : here] != [BLANK])


def _punctuation(characters):
    # Those the splitter makes a word of their own, though a letter stands on either side.
    text = _LETTER + _LETTER.join(sorted(characters)) + _LETTER
    words = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)
    return {word for word, _ in words if len(word) == 1 and word != _LETTER}
