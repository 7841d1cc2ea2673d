"""Corpora: every format and compression, broken files, cleaning, the held-out split."""

import bz2
import gzip
import json
import lzma
import tracemalloc
import unicodedata

import pytest
from conftest import once

from kbert.text.corpora import Document, clean_text, find_corpus_files, is_held_out, read_documents

pytestmark = once

PLAIN = "\nDr. Kim left. Why?\n서울은 도시다.\n\n \t\n12 34\n\nThe end.\n* * *\nReally.\n"
PLAIN_TEXTS = ["Dr. Kim left. Why?\n서울은 도시다.", "The end.\nReally."]

JSON_LINES = (
    '{"id": 7, "title": "Kim", "text": "Dr. Kim left. Why?\\n서울은 도시다."}\n\n'
    '{"text": "12 34"}\n'
    '{"title": null, "text": "The end.\\n* * *\\nReally."}\n'
)

WIKI = (
    '<doc id="7" url="https://example.org/?curid=7" title="Kim &amp; "Co"">\nKim &amp; "Co"\n\n'
    "Dr. Kim left. Why?\n서울은 도시다.\n\n</doc>\n"
    '<doc id="8" url="" title="34">\n34\n\n12 34\n</doc>\n\n'
    '<doc id="9" url="https://example.org/?curid=9">\nThe end.\n\nReally.\n\n</doc>'
)

COMPRESSORS = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}


def write(path, content):
    """Write text or bytes, compressed as the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(COMPRESSORS.get(path.suffix, bytes)(data))
    return path


def read_texts(path, **changes):
    return [document.text for document in read_documents([path], **changes)]


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize(
    ("name", "content", "titles"),
    [
        ("a.txt", PLAIN, ["", ""]),
        ("a.jsonl", JSON_LINES, ["Kim", ""]),
        ("a.json", JSON_LINES, ["Kim", ""]),
        ("wiki_00", JSON_LINES, ["Kim", ""]),
        ("wiki_01", WIKI, ['Kim & "Co"', ""]),
    ],
)
@pytest.mark.parametrize("change", ["as it is", "BOM", "CRLF"])
def test_every_format_and_compression_gives_the_same_documents(tmp_path, name, content, titles, compression, change):
    content = {"as it is": content, "BOM": "\ufeff" + content, "CRLF": content.replace("\n", "\r\n")}[change]
    path = write(tmp_path / (name + compression), content)
    expected = [Document(text, str(path), title) for text, title in zip(PLAIN_TEXTS, titles, strict=True)]
    assert list(read_documents([path])) == expected
    assert list(read_documents(str(path))) == expected


def test_empty_files_hold_no_documents(tmp_path):
    assert list(read_documents([write(tmp_path / "a.txt", ""), write(tmp_path / "b.jsonl", "\n \n")])) == []


def test_text_key_names_the_field(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "Wrong.", "body": "Right."}\n')
    assert read_texts(path, text_key="body") == ["Right."]


def test_half_a_surrogate_pair_is_dropped(tmp_path):
    path = write(tmp_path / "a.jsonl", r'{"text": "One \ud83d two \ud83d\ude00."}')
    assert read_texts(path) == ["One two \U0001f600."]


def test_only_a_repeated_title_is_dropped(tmp_path):
    path = write(tmp_path / "wiki_00", '<doc id="1" title="Seoul">\nSeoul is a city.\nSeoul\n</doc>\n')
    assert read_texts(path) == ["Seoul is a city.\nSeoul"]


def test_hard_wrapped_lines_are_joined(tmp_path):
    wrapped = "Call me Ishmael. Some years\nago I went to sea.\n \t\n  It is a way\r\n  I have.\n\n\nEnd."
    path = write(tmp_path / "book.jsonl", json.dumps({"text": wrapped}))
    assert read_texts(path) == ["Call me Ishmael. Some years ago I went to sea.\nIt is a way I have.\nEnd."]


@pytest.mark.parametrize(
    "text",
    [
        "History.\nThe city was founded.\nIt grew.",  # no blank line
        "History.\n\n" + "A paragraph on one line. " * 5 + "\nPeople.\n" + "Another one. " * 9,  # long lines
    ],
)
def test_lines_that_are_paragraphs_stay_apart(tmp_path, text):
    path = write(tmp_path / "wiki.jsonl", json.dumps({"text": text}))
    assert read_texts(path) == ["\n".join(line.strip() for line in text.split("\n") if line)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "x"}\n\n{"text": "y"\n', r"one JSON object .*line 3 of .*a\.jsonl: JSONDecodeError"),
        ("a.json", '[\n{"text": "x"}\n]', r"one JSON object .*line 1 of .*a\.json: JSONDecodeError"),
        ("a.jsonl", '{"text": "x"}\n{"txt": "y"}', r"field 'text' is a string.*line 2 of .*a\.jsonl: KeyError"),
        ("a.jsonl", '{"text": null}', r"field 'text' is a string.*line 1 of .*a\.jsonl: AttributeError"),
        ("a.jsonl", '["text"]', r"field 'text' is a string.*line 1 of .*a\.jsonl: TypeError"),
        ("wiki_00", '<doc id="1" title="A">\nx\n', r"line 1 of .*wiki_00, a <doc> that is not closed"),
        (
            "wiki_00",
            '<doc id="1" title="A">\nx\n</doc>\n<doc id="2" title="B">\ny\n<doc id="3" title="C">\nz\n</doc>\n',
            r"line 4 of .*wiki_00, a <doc> that is not closed",
        ),
        ("wiki_00", '<doc id="1" title="A">\nx\n</doc>\n\nstray\n</doc>', r"line 5 of .*wiki_00, text outside <doc>"),
    ],
)
def test_broken_files_are_refused_with_file_and_line(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        list(read_documents([path]))


def test_documents_come_one_at_a_time(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "One."}\n{"text": "Two."}\nbroken\n')
    documents = read_documents([path])
    assert [next(documents).text, next(documents).text] == ["One.", "Two."]
    with pytest.raises(ValueError, match="line 3"):
        next(documents)


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = write(tmp_path / "a.txt.gz", "A sentence of one document.\nAnother one.\n\n" * 20_000)  # 0.8 MB.
    tracemalloc.start()
    num_documents = sum(1 for _ in read_documents([path]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_documents == 20_000
    assert peak < 300_000


def test_find_corpus_files(tmp_path, monkeypatch):
    for name in ["AB/wiki_00", "AA/wiki_01", "AA/wiki_00", ".git/x", ".y"]:
        write(tmp_path / "wiki" / name, "x")
    for name in ["b[1].txt", "a.txt"]:
        write(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)

    def find(*patterns):
        return [path.as_posix() for path in find_corpus_files(patterns)]

    wiki = ["wiki/AA/wiki_00", "wiki/AA/wiki_01", "wiki/AB/wiki_00"]
    assert find("wiki") == find("wiki/*", "wiki/AA") == find("**/wiki_*") == wiki
    assert find("b[1].txt", "*.txt") == ["a.txt", "b[1].txt"]
    assert find("wiki/.y") == ["wiki/.y"]
    assert find_corpus_files("a.txt") == find_corpus_files(find_corpus_files("a.*"))
    assert find_corpus_files(tmp_path / "*.txt") == [tmp_path / "a.txt", tmp_path / "b[1].txt"]


@pytest.mark.parametrize("pattern", ["none.txt", "*.jsonl", "empty"])
def test_find_refuses_what_matches_nothing(tmp_path, monkeypatch, pattern):
    write(tmp_path / "a.txt", "x")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="must name a file, a folder or a glob pattern .*Received: '") as error:
        find_corpus_files(["a.txt", pattern])
    assert repr(pattern) in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x &lt;br&gt; y&lt;br /&gt;z &amp; w&nbsp;v", "x y z & w v"),
        ("H<sub>2</sub>O<ref name='a b'/> of<ref>old</ref> 5 km<br>wide", "H2O ofold 5 km wide"),
        ("a <math display='block'>x <\ny</math> b <!-- no\nway --> c", "a b c"),
        ("The value formula_12, or codice_3: all", "The value, or: all"),
        ("필터의 함수 formula_1는 크다", "필터의 함수 는 크다"),
        ("Paris {{lang|fr|{{x}}}}, the {{big}} city{{!}}", "Paris, the city"),
        ("the [[Oswego, New York|town]] of [[Oswego]]s", "the town of Oswegos"),
        ("[[File:a.jpg|thumb|A [[B-17|plane]] lands]] [[Category:B-17|x]]", "A plane lands"),
        ("[[분류:1973년 출생]]\n끝", "끝"),
        ("Paris () or ( ), (, ; ) is (; born 1 May) here ()", "Paris or, is (born 1 May) here"),
        ("서머힐역()은 캐나다(, )의 역 (, 1950년)", "서머힐역은 캐나다의 역 (1950년)"),
        ("모집단(母集團, )은 카불(페르시아어: )의", "모집단(母集團)은 카불의"),
        ("Kabul ({{lang|fa|x}}; born, {{z}}, x; died {{w}}) is", "Kabul (born, x; died) is"),
        ("a ({{x}}) b ({{x}} c) d (e, {{x}}) f", "a b (c) d (e) f"),
        ("{{As of|2010}}, it is", "it is"),
        ("x &amp;nbsp; y &amp;lt;br&amp;gt;z &amp;amp; w", "x y z & w"),
        ('Table.\n! colspan="3" | Year\n!Total||106||29\n|-\n| a || b\nEnd.', "Table.\nEnd."),
        ("in _two volumes_, _I._", "in two volumes, I."),
        ("a \t b\u3000c\u00a0 \n\n\n  d  ", "a b c\nd"),
        ("One.\n1999\n* * *\n--\nTwo.", "One.\nTwo."),
        ("12\n()\n", ""),
    ],
)
def test_clean_text_removes_rubbish(text, expected):
    assert clean_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "if a <b and c> d, then i<p and x > y",
        "AT&T at http://example.org/?a=1&copy=2&lt=3",
        "call main() and f(x)[0], a semicolon (;) or a comma (,) or f(x,) or (see: this) ;)",
        "!Kung is a language.\n| Said so!",
        "the name snake_case and __init__ and a_b_c and x_1_",
        "{a, b} and {{1}, {2}} and [1] and [[open",
        "“Well,” he said... (he had 3.5%!) – 3.1운동 «ok» 漢字",
        "Line one.\nLine two.",
    ],
)
def test_clean_text_leaves_normal_text(text):
    assert clean_text(text) == text


def test_letters_are_composed():
    apart = unicodedata.normalize("NFD", "학교에서 café")
    assert len(apart) > 8 and clean_text(apart) == "학교에서 café"


def test_held_out_is_a_hash_of_the_text():
    # printf 'Seoul is a city.' | b2sum -l 64
    shares = {"Seoul is a city.": 0xE3450780DA19DA7E / 2**64, "서울은 도시다.": 0xAD37A72D1BD584D2 / 2**64}
    for text, share in shares.items():
        for document in [Document(text, "a.txt"), Document(text, "b.txt", "Title")]:
            assert not is_held_out(document, share - 1e-9)
            assert is_held_out(document, share + 1e-9)


def test_held_out_share_is_the_rate():
    documents = [Document(f"Document {number}.", "a.txt") for number in range(5_000)]
    for rate in [0.03, 0.4]:
        share = sum(is_held_out(document, rate) for document in documents) / 5_000
        assert abs(share - rate) < 4 * (rate * (1 - rate) / 5_000) ** 0.5
    assert not any(is_held_out(document, 0) for document in documents)
    assert all(is_held_out(document, 1) for document in documents)


@pytest.mark.parametrize("rate", [-0.01, 1.01])
def test_held_out_refuses_a_rate_outside_0_and_1(rate):
    with pytest.raises(ValueError, match=rf"`rate` must lie in \[0, 1\]. Received: rate={rate}"):
        is_held_out(Document("x", "a.txt"), rate)
