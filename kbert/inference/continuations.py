"""Letters written right behind a mask continue its word, as a particle does in Korean: "[MASK]에" is [MASK] ##에.

BERT's own rule makes a new word of them, [MASK] 에, which hardly stands in a text that a model was trained on: there
"학교에" is 학교 ##에. transformers keeps to that rule, so its answers to such texts, and only to such, are others.
"""

import dataclasses
import itertools


def join_to_masks(tokenizer, text, row):
    """Return the row with the word right behind each mask as pieces that continue it.

    A word stays as it was if the vocabulary has no such pieces for all of it, or if the normal form of one of its
    characters is none or several.

    Args:
        tokenizer: `WordPieceTokenizer`.
        text: str, the text of the row.
        row: `PackedText` of one text, not cut.
    """
    mask_id = tokenizer.special_token_ids["[MASK]"]
    tokens, position = [], 0
    while position < len(row.token_ids):
        tokens.append((row.token_ids[position], row.offsets[position]))
        position += 1
        if row.token_ids[position - 1] == mask_id:
            end = _end_of_word(tokenizer, row, position)
            pieces = _pieces_behind(tokenizer, text, row.offsets[position - 1 : end])
            tokens += pieces
            position = end if pieces else position
    token_ids, offsets = map(list, zip(*tokens, strict=True))
    return dataclasses.replace(row, token_ids=token_ids, segment_ids=[0] * len(token_ids), offsets=offsets)


def _end_of_word(tokenizer, row, position):
    rest = itertools.islice(row.token_ids, position + 1, None)
    pieces = itertools.takewhile(lambda token_id: tokenizer.id_to_token(token_id).startswith("##"), rest)
    return position + 1 + sum(1 for _ in pieces)


def _pieces_behind(tokenizer, text, offsets):
    """Return (token id, (start, end)) of the longest pieces of the word behind a mask, or none."""
    (_, start), *_, (_, end) = offsets
    if offsets[1][0] != start:  # A blank stands between, or [SEP].
        return []
    # A mark, or a Chinese character in most vocabularies, is a word of its own behind any letter.
    words = tokenizer.split_words("a" + text[start:end])
    if len(words) != 1 or not all(len("".join(tokenizer.split_words(f"a{c}"))) == 2 for c in text[start:end]):
        return []
    word, pieces, first = words[0][1:], [], 0
    while first < len(word):
        lasts = range(len(word), first, -1)
        found = ((tokenizer.token_to_id(f"##{word[first:last]}"), last) for last in lasts)
        token_id, last = next((pair for pair in found if pair[0] is not None), (None, first))
        if token_id is None:
            return []
        pieces.append((token_id, (start + first, start + last)))
        first = last
    return pieces
