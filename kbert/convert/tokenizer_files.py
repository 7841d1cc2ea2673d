"""The tokenizer of a checkpoint folder, and whether it fits the model."""

import json
import pathlib
import string

from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import read_vocabulary


def read_tokenizer(folder, config):
    """Read the tokenizer beside a model.

    The vocabulary is `vocab.txt`, or what `tokenizer.json` holds. Lower-casing is what `tokenizer_config.json` or
    `tokenizer.json` says; where neither speaks (Google's folders), what the vocabulary shows.

    Args:
        folder: checkpoint folder.
        config: `BertConfig` of the model.

    Returns:
        `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: there is no vocabulary.
        ValueError: the vocabulary is damaged, has another length than the token table, or its case does not match.
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
    tokenizer = WordPieceTokenizer(
        vocabulary,
        lowercase=settings.get("do_lower_case", normalizer.get("lowercase", not _has_capitals(vocabulary))),
        strip_accents=settings.get("strip_accents", normalizer.get("strip_accents")),
        split_chinese=settings.get("tokenize_chinese_chars", normalizer.get("handle_chinese_chars", True)),
    )
    check_tokenizer(tokenizer, config.vocabulary_size, path)
    return tokenizer


def check_tokenizer(tokenizer, vocabulary_size, where):
    """Raise ValueError unless a tokenizer has as many tokens as the table has rows, and letters of its own case.

    Source: google-research/bert `tokenization.validate_case_matches_checkpoint`, which goes by the checkpoint's name;
    this goes by the vocabulary.
    """
    if tokenizer.vocabulary_size != vocabulary_size:
        raise ValueError(
            "A vocabulary must have as many tokens as the model's table has rows. "
            f"Received: {tokenizer.vocabulary_size} tokens in {where}, vocabulary_size={vocabulary_size}."
        )
    has_capitals = _has_capitals(tokenizer.vocabulary)
    if tokenizer.lowercase and has_capitals:
        raise ValueError(
            f"A cased vocabulary must be used without lower-casing. Received: {where} with capital letters, "
            "lowercase=True. Set do_lower_case to false in tokenizer_config.json."
        )
    if not tokenizer.lowercase and not has_capitals and set(string.ascii_lowercase) <= set(tokenizer.vocabulary):
        raise ValueError(
            f"An uncased vocabulary must be used with lower-casing: every capital would be [UNK]. Received: {where} "
            "without capital letters, lowercase=False. Set do_lower_case to true in tokenizer_config.json."
        )


def _has_capitals(vocabulary):
    return not set(string.ascii_uppercase).isdisjoint(vocabulary)


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
