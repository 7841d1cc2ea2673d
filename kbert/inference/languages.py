"""Which of kbert's own models reads a text."""

import functools
import re

ENGLISH, KOREAN = "kbert-small-en", "kbert-small-ko"
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")


def preset_for(*texts):
    """Return the name of the preset for texts: the Korean one if one of them holds Hangul, else the English one."""
    return KOREAN if any(_HANGUL.search(text) for text in texts) else ENGLISH


def by_language(make):
    """Return a function that puts each question to the preset for its texts.

    Args:
        make: a class of questions, such as `FillMask`; called with the name of a preset when that is first asked.

    Returns:
        A function of the class's call arguments. Texts are those that are str, also in a list or in pairs.
    """
    open_once = functools.cache(make)

    def ask(*values, **settings):
        return open_once(preset_for(*_texts(values)))(*values, **settings)

    return ask


def reads(tokenizer):
    """Return the languages, of "en" and "ko", whose everyday words are tokens of a `WordPieceTokenizer`."""
    words = {"en": "the", "ko": "##는"}
    return tuple(language for language, word in words.items() if tokenizer.token_to_id(word) is not None)


def _texts(values):
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from _texts(value)
