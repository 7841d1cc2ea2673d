"""Documents that come a second time: which are the same, what stays, what it costs."""

import random
import tracemalloc

from conftest import once

from kbert.text.corpora import Document
from kbert.text.duplicates import UniqueDocuments

pytestmark = once


def unique(*texts):
    documents = UniqueDocuments([Document(text, f"{number}.txt") for number, text in enumerate(texts)])
    return [(document.text, document.source) for document in documents], documents.num_dropped


def test_the_first_of_each_text_stays():
    assert unique("a b", "c", "a b", "c", "a b", "d") == ([("a b", "0.txt"), ("c", "1.txt"), ("d", "5.txt")], 3)


def test_blanks_and_lines_make_no_other_text_but_letters_do():
    assert unique("One. Two.", "One.\nTwo.", " One.  Two. ", "One.\u3000Two.") == ([("One. Two.", "0.txt")], 3)
    texts = ["One. Two.", "One.Two.", "one. two.", "One. Two", "Two. One."]
    assert unique(*texts) == ([(text, f"{number}.txt") for number, text in enumerate(texts)], 0)


def test_the_kept_are_the_set_of_texts_whatever_the_order():
    draw = random.Random(0)
    texts = [f"text {draw.randrange(3_000)}" for _ in range(9_000)]
    kept, num_dropped = unique(*texts)
    assert [text for text, _ in kept] == list(dict.fromkeys(texts))
    assert num_dropped == 9_000 - len(set(texts))


def test_each_time_through_starts_anew():
    documents = UniqueDocuments([Document("a", "x"), Document("a", "y")])
    assert [len(list(documents)), documents.num_dropped, len(list(documents)), documents.num_dropped] == [1, 1, 1, 1]


def test_a_document_costs_a_digest_not_its_text():
    documents = UniqueDocuments(Document(f"{number} " * 50, "x") for number in range(20_000))  # 5 MB.
    tracemalloc.start()
    assert sum(1 for _ in documents) == 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / 20_000 < 200
