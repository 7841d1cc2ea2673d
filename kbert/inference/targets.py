"""How probable is each of some given words at a mask?

The rule: a word of one piece has the probability of its token. A word of n pieces is put to n masks in place of the
one, and has the product of its pieces' probabilities from left to right: the first with all n masked, the second with
the first filled in and the rest masked, and so on. So the probabilities of all words of n pieces sum to 1 for each n;
no correction for n is made.
"""

from kbert.inference.masked_text import MASK
from kbert.inference.slots import predict_slots
from kbert.inference.windows import cut_window


def read_targets(tokenizer, targets):
    """Return (word, token ids) of each word.

    A word that is a token of the vocabulary as written, "##s" too, is that token. Any other is tokenised as text.

    Raises:
        ValueError: there is no word, or one is empty or holds what the vocabulary cannot spell.
    """
    if isinstance(targets, str) or not targets:
        raise ValueError(f'`targets` must be a list of words, such as ["cat", "dog"]. Received: targets={targets!r}.')
    refused = (tokenizer.token_to_id("[UNK]"), tokenizer.token_to_id(MASK))
    read = []
    for word in targets:
        token_id = tokenizer.token_to_id(word)
        pieces = tuple(tokenizer.encode(word)) if token_id is None else (token_id,)
        if not pieces or set(refused) & set(pieces):
            raise ValueError(
                "A target must be a word that the vocabulary can spell. "
                f"Received: {word!r}, tokens {[tokenizer.id_to_token(piece) for piece in pieces]}."
            )
        read.append((word, pieces))
    return read


def score_targets(source, places, targets):
    """Return the log probability of each target at each place.

    Args:
        source: `Source` with the output `mlm`.
        places: list of (token_ids, position): a whole row as a tuple of int, and the place of a mask in it.
        targets: list of (word, token ids), from `read_targets`.

    Returns:
        list of lists of float, a list a place and in it a number a target.
    """
    mask_id = source.tokenizer.special_token_ids[MASK]
    queries = [
        (*query, place, target)
        for place, (token_ids, position) in enumerate(places)
        for target, (_, pieces) in enumerate(targets)
        for query in _chain(token_ids, position, pieces, mask_id)
    ]
    slots = (cut_window(row, position, source.max_sequence_length)[:2] for row, position, *_ in queries)
    sums = [[0.0] * len(targets) for _ in places]
    for (_, _, piece, place, target), answer in zip(queries, predict_slots(source, slots), strict=True):
        sums[place][target] += float(answer[piece])
    return sums


def _chain(token_ids, position, pieces, mask_id):
    for done, piece in enumerate(pieces):
        filled = pieces[:done] + (mask_id,) * (len(pieces) - done)
        yield token_ids[:position] + filled + token_ids[position + 1 :], position + done, piece
