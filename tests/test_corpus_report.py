"""Sentences, and the report that counts them: by hand, warnings, constant memory."""

import dataclasses
import random
import tracemalloc

import pytest
from conftest import once

from kbert.text.corpus_report import report_corpus
from kbert.text.sentences import split_sentences

pytestmark = once

DOCUMENTS = [["One two.", "Three?"], [], ["Four five six seven."], ["서울은", "도시다.", "끝"]]


class WordSplitter:
    """A tokenizer by the contract of `report_corpus`: one id a word."""

    def encode_batch(self, texts):
        return [[len(word) for word in text.split()] for text in texts]


def test_counts():
    report = report_corpus(iter(DOCUMENTS))
    assert report.num_documents == 3
    assert report.num_one_sentence_documents == 1
    assert report.one_sentence_rate == pytest.approx(1 / 3)
    assert report.num_sentences == 6
    assert report.num_characters == 8 + 6 + 20 + 3 + 4 + 1
    assert report.mean_sentence_characters == pytest.approx(7)
    assert report.num_tokens is None
    assert report.mean_sentence_length is None
    assert report.warnings == ()


def test_tokens_are_counted_with_a_tokenizer():
    report = report_corpus(iter(DOCUMENTS), tokenizer=WordSplitter())
    assert report.num_tokens == 3 + 4 + 3
    assert report.mean_sentence_length == pytest.approx(10 / 6)


def test_the_table_is_aligned():
    documents = [["a" * 999, "b" * 999, "c"]] * 2 + [["d"]]
    assert str(report_corpus(documents, tokenizer=WordSplitter())).split("\n") == [
        "documents                 3",
        "with one sentence     33.3%",
        "sentences                 7",
        "characters            3,999",
        "characters a sentence 571.3",
        "tokens                    7",
        "tokens a sentence       1.0",
    ]


def test_duplicates_are_shown_if_somebody_looked():
    report = report_corpus(iter(DOCUMENTS))
    assert "duplicates" not in str(report)
    lines = str(dataclasses.replace(report, num_duplicates=1234)).split("\n")
    assert lines[2] == "duplicates dropped    1,234"
    assert "duplicates dropped        0" in str(dataclasses.replace(report, num_duplicates=0))


@pytest.mark.parametrize(
    ("documents", "messages"),
    [
        ([], ["The corpus is empty"]),
        ([[], []], ["The corpus is empty"]),
        ([["One.", "Two."]], ["The corpus is one document"]),
        ([["One."]], ["The corpus is one document", "100.0% of the documents have one sentence"]),
        ([["One."]] * 19 + [["One.", "Two."]], ["95.0% of the documents have one sentence"]),
        ([["One."]] * 9 + [["One.", "Two."]], []),
    ],
)
def test_warnings(documents, messages):
    report = report_corpus(documents, tokenizer=WordSplitter())
    assert len(report.warnings) == len(messages)
    assert all(warning.startswith(message) for warning, message in zip(report.warnings, messages, strict=True))
    assert [line for line in str(report).split("\n") if line.startswith("warning: ")] == [
        f"warning: {warning}" for warning in report.warnings
    ]


def test_memory_does_not_grow_with_the_corpus():
    tracemalloc.start()
    report = report_corpus(([f"Sentence {number}." * 20, "End."] for number in range(10_000)), WordSplitter())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.num_documents == 10_000
    assert peak < 100_000  # The sentences together have 3 MB.


# One sentence a row; the split of the joined rows must give the rows back.
SENTENCES = {
    "en": [
        "Dr. Smith and Mrs. Jones met in the U.S. in 1990.",
        "He paid 3.5 dollars, e.g. for No. 7 in St. Louis.",
        '"Why?" he asked.',
        "J. R. R. Tolkien wrote it.",
        "Really?!",
        "It is over.",
    ],
    "ko": [
        "3.1운동은 1919년에 일어났다.",
        '그는 "안녕하세요?"라고 말했다.',
        "“가자.”라고 했다.",
        "그는 1919. 3. 1. 서울에서 태어났다.",
        "원주율은 3.14이다.",
        "미국(U.S.A.)은 크다.",
        "'마'는 꿈을 꿨다.",
        "'마'와 '곽'은 갔다.",
        "노래 〈가라 고!!〉를 냈다.",
        "왜 그래요?",
        "몰라요...",
        "끝!",
    ],
}


@pytest.mark.parametrize("language", SENTENCES)
def test_split_sentences(language):
    sentences = SENTENCES[language]
    assert split_sentences(" ".join(sentences), language) == sentences


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_line_ends_a_sentence_and_a_long_one_stays_whole(language):
    long = "word " * 999 + "word"
    assert split_sentences(f"  A title\n\n{long}\nend", language) == ["A title", long, "end"]
    assert split_sentences("", language) == split_sentences(" \n", language) == []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_splitting_loses_and_moves_no_character(language):
    draw = random.Random(5)
    pieces = [
        "가다",
        "했다",
        "go",
        "Go",
        "12",
        "3",
        ". ",
        ".",
        "? ",
        "!",
        ", ",
        " ",
        '"',
        "'",
        "(",
        ")",
        "“",
        "”",
        "〉",
        "\n",
    ]
    for _ in range(3_000):
        text = "".join(draw.choices(pieces, k=23))
        sentences = split_sentences(text, language)
        assert "".join("".join(sentences).split()) == "".join(text.split())
        assert all(sentence and sentence == sentence.strip() for sentence in sentences)


def test_split_refuses_another_language():
    with pytest.raises(ValueError, match="`language` must be one of en, ko. Received: language='tlh'"):
        split_sentences("x", "tlh")
