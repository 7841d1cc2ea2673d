"""What a checkpoint folder says about its tokenizer, whoever wrote it."""

import json
import pathlib
import re
import string

from kbert.text.vocabulary import read_vocabulary

MAX_WORD_LENGTH = 100  # Hugging Face's. Google's is 200.
_SYLLABLE = re.compile("[가-힣]")


def read_tokenizer_files(folder):
    """Read a vocabulary and its settings.

    The vocabulary is `vocab.txt`, or what `tokenizer.json` holds. Lower-casing is what `tokenizer_config.json` or
    `tokenizer.json` says; where neither speaks (Google's folders), what the vocabulary shows. There accents stay if it
    has whole Hangul syllables.

    Args:
        folder: checkpoint folder.

    Returns:
        (list of str, dict of `lowercase`, `strip_accents`, `split_chinese` and `max_word_length`, path of the
        vocabulary).

    Raises:
        FileNotFoundError: there is no vocabulary.
        ValueError: a file is damaged.
    """
    folder = pathlib.Path(folder)
    engine = _read_json(folder / "tokenizer.json")
    path = folder / "vocab.txt"
    if path.is_file():
        vocabulary = read_vocabulary(path)
    elif engine:
        path = folder / "tokenizer.json"
        vocabulary = _vocabulary_of(engine, path)
    else:
        raise FileNotFoundError(f"A checkpoint folder must hold vocab.txt. Received: {folder}, which has none.")
    normalizer = engine.get("normalizer") or {}
    settings = _read_json(folder / "tokenizer_config.json")
    shown = None if settings or engine or not has_hangul_syllables(vocabulary) else False
    arguments = {
        "lowercase": settings.get("do_lower_case", normalizer.get("lowercase", not has_capitals(vocabulary))),
        "strip_accents": settings.get("strip_accents", normalizer.get("strip_accents", shown)),
        "split_chinese": settings.get("tokenize_chinese_chars", normalizer.get("handle_chinese_chars", True)),
        "max_word_length": settings.get(
            "max_word_length", (engine.get("model") or {}).get("max_input_chars_per_word", MAX_WORD_LENGTH)
        ),
    }
    return vocabulary, arguments, path


def has_capitals(vocabulary):
    """Tell whether most of A to Z are tokens. A stray one, out of an odd text, does not make a vocabulary cased."""
    return len(set(string.ascii_uppercase).intersection(vocabulary)) > 13


def has_hangul_syllables(vocabulary):
    """Tell whether whole syllables are among the tokens. Stripping accents takes syllables apart, and finds none."""
    return any(_SYLLABLE.search(token) for token in vocabulary)


def _vocabulary_of(engine, path):
    ids = engine.get("model", {}).get("vocab")
    if not isinstance(ids, dict) or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"tokenizer.json must hold a WordPiece vocabulary numbered from 0. Received: {path}.")
    return sorted(ids, key=ids.get)


def _read_json(path):
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"A settings file must hold JSON. Received: {path}: {error}.") from error
