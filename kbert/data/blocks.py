"""Which documents make a shard together: consecutive ones of a split, up to a number of characters."""

from collections.abc import Iterable, Iterator
from typing import Any


def blocks_of(documents: Iterable[tuple[str, int, Any]], block_characters: int) -> Iterator[tuple[str, int, list]]:
    """Put the documents of each split into blocks, in their order.

    A block is full with the document that reaches `block_characters`. It has two documents at least, because a random
    next sentence comes from another one, unless its split has only one in all.

    Args:
        documents: (split, characters, document), the document being whatever stands for one.
        block_characters: int.
    Yields:
        (split, number of the block in its split from 0, list of its documents).
    """
    gathering, sizes, numbers = {}, {}, {}
    waiting = {}  # The last full block of a split, held back in case one document is left over.
    for split, size, document in documents:
        gathered = gathering.setdefault(split, [])
        gathered.append(document)
        sizes[split] = sizes.get(split, 0) + size
        if sizes[split] >= block_characters and len(gathered) > 1:
            if split in waiting:
                yield split, numbers.get(split, 0), waiting[split]
                numbers[split] = numbers.get(split, 0) + 1
            waiting[split], gathering[split], sizes[split] = gathered, [], 0
    for split, rest in gathering.items():
        last = waiting.get(split, [])
        for block in [last + rest] if len(rest) == 1 else [last, rest]:
            if block:
                yield split, numbers.get(split, 0), block
                numbers[split] = numbers.get(split, 0) + 1
