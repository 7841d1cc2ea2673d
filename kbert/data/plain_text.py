"""Which texts need no more than what `FastWordpieceTokenizer` does by itself."""

import functools
import re

import tensorflow as tf
import tensorflow_text

from kbert.text.code_points import BLANK, ITSELF, PAGE_BITS, code_point_table
from kbert.text.vocabulary import SPECIAL_TOKENS

_BASIC_PLANE = [code_point for code_point in range(0x10000) if not 0xD800 <= code_point < 0xE000]
_MOST_BYTES = 3  # Of a character of the basic plane in UTF-8.
_SHORTEST_RANGE = 3  # Of characters that part words; fewer ranges make a smaller automaton.


@functools.cache
def plain_characters(lowercase, strip_accents, split_chinese):
    """Return the characters that need no more than lower-casing of ASCII and the op.

    A character is plain if lower-casing of ASCII (with `lowercase`) and the splitting of the op do to it what BERT
    does. The op is asked, character by character.

    Args:
        lowercase, strip_accents, split_chinese: as in `WordPieceTokenizer`.

    Returns:
        str, a class of characters in RE2's syntax, without its brackets: for "[...]*" or "[^...]+".
    """
    table = code_point_table(lowercase, strip_accents, split_chinese)
    return _character_class(
        code_point
        for code_point, num_words in zip(_BASIC_PLANE, _num_words(), strict=True)
        if _normal_form(table, code_point) == (_lower(code_point) if lowercase else chr(code_point), num_words)
    )


@functools.cache
def odd_text_pattern(max_word_length, special_tokens_in_text):
    """Return a regular expression that matches every text that the op would split otherwise, plain or not.

    That is a text with a special token, or with a word of plain characters that may be too long: the op counts bytes,
    of which a plain character has three at most. Some texts with shorter words match too.

    Args:
        max_word_length, special_tokens_in_text: as in `WordPieceTokenizer`.

    Returns:
        str in RE2's syntax, for `tf.strings.regex_full_match`.
    """
    parting = (code_point for code_point, count in zip(_BASIC_PLANE, _num_words(), strict=True) if count in (2, 3))
    joined = f"[^{_character_class(parting, shortest=_SHORTEST_RANGE)}]"
    odd = [f"{joined}{{{max_word_length // _MOST_BYTES + 1}}}"]
    if special_tokens_in_text:
        odd += map(re.escape, SPECIAL_TOKENS)
    return rf"\C*(?:{'|'.join(odd)})\C*"  # Any bytes, UTF-8 or not.


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


def _lower(code_point):
    return chr(code_point).lower() if code_point < 0x80 else chr(code_point)


@functools.cache
def _num_words():
    """Return into how many words the op parts "a?a", with each character of the basic plane for the "?"."""
    probe = tensorflow_text.FastWordpieceTokenizer(["[UNK]", "a", "##a"], token_out_type=tf.int32)
    token_ids = probe.tokenize([f"a{chr(code_point)}a" for code_point in _BASIC_PLANE]).to_list()
    # One word, unknown or "aaa"; two words with a blank between; three, of which the middle one is not known.
    counts = {(0,): 1, (1, 2, 2): 1, (1, 1): 2, (1, 0, 1): 3}
    return tuple(counts.get(tuple(ids)) for ids in token_ids)


def _character_class(code_points, shortest=1):
    ranges = (each for each in _ranges(code_points) if each[1] - each[0] + 1 >= shortest)
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in ranges)


def _ranges(numbers):
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
