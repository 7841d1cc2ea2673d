"""Documents -> pairs of token sequences for next-sentence prediction.

A document is a list of sentences, a sentence a list of token ids without [CLS] and [SEP]. Sentences are gathered
into chunks of about the target length; a chunk is split in two between sentences; half of the time the second part is
replaced by text of another document, and the sentences that this leaves over begin the next chunk.

Differences from the reference: a "random" second part never comes from the same document (Google's code gives up after
ten tries and labels such a pair random all the same).

Source: google-research/bert `create_pretraining_data.py`, `create_instances_from_document` and `truncate_seq_pair`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

Document = list[list[int]]

NUM_SPECIAL_TOKENS = 3  # [CLS] first [SEP] second [SEP]


class SentencePair(NamedTuple):
    """Two token sequences without special tokens.

    Attributes:
        first: list of int, at least one.
        second: list of int, at least one.
        is_random_next: bool. True = `second` comes from another document, False = it follows `first`.
    """

    first: list[int]
    second: list[int]
    is_random_next: bool


def make_sentence_pairs(
    documents: Sequence[Document],
    *,
    max_sequence_length: int,
    rng: np.random.Generator,
    short_sequence_rate: float = 0.1,
    random_next_rate: float = 0.5,
) -> Iterator[SentencePair]:
    """Yield the sentence pairs of all documents, document by document.

    A chunk of one sentence has nothing to be its own next, so it is always a random pair: the share of random pairs
    lies above `random_next_rate`. Empty sentences and documents are left out.

    Args:
        documents: documents -> sentences -> token ids, at least two that are not empty.
        max_sequence_length: int, at least 5. Most tokens of a packed pair, special tokens included.
        rng: NumPy generator, the only source of randomness.
        short_sequence_rate: float in [0, 1]. Share of documents whose target length is drawn uniformly from 2 up
            to the full one, so that the model also meets short input.
        random_next_rate: float in [0, 1]. Share of random pairs among the chunks of several sentences.
    Returns:
        Iterator of `SentencePair`; the two lengths sum to at most `max_sequence_length - 3`.
    Raises:
        ValueError: fewer than two documents with text, a row too short for two tokens, a rate outside [0, 1].
    Source: google-research/bert `create_pretraining_data.py`, `create_instances_from_document`.
    """
    if max_sequence_length < NUM_SPECIAL_TOKENS + 2:
        raise ValueError(
            f"`max_sequence_length` must be at least {NUM_SPECIAL_TOKENS + 2}: three special tokens and one token a "
            f"sentence. Received: max_sequence_length={max_sequence_length}."
        )
    for name, rate in (("short_sequence_rate", short_sequence_rate), ("random_next_rate", random_next_rate)):
        if not 0 <= rate <= 1:
            raise ValueError(f"`{name}` must lie in [0, 1]. Received: {name}={rate}.")
    documents = _without_empty(documents)
    if len(documents) < 2:
        raise ValueError(
            "`documents` must hold at least two documents with text, because a random second sentence comes from "
            f"another document. Received: {len(documents)}. Use larger blocks of documents."
        )
    # Checked above rather than inside the generator, so that a mistake shows at the call, not at the first pair.
    max_length = max_sequence_length - NUM_SPECIAL_TOKENS
    return _pairs_of_all(documents, max_length, rng, short_sequence_rate, random_next_rate)


def pack(pair: SentencePair, cls_token_id: int, sep_token_id: int) -> tuple[list[int], list[int]]:
    """Join a pair to one row: [CLS] first [SEP] second [SEP].

    Args:
        pair: `SentencePair`.
        cls_token_id: int, id of [CLS].
        sep_token_id: int, id of [SEP].
    Returns:
        `token_ids` and `segment_ids`, two lists of one length. Segment 0 covers [CLS], `first` and the first [SEP].
    Source: BERT paper, figure 2; google-research/bert `create_instances_from_document`.
    """
    token_ids = [cls_token_id, *pair.first, sep_token_id, *pair.second, sep_token_id]
    segment_ids = [0] * (len(pair.first) + 2) + [1] * (len(pair.second) + 1)
    return token_ids, segment_ids


def _without_empty(documents: Sequence[Document]) -> list[Document]:
    kept = ([sentence for sentence in document if sentence] for document in documents)
    return [document for document in kept if document]


def _pairs_of_all(documents, max_length, rng, short_sequence_rate, random_next_rate) -> Iterator[SentencePair]:
    for index, document in enumerate(documents):
        target_length = _target_length(max_length, short_sequence_rate, rng)
        start = 0
        while start < len(document):
            end = _chunk_end(document, start, target_length)
            # With one sentence the split lies behind it and `second` would be empty.
            split = start + int(rng.integers(1, end - start)) if end - start > 1 else end
            first = _tokens(document[start:split])
            is_random_next = split == end or rng.random() < random_next_rate
            if is_random_next:
                second = _random_second(documents, index, target_length - len(first), rng)
                start = split  # The sentences after the split were not used: they begin the next chunk.
            else:
                second = _tokens(document[split:end])
                start = end
            first, second = _truncate(first, second, max_length, rng)
            yield SentencePair(first, second, is_random_next)


def _target_length(max_length: int, short_sequence_rate: float, rng: np.random.Generator) -> int:
    """Draw the length that the chunks of one document aim at."""
    return int(rng.integers(2, max_length + 1)) if rng.random() < short_sequence_rate else max_length


def _chunk_end(sentences: Document, start: int, target_length: int) -> int:
    """Return the end of the shortest run of whole sentences that reaches the target, or of all that is left."""
    length = 0
    for end in range(start, len(sentences)):
        length += len(sentences[end])
        if length >= target_length:
            return end + 1
    return len(sentences)


def _random_second(documents: list[Document], index: int, target_length: int, rng: np.random.Generator) -> list[int]:
    """Read from a random sentence of a random other document until the target is reached."""
    other = int(rng.integers(len(documents) - 1))
    document = documents[other + (other >= index)]  # Steps over `index`, so every other document is equally likely.
    start = int(rng.integers(len(document)))
    return _tokens(document[start : _chunk_end(document, start, target_length)])


def _tokens(sentences: Document) -> list[int]:
    return [token_id for sentence in sentences for token_id in sentence]


def _truncate(
    first: list[int], second: list[int], max_length: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Shorten the longer of the two until both fit; at a tie `second` gives way.

    Each dropped token goes from the front or from the back with equal chance, so that pairs do not always begin and
    end at a sentence boundary. Dropping k tokens one by one is one binomial draw.
    """
    first_length = min(len(first), max((max_length + 1) // 2, max_length - len(second)))
    second_length = min(len(second), max_length - first_length)
    return _cut(first, first_length, rng), _cut(second, second_length, rng)


def _cut(tokens: list[int], length: int, rng: np.random.Generator) -> list[int]:
    front = int(rng.binomial(len(tokens) - length, 0.5))
    return tokens[front : front + length]
