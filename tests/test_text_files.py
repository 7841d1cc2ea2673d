"""Text files: compressions, encodings, and what is said about a file that is in another one or cut off."""

import bz2
import gzip
import lzma
import subprocess
import sys

import pytest
from conftest import once

from kbert.text.corpora import read_documents
from kbert.text.text_files import guess_encoding, read_lines

pytestmark = once

KOREAN = "서울은 대한민국의 수도이다.\n한강이 도시를 가로지른다.\n\n부산은 항구 도시이다.\n"
KOREAN_TEXTS = ["서울은 대한민국의 수도이다.\n한강이 도시를 가로지른다.", "부산은 항구 도시이다."]
COMPRESSORS = {".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}


def write(path, data):
    path.write_bytes(data)
    return path


def read_texts(path, **changes):
    return [document.text for document in read_documents([path], **changes)]


@pytest.mark.parametrize("encoding", ["cp949", "EUC-KR", "euckr", "johab", "utf-16", "utf-16-le", "utf-32", "utf-8"])
def test_every_encoding_gives_the_same_documents(tmp_path, encoding):
    for name, content in {"a.txt": KOREAN, "b.txt": KOREAN.replace("\n", "\r\n")}.items():
        assert read_texts(write(tmp_path / name, content.encode(encoding)), encoding=encoding) == KOREAN_TEXTS
    json_line = '{"text": "서울은 도시다."}\n'.encode(encoding)
    assert read_texts(write(tmp_path / "c.jsonl", json_line), encoding=encoding) == ["서울은 도시다."]
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(KOREAN.encode(encoding)))
    assert read_texts(tmp_path / "d.txt.gz", encoding=encoding) == KOREAN_TEXTS


def test_a_mark_of_the_byte_order_is_no_text(tmp_path):
    data = b"\xff\xfe" + KOREAN.encode("utf-16-le")
    path = write(tmp_path / "a.txt", data)
    for encoding in ("utf-16", "utf-16-le"):
        assert next(read_lines(path, encoding)) == (1, "서울은 대한민국의 수도이다.\n")


def test_euc_kr_is_read_as_windows_writes_it(tmp_path):
    # "뷁" and "똠" are syllables of CP949 that the standard of 1987 lacks.
    path = write(tmp_path / "a.txt", "똠방각하와 뷁.\n".encode("cp949"))
    with pytest.raises(UnicodeDecodeError):
        path.read_bytes().decode("euc_kr")
    assert read_texts(path, encoding="EUC-KR") == ["똠방각하와 뷁."]


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"one\ntwo \xb0\xa1\n", "utf-8", r"here utf-8. Received: line 2 of .*a\.txt: .*0xb0 in position 4"),
        (KOREAN.encode("cp949"), "utf-8", r"line 1 of .*a\.txt: .* looks like cp949.*--encoding cp949.*iconv -f cp949"),
        (KOREAN.encode("euc_kr"), "UTF8", r"here utf-8. .* looks like cp949"),
        (b"one\n" + KOREAN.encode("utf-16"), "utf-8", r"line 2 of .*a\.txt: .*0xff in position 0"),
        (KOREAN.encode(), "EUC-KR", r"here cp949. Received: line 1 of .*a\.txt.* looks like utf-8"),
        ("Привет, город стоит на реке.\n".encode("cp1251") * 9, "utf-8", r" looks like cp1251"),
        ("東京は日本の首都である。\n".encode("cp932") * 9, "utf-8", r" looks like cp932"),
        ("x\n\n".encode("utf-16") + b"\x00", "utf-16", r"here utf-16. Received: line 3 of .*truncated data"),
        (b"one\n" + "서울\n".encode() + b"\xb0\n", "utf-8", r"Say which encoding it is in \(`encoding`, --encoding\)"),
    ],
)  # fmt: skip
def test_another_encoding_is_refused_with_file_line_and_a_guess(tmp_path, data, encoding, message):
    path = write(tmp_path / "a.txt", data)
    with pytest.raises(ValueError, match=message):
        read_texts(path, encoding=encoding)


def test_no_guess_without_a_sign(tmp_path):
    assert guess_encoding(write(tmp_path / "a.txt.gz", b"no gzip")) is None
    code = (
        "import sys; sys.modules['charset_normalizer'] = None\nfrom kbert.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "corpus", str(write(tmp_path / "b.txt", KOREAN.encode("cp949")))]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2 and "Say which encoding it is in" in finished.stderr


@pytest.mark.parametrize("encoding", ["utf-9", "hex", "rot13"])
def test_an_unknown_encoding_is_refused(tmp_path, encoding):
    message = f"`encoding` must be a text encoding of Python's. Received: encoding='{encoding}'. Give for example utf-8"
    with pytest.raises(ValueError, match=message):
        read_texts(write(tmp_path / "a.txt", b"x"), encoding=encoding)


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_cut_off_files_are_refused(tmp_path, compression):
    path = write(tmp_path / f"a.txt{compression}", COMPRESSORS[compression](KOREAN.encode())[:-9])
    with pytest.raises(
        ValueError, match=rf"must be whole. Received: line \d+ of .*a\.txt\{compression}: .* Copy it again"
    ):
        read_texts(path)
