"""Count what a corpus holds, and warn about what next-sentence prediction cannot use."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

# Above this share of one-sentence documents a corpus is taken for one with a blank line after every sentence.
MAX_ONE_SENTENCE_RATE = 0.9


@dataclass(frozen=True)
class CorpusReport:
    """Counts over a corpus; `str(report)` is a table for people.

    Attributes:
        num_documents: int, documents with at least one sentence.
        num_one_sentence_documents: int, those with exactly one.
        num_sentences: int.
        num_characters: int, code points in sentences.
        num_tokens: int, without [CLS] and [SEP] unless the tokenizer adds them; None without a tokenizer.
        num_duplicates: int, further documents left out because their text came before; None if nobody looked.
    """

    num_documents: int
    num_one_sentence_documents: int
    num_sentences: int
    num_characters: int
    num_tokens: int | None = None
    num_duplicates: int | None = None

    @classmethod
    def merge(cls, reports: Iterable["CorpusReport"]) -> "CorpusReport":
        """Add up the reports of the parts of a corpus. A count is None if a part has none.

        Args:
            reports: iterable of `CorpusReport`, of parts that do not overlap. Without any, the report is of an empty
                corpus.
        """
        counts = [dataclasses.astuple(report) for report in reports]
        if not counts:
            return cls(0, 0, 0, 0)
        return cls(*(None if None in column else sum(column) for column in zip(*counts, strict=True)))

    @property
    def one_sentence_rate(self) -> float:
        """Share of documents with exactly one sentence; 0 for an empty corpus."""
        return self.num_one_sentence_documents / max(1, self.num_documents)

    @property
    def mean_sentence_characters(self) -> float:
        """Characters a sentence; 0 for an empty corpus."""
        return self.num_characters / max(1, self.num_sentences)

    @property
    def mean_sentence_length(self) -> float | None:
        """Tokens a sentence; 0 for an empty corpus, None without a tokenizer."""
        return None if self.num_tokens is None else self.num_tokens / max(1, self.num_sentences)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What stands in the way of pretraining, one sentence or two each; empty if nothing does.

        Source: google-research/bert issue 125 (a blank line after every sentence makes all pairs random).
        """
        if self.num_documents == 0:
            return ("The corpus is empty: no document has a sentence. Check the paths and the format of the files.",)
        warnings = []
        if self.num_documents == 1:
            warnings.append(
                "The corpus is one document: random next sentences cannot be drawn from another. "
                "Put a blank line between documents, or give more files."
            )
        if self.one_sentence_rate > MAX_ONE_SENTENCE_RATE:
            warnings.append(
                f"{self.one_sentence_rate:.1%} of the documents have one sentence: nothing follows it, so every pair "
                "is a random pair. Put blank lines between documents only, not between sentences."
            )
        return tuple(warnings)

    def __str__(self):
        rows = [
            ("documents", f"{self.num_documents:,}"),
            ("with one sentence", f"{self.one_sentence_rate:.1%}"),
            *([] if self.num_duplicates is None else [("duplicates dropped", f"{self.num_duplicates:,}")]),
            ("sentences", f"{self.num_sentences:,}"),
            ("characters", f"{self.num_characters:,}"),
            ("characters a sentence", f"{self.mean_sentence_characters:,.1f}"),
        ]
        if self.num_tokens is not None:
            rows += [("tokens", f"{self.num_tokens:,}"), ("tokens a sentence", f"{self.mean_sentence_length:,.1f}")]
        width = max(len(number) for _, number in rows)
        return "\n".join(
            [f"{name:<22}{number:>{width}}" for name, number in rows] + [f"warning: {text}" for text in self.warnings]
        )


def report_corpus(documents: Iterable[list[str]], tokenizer=None) -> CorpusReport:
    """Count documents, sentences, characters and tokens in one pass, one document in memory.

    Args:
        documents: stream of documents, each a list of sentences. Documents without a sentence are left out.
        tokenizer: object with `encode_batch(list[str]) -> list[list[int]]`, or None to count no tokens.
    Returns:
        CorpusReport.
    Example:
        >>> print(report_corpus([["Dr. Smith left.", "Why?"], ["Nobody knows."]]))
        documents                 2
        with one sentence     50.0%
        sentences                 3
        characters               32
        characters a sentence  10.7
    """
    num_documents = num_one_sentence_documents = num_sentences = num_characters = num_tokens = 0
    for sentences in documents:
        if not sentences:
            continue
        num_documents += 1
        num_one_sentence_documents += len(sentences) == 1
        num_sentences += len(sentences)
        num_characters += sum(map(len, sentences))
        if tokenizer is not None:
            num_tokens += sum(map(len, tokenizer.encode_batch(sentences)))
    return CorpusReport(
        num_documents=num_documents,
        num_one_sentence_documents=num_one_sentence_documents,
        num_sentences=num_sentences,
        num_characters=num_characters,
        num_tokens=None if tokenizer is None else num_tokens,
    )
