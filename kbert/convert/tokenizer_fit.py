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
    """Raise ValueError unless a tokenizer has as many tokens as the table has rows, and letters of its own case.

    An uncased vocabulary without lower-casing is read as it is, with a warning: such is the Chinese BERT on the hub.

    Source: google-research/bert `tokenization.validate_case_matches_checkpoint`, which goes by the checkpoint's name;
    this goes by the vocabulary.
    """
    if tokenizer.vocabulary_size != vocabulary_size:
        raise ValueError(
            "A vocabulary must have as many tokens as the model's table has rows. "
            f"Received: {tokenizer.vocabulary_size} tokens in {where}, vocabulary_size={vocabulary_size}."
        )
    is_cased = has_capitals(tokenizer.vocabulary)
    if tokenizer.lowercase and is_cased:
        raise ValueError(
            f"A cased vocabulary must be used without lower-casing. Received: {where} with capital letters, "
            "lowercase=True. Set do_lower_case to false in tokenizer_config.json."
        )
    if reads_no_capitals(tokenizer):
        warnings.warn(
            f"Every capital letter is [UNK]: {where} has none, and lowercase=False. Set do_lower_case to true in "
            "tokenizer_config.json to have them lower-cased.",
            stacklevel=2,
        )


def reads_no_capitals(tokenizer):
    """Tell whether a tokenizer reads Latin capitals as [UNK] where its vocabulary has the small letters."""
    letters = set(string.ascii_lowercase) <= set(tokenizer.vocabulary)
    return letters and not tokenizer.lowercase and not has_capitals(tokenizer.vocabulary)
