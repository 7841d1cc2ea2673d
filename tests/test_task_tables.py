"""Tables as people have them: quotes, marks at the beginning, compression, and what is refused."""

import lzma

import pytest
from conftest import once

from kbert.tasks.tables import find_file, read_table

pytestmark = once


def cells(path, **settings):
    return [line.cells for line in read_table(path, **settings)]


def write(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_tsv_keeps_quotes_and_drops_the_mark_and_carriage_returns(tmp_path):
    path = write(tmp_path, "a.tsv", '\ufefftext\tlabel\r\nhe said "no\t1\r\n" yes, \t0\r\n')
    assert cells(path) == [{"text": 'he said "no', "label": "1"}, {"text": '" yes, ', "label": "0"}]
    assert [line.where for line in read_table(path)] == [f"line 2 of {path}", f"line 3 of {path}"]


def test_csv_cells_in_quotes_hold_commas_quotes_and_line_feeds(tmp_path):
    path = write(tmp_path, "a.csv", 'text,label\n"one, ""two""\nthree",x\nfour,y\n')
    assert cells(path) == [{"text": 'one, "two"\nthree', "label": "x"}, {"text": "four", "label": "y"}]
    assert [line.where for line in read_table(path)] == [f"line 2 of {path}", f"line 4 of {path}"]


def test_json_lines_keep_their_values(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"text": "가나", "label": ["x", "y"]}\n\n{"text": "b", "score": 1.5}\n')
    assert cells(path) == [{"text": "가나", "label": ["x", "y"]}, {"text": "b", "score": 1.5}]
    assert [line.where for line in read_table(path)][1] == f"line 3 of {path}"


def test_a_file_without_header_and_a_compressed_one(tmp_path):
    path = tmp_path / "a.tsv.xz"
    path.write_bytes(lzma.compress(b"x\t1\ny\t0\n"))
    assert cells(path, header=("text", "label")) == [{"text": "x", "label": "1"}, {"text": "y", "label": "0"}]


def test_short_rows_are_taken_only_when_asked(tmp_path):
    path = write(tmp_path, "a.tsv", "id\ttext\tlabel\n1\tone\t0\n2\ttwo\n")
    with pytest.raises(ValueError, match=rf"as many cells as the header, 3. Received: 2 cells in line 3 of {path}"):
        cells(path)
    assert cells(path, may_be_short=True)[1] == {"id": "2", "text": "two"}
    long = write(tmp_path, "b.tsv", "text\tlabel\none\t0\t\n")
    with pytest.raises(ValueError, match="Received: 3 cells in line 2"):
        cells(long, may_be_short=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", 'text,label\nx,1\n"y,0\n', "must end with a quote.*line 3 of"),
        ("a.csv", 'text,label\n"x"y,0\n', "must end with a quote.*line 2 of"),
        ("a.tsv", "text\ttext\nx\t1\n", r"different names. Received: \['text', 'text'\] in line 1"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "must be JSON. Received: line 2 of"),
        ("a.jsonl", "[1]\n", r"must be a JSON object. Received: \[1\] in line 1"),
    ],
)
def test_damaged_tables_are_refused_with_their_line(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        cells(write(tmp_path, name, content))


def test_a_file_of_two_encodings_is_refused_with_its_line(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes("text\tlabel\n한글\t1\n".encode() + "한국어 문장\t0\n".encode("cp949"))
    with pytest.raises(ValueError, match=f"Received: line 3 of {path}"):
        cells(path)
    assert cells(write(tmp_path, "b.tsv", "text\n한국어\n", "cp949"), encoding="cp949") == [{"text": "한국어"}]


def test_there_is_one_table_of_a_name(tmp_path):
    assert find_file(tmp_path, "train") is None
    path = write(tmp_path, "train.tsv", "")
    assert find_file(tmp_path, "train") == path
    write(tmp_path, "train.csv.gz", "")
    with pytest.raises(ValueError, match=r"one train file.*train.tsv.*train.csv.gz"):
        find_file(tmp_path, "train")
