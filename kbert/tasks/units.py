"""Which token stands for a word, and which words for a token?"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Units:
    """The tokens that words begin with, in reading order.

    Attributes:
        tokens: list of int, the number in the text of each such token.
        words: list of lists of int, the words that begin in it: one, or several where a token covers several words, as
            it does where words are single characters. A word without any token, such as a blank, is in none.
    """

    tokens: list
    words: list

    def from_words(self, spans):
        """Return spans of words as spans of units; of two in one unit the first stays."""
        unit_of = {word: unit for unit, words in enumerate(self.words) for word in words}
        found, last_end = [], 0
        for first, end, kind in spans:
            units = [unit_of[word] for word in range(first, end) if word in unit_of]
            if units and units[-1] >= last_end:
                found.append((max(units[0], last_end), units[-1] + 1, kind))
                last_end = units[-1] + 1
        return found

    def to_words(self, spans):
        """Return spans of units as spans of words, words without token inside them included."""
        return [(self.words[first][0], self.words[end - 1][-1] + 1, kind) for first, end, kind in spans]


def find_units(token_offsets, word_offsets):
    """Find the first token of each word.

    Args:
        token_offsets: int `[n, 2]`, characters (start, end) of the tokens of a text.
        word_offsets: sequence of (start, end) of its words, in reading order.

    Returns:
        `Units`.
    """
    tokens, words = [], []
    candidates = np.searchsorted(token_offsets[:, 1], [start for start, _ in word_offsets], side="right")
    for word, ((_, end), token) in enumerate(zip(word_offsets, candidates, strict=True)):
        if token == len(token_offsets) or token_offsets[token, 0] >= end:
            continue
        if tokens and tokens[-1] == token:
            words[-1].append(word)
        else:
            tokens.append(int(token))
            words.append([word])
    return Units(tokens, words)
