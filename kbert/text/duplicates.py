"""Leave out documents that a corpus holds a second time."""

import hashlib
from collections.abc import Iterable, Iterator

from kbert.text.corpora import Document


class UniqueDocuments:
    """Pass each text of a stream once; texts that differ only in blanks and line feeds are the same.

    What is kept of a document is a digest of 8 bytes, in a Python set: measured, 70 bytes a document. With n documents
    the chance that any is taken for another is about n^2 / 2^65, one in 400,000 for ten million.

    Args:
        documents: iterable of `Document`. The first of each text is kept, in order.

    Attributes:
        num_dropped: int, documents left out so far. Each iteration starts at 0.
    """

    def __init__(self, documents: Iterable[Document]):
        self.num_dropped = 0
        self._documents = documents

    def __iter__(self) -> Iterator[Document]:
        self.num_dropped, seen = 0, set()
        for document in self._documents:
            digest = text_digest(document)
            if digest in seen:
                self.num_dropped += 1
            else:
                seen.add(digest)
                yield document


def text_digest(document: Document) -> bytes:
    """Return what stands for the text of a document, blanks and line feeds aside: 8 bytes."""
    text = " ".join(document.text.split())
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
