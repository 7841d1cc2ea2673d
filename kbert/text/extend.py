"""Words of one's own in an existing vocabulary."""

import collections
import re

from kbert.text.tokenizer import WordPieceTokenizer

_FREE_SLOT = re.compile(r"\[unused\d+\]")


def find_domain_words(texts, tokenizer, max_words=1000, min_frequency=2, root_of=None):
    """Find the words of a corpus that the vocabulary has only in pieces, or not at all.

    Args:
        texts: iterable of str.
        tokenizer: `WordPieceTokenizer`.
        max_words: int. The most words returned.
        min_frequency: int. A word seen less often is left out.
        root_of: function of a word to what of it is to be counted, such as `kbert.text.particles.without_particle`;
            None to count words as they stand.

    Returns:
        list of str in the tokenizer's normal form (lower case if it is uncased), the most frequent first, equals in
        alphabetical order.
    """
    counts = collections.Counter(word for text in texts for word in tokenizer.split_words(text))
    if root_of is not None:
        words, counts = counts, collections.Counter()
        for word, count in words.items():
            counts[root_of(word)] += count
    known = set(tokenizer.vocabulary)
    found = [word for word, count in counts.items() if count >= min_frequency and word not in known]
    return sorted(found, key=lambda word: (-counts[word], word))[:max_words]


def extend_tokenizer(tokenizer, words):
    """Add whole words to a vocabulary: in its "[unused0]" ... slots first, then at its end.

    No other token changes its id. Text without the new words is split as before, but for longer words that start with
    one: with "cardio" added, "cardiology" starts with it.

    Args:
        tokenizer: `WordPieceTokenizer`.
        words: list of str. Brought to the tokenizer's normal form; those it has already are passed over.

    Returns:
        `WordPieceTokenizer` with the same settings.

    Raises:
        ValueError: a word is not one word to BERT, such as "x-ray", which is three, or "".

    Example:
        >>> base = WordPieceTokenizer(["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heart"])
        >>> extend_tokenizer(base, ["Stent", "heart", "valve"]).vocabulary[1::5]
        ['stent', 'heart']
    """
    vocabulary = list(tokenizer.vocabulary)
    known = set(vocabulary)
    free = [index for index, token in enumerate(vocabulary) if _FREE_SLOT.fullmatch(token)][::-1]
    for word in words:
        parts = tokenizer.split_words(word)
        if len(parts) != 1:
            raise ValueError(
                f"A word to add must be one word to BERT. Received: {word!r}, which is {parts}. Add those you need."
            )
        if parts[0] in known:
            continue
        known.add(parts[0])
        if free:
            vocabulary[free.pop()] = parts[0]
        else:
            vocabulary.append(parts[0])
    return WordPieceTokenizer(vocabulary, **tokenizer.settings)
