"""Which characters need no more than what `FastWordpieceTokenizer` does by itself."""

import functools

import tensorflow as tf
import tensorflow_text

from kbert.text.code_points import BLANK, ITSELF, PAGE_BITS, code_point_table

_BASIC_PLANE = [code_point for code_point in range(0x10000) if not 0xD800 <= code_point < 0xE000]


@functools.cache
def plain_text_pattern(lowercase, strip_accents, split_chinese, special_tokens_in_text):
    """Return a regular expression that matches a text of plain characters only.

    A character is plain if lower-casing by `tf.strings.lower` (with `lowercase`) and the splitting of the op do to it
    what BERT does, wherever it stands. Both are asked, character by character. "[" is not plain where it may begin a
    special token.

    Args:
        lowercase, strip_accents, split_chinese, special_tokens_in_text: as in `WordPieceTokenizer`.

    Returns:
        str in RE2's syntax, for `tf.strings.regex_full_match`.
    """
    table = code_point_table(lowercase, strip_accents, split_chinese)
    expected = [_normal_form(table, code_point) for code_point in _BASIC_PLANE]
    lowered = _lowered(_BASIC_PLANE, lowercase)
    num_words = _num_words(_BASIC_PLANE)
    plain = [
        code_point
        for code_point, form, lower, count in zip(_BASIC_PLANE, expected, lowered, num_words, strict=True)
        if form == (lower, count) and not (special_tokens_in_text and code_point == ord("["))
    ]
    ranges = "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in _ranges(plain))
    return f"[{ranges}]*"


def _normal_form(table, code_point):
    """Return what BERT makes of a character, and into how many words it parts "a?a"; None for a case apart."""
    row = table.patterns[table.pages[code_point >> PAGE_BITS], code_point % (1 << PAGE_BITS)]
    match table.replacements[table.starts[row] : table.starts[row + 1]].tolist():
        case [part] if part == BLANK:
            return chr(code_point), 2
        case [part]:
            num_words = 1
        case [before, part, after] if before == after == BLANK:
            num_words = 3
        case _:
            return None
    return chr(code_point if part == ITSELF else part), num_words


def _lowered(code_points, lowercase):
    characters = [chr(code_point) for code_point in code_points]
    if not lowercase:
        return characters
    # Alone and at the end of a word: a capital sigma differs there.
    alone, at_end = (
        [text.decode() for text in tf.strings.lower([before + each for each in characters], "utf-8").numpy()]
        for before in ("", "a")
    )
    return [one if "a" + one == other else None for one, other in zip(alone, at_end, strict=True)]


def _num_words(code_points):
    probe = tensorflow_text.FastWordpieceTokenizer(["[UNK]", "a", "##a"], token_out_type=tf.int32)
    token_ids = probe.tokenize([f"a{chr(code_point)}a" for code_point in code_points]).to_list()
    # One word, unknown or "aaa"; two words with a blank between; three, of which the middle one is not known.
    counts = {(0,): 1, (1, 2, 2): 1, (1, 1): 2, (1, 0, 1): 3}
    return [counts.get(tuple(ids)) for ids in token_ids]


def _ranges(numbers):
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
