"""Does a tokenizer fit the model beside it?"""

import string
import warnings

from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.tokenizer_files import has_capitals, read_tokenizer_files


def read_fitting_tokenizer(folder, config):
    """Read the tokenizer of a checkpoint folder, and refuse one that is not the model's.

    Args:
        folder: checkpoint folder.
        config: `BertConfig` of the model.

    Returns:
        `WordPieceTokenizer`.

    Raises:
        FileNotFoundError: there is no vocabulary.
        ValueError: the vocabulary is damaged, has another length than the token table, or its case does not match.
    """
    vocabulary, settings, path = read_tokenizer_files(folder)
    tokenizer = WordPieceTokenizer(vocabulary, **settings)
    check_tokenizer(tokenizer, config.vocabulary_size, path)
    return tokenizer


def check_tokenizer(tokenizer, vocabulary_size, where):
    """Raise ValueError unless a tokenizer has as many tokens as the table has rows, and letters of its own case."""
    if tokenizer.vocabulary_size != vocabulary_size:
        raise ValueError(
            "A vocabulary must have as many tokens as the model's table has rows. "
            f"Received: {tokenizer.vocabulary_size} tokens in {where}, vocabulary_size={vocabulary_size}."
        )
    check_case(tokenizer, where, "Change do_lower_case in tokenizer_config.json.")


def check_case(tokenizer, where, advice):
    """Raise ValueError unless a tokenizer lower-cases just where its vocabulary has no capitals.

    A Chinese vocabulary without capitals may go without, with a warning: so does the Chinese BERT on the hub.

    Args:
        tokenizer: `WordPieceTokenizer`.
        where: what it was read from, for the message.
        advice: str, what to do, for the message.

    Source: google-research/bert `tokenization.validate_case_matches_checkpoint`, which goes by the checkpoint's name;
    this goes by the vocabulary.
    """
    is_cased = has_capitals(tokenizer.vocabulary)
    if tokenizer.lowercase and is_cased:
        raise ValueError(
            f"A cased vocabulary must be used without lower-casing. Received: {where} with capital letters, "
            f"lowercase=True. {advice}"
        )
    if tokenizer.lowercase or is_cased or not set(string.ascii_lowercase) <= set(tokenizer.vocabulary):
        return
    problem = f"Received: {where} without capital letters, lowercase=False. {advice}"
    if not _is_chinese(tokenizer.vocabulary):
        raise ValueError(
            f"An uncased vocabulary must be used with lower-casing: every capital would be [UNK]. {problem}"
        )
    warnings.warn(f"Every Latin capital will be [UNK]. {problem}", stacklevel=3)


def _is_chinese(vocabulary):
    return sum("\u4e00" <= token.removeprefix("##") <= "\u9fff" for token in vocabulary) > len(vocabulary) / 2
