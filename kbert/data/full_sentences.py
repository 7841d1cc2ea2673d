"""Documents -> rows of running text without pairs, for pretraining on masked words alone."""

from collections.abc import Iterator, Sequence


def make_full_sentences(
    documents: Sequence[list[list[int]]], *, max_sequence_length: int, cls_token_id: int, sep_token_id: int
) -> Iterator[list[int]]:
    """Yield rows of as many whole sentences as fit: [CLS] sentences [SEP], with a [SEP] between two documents too.

    A sentence goes into the next row rather than be cut, unless it is longer than a row. Empty sentences and documents
    are left out. Nothing is lost and nothing stands twice.

    Args:
        documents: documents -> sentences -> token ids without special tokens.
        max_sequence_length: int, at least 3. Most tokens of a row, special tokens included.
        cls_token_id: int, id of [CLS].
        sep_token_id: int, id of [SEP].
    Returns:
        Iterator of lists of ids.
    Raises:
        ValueError: a row too short for one token.
    Source: RoBERTa (Liu et al. 2019), section 4.2, FULL-SENTENCES.
    """
    if max_sequence_length < 3:
        raise ValueError(
            "`max_sequence_length` must be at least 3: two special tokens and one token. "
            f"Received: max_sequence_length={max_sequence_length}."
        )
    return _rows(documents, max_sequence_length, cls_token_id, sep_token_id)


def _rows(documents, max_sequence_length, cls_token_id, sep_token_id) -> Iterator[list[int]]:
    most = max_sequence_length - 2
    row = []
    for document in documents:
        separator = [sep_token_id]
        for sentence in filter(None, document):
            if row and len(row) + len(separator) + len(sentence) > most:
                yield [cls_token_id, *row, sep_token_id]
                row = []
            row = [*row, *separator, *sentence] if row else sentence
            separator = []
            while len(row) > most:
                yield [cls_token_id, *row[:most], sep_token_id]
                row = row[most:]
    if row:
        yield [cls_token_id, *row, sep_token_id]
