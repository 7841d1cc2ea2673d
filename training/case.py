"""Is a vocabulary used in the case that it was learnt in?"""

from kbert.convert.tokenizer_fit import reads_no_capitals
from kbert.text.tokenizer_files import has_capitals


def check_case(tokenizer, where, advice):
    """Raise ValueError where a cased vocabulary is used with lower-casing: its capitals would never be read.

    Args:
        tokenizer: `WordPieceTokenizer`.
        where: what it was read from, for the message.
        advice: str, what to do, for the message.
    """
    if tokenizer.lowercase and has_capitals(tokenizer.vocabulary):
        raise ValueError(
            f"A cased vocabulary must be used without lower-casing. Received: {where} with capital letters. {advice}"
        )


def check_cased_flag(tokenizer, where):
    """Raise ValueError where --cased, which said how to read a vocab.txt, is missing or too much."""
    check_case(tokenizer, where, "Add --cased.")
    if reads_no_capitals(tokenizer):
        raise ValueError(
            f"An uncased vocabulary must be used with lower-casing: every capital would be [UNK]. Received: {where} "
            "without capital letters, --cased. Leave --cased out."
        )
