"""training/prepare.py: the same shards from any number of workers, held-out text apart, errors."""

import concurrent.futures
import hashlib
import os
import pathlib
import random
import re
import string
import subprocess
import sys

import pytest
from conftest import once_on_torch

from kbert.data.check_dataset import check_dataset
from kbert.data.schema import NO_PAIR, DatasetInfo, read_shard
from kbert.text.corpora import Document
from training import prepare

pytestmark = once_on_torch

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["sees", "likes", "of", "a", "big", "small"]
HELD_OUT_RATE = 0.2


def marker(number):
    """A word that stands in one document only, and in each of its sentences."""
    return f"name{chr(97 + number // 26)}{chr(97 + number % 26)}"


def make_documents(count):
    draw = random.Random(11)
    documents = []
    for number in range(count):
        sentences = []
        for _ in range(draw.randint(2, 9)):
            sentences.append(" ".join([marker(number), *draw.choices(WORDS, k=draw.randint(2, 6))]))
        documents.append("\n".join(sentences))
    return documents


DOCUMENTS = make_documents(61)
VOCABULARY = [*SPECIAL_TOKENS, *WORDS, *(marker(number) for number in range(len(DOCUMENTS)))]


def is_held_out(document):
    digest = hashlib.blake2b(document.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64 < HELD_OUT_RATE


def write_corpus(folder, documents):
    corpus, vocabulary = folder / "corpus.txt", folder / "words.txt"
    corpus.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    vocabulary.write_text("".join(f"{token}\n" for token in VOCABULARY), encoding="utf-8")
    return [str(corpus), "--vocabulary", str(vocabulary)]


def arguments(folder, output, *more):
    sizes = ["--max_sequence_length", "19", "--block_characters", "900", "--held_out_rate", str(HELD_OUT_RATE)]
    return [*write_corpus(folder, DOCUMENTS), "--output", str(output), *sizes, *more]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A dataset that two workers made."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare.main(arguments(folder, folder / "shards", "--workers", "2"))
    return folder / "shards"


def rows_of(folder, shards):
    return [row for shard in shards for row in read_shard(folder / shard.file)]


def test_one_worker_writes_the_bytes_of_two(prepared, tmp_path):
    prepare.main(arguments(tmp_path, tmp_path / "shards", "--workers", "1"))
    files = {path.name: path.read_bytes() for path in prepared.iterdir()}
    assert len([name for name in files if name.startswith("train-")]) > 3
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}


def test_every_document_is_on_its_side_and_none_is_lost(prepared):
    info = DatasetInfo.from_folder(prepared)
    check_dataset(prepared)
    found = {}
    for split, shards in (("train", info.shards), ("held_out", info.held_out)):
        token_ids = {int(token_id) for row in rows_of(prepared, shards) for token_id in row.token_ids}
        found[split] = {VOCABULARY[token_id] for token_id in token_ids} - set(SPECIAL_TOKENS) - set(WORDS)
    expected = {"train": set(), "held_out": set()}
    for number, document in enumerate(DOCUMENTS):
        expected["held_out" if is_held_out(document) else "train"].add(marker(number))
    assert found == expected
    assert min(map(len, expected.values())) > 5


def test_rows_are_pairs_of_one_document_or_of_two(prepared):
    rows = rows_of(prepared, DatasetInfo.from_folder(prepared).shards)
    markers = set(range(len(SPECIAL_TOKENS) + len(WORDS), len(VOCABULARY)))
    for row in rows:
        parts = [{int(i) for i in row.token_ids[row.segment_ids == segment]} & markers for segment in (0, 1)]
        if all(parts):  # A part may be cut to words without its marker.
            assert parts[0].isdisjoint(parts[1]) == row.is_random_next
    assert 0.3 < sum(row.is_random_next for row in rows) / len(rows) < 0.8


def test_rows_of_running_text(tmp_path):
    prepare.main(arguments(tmp_path, tmp_path / "shards", "--nsp", "none", "--workers", "1"))
    check_dataset(tmp_path / "shards")
    info = DatasetInfo.from_folder(tmp_path / "shards")
    words = []
    for split in (info.shards, info.held_out):
        for row in rows_of(tmp_path / "shards", split):
            assert row.is_random_next == NO_PAIR and not row.segment_ids.any()
            assert row.token_ids[0] == SPECIAL_TOKENS.index("[CLS]") and len(row.token_ids) <= 19
            words += [VOCABULARY[token_id] for token_id in row.token_ids if token_id >= len(SPECIAL_TOKENS)]
    assert sorted(words) == sorted(" ".join(DOCUMENTS).split())


def test_what_is_in_the_folder(prepared):
    names = {path.name for path in prepared.iterdir() if path.suffix != ".tfrecord"}
    assert names == {"dataset.json", "report.txt", "tokenizer_config.json", "vocab.txt"}
    assert (prepared / "vocab.txt").read_text().split() == VOCABULARY
    report = dict(re.findall(r"(?m)^([a-z ]+?) +([\d,.%]+)$", (prepared / "report.txt").read_text()))
    num_words = sum(len(document.split()) for document in DOCUMENTS)  # Each word is one token.
    assert report["documents"] == str(len(DOCUMENTS))
    assert report["sentences"] == str(sum(document.count("\n") + 1 for document in DOCUMENTS))
    assert report["tokens"] == f"{num_words:,}"
    info = DatasetInfo.from_folder(prepared)
    assert (info.vocabulary_size, info.max_sequence_length, info.seed) == (len(VOCABULARY), 19, 0)
    for shard in (*info.shards, *info.held_out):
        rows = rows_of(prepared, [shard])
        assert (shard.rows, shard.tokens) == (len(rows), sum(len(row.token_ids) for row in rows))


def test_another_encoding_and_copies_change_nothing_but_the_report(prepared, tmp_path):
    """The same corpus in EUC-KR's place, with each document again in other blanks behind it."""
    corpus, *rest = arguments(tmp_path, tmp_path / "shards", "--encoding", "utf-16", "--workers", "1")
    documents = [copy for document in DOCUMENTS for copy in (document, document.replace(" ", "  "))]
    pathlib.Path(corpus).write_text("\n\n".join(documents), encoding="utf-16")
    prepare.main([corpus, *rest])
    for path in prepared.iterdir():
        found = (tmp_path / "shards" / path.name).read_bytes()
        if path.name == "report.txt":
            assert re.search(rb"duplicates dropped +0\n", path.read_bytes())
            found, count = re.subn(rb"(duplicates dropped +) 61\n", rb"\1  0\n", found)
            assert count == 1
        assert found == path.read_bytes()


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9])
def test_blocks_lose_no_document_and_have_two_at_least(count):
    # Blocks are full with two documents, so odd counts leave one over.
    settings = prepare.Settings(("",), block_characters=1, held_out_rate=0.0)
    blocks = list(prepare._blocks([Document(f"text {number}", "") for number in range(count)], settings))
    assert [text for _, _, texts in blocks for text in texts] == [f"text {number}" for number in range(count)]
    assert [number for _, number, _ in blocks] == list(range(count // 2))
    assert min(len(texts) for _, _, texts in blocks) >= 2


def test_few_blocks_are_in_memory_at_once():
    made = []

    class Pool:
        """Does nothing to a block, at once."""

        def submit(self, function, *block):
            future = concurrent.futures.Future()
            future.set_result(block)
            return future

    def blocks():
        for number in range(50):
            made.append(number)
            yield "train", number, []

    for taken, (_, number, _) in enumerate(prepare._in_order(Pool(), blocks(), at_once=4)):
        assert number == taken
        assert len(made) <= taken + 4


def test_nothing_to_start_from(tmp_path, prepared):
    corpus, *vocabulary = write_corpus(tmp_path, DOCUMENTS)
    output = ["--output", str(tmp_path / "shards")]
    korean = tmp_path / "cp949.txt"
    korean.write_bytes("서울은 도시다.\n".encode("cp949"))
    for command, message in (
        ([str(tmp_path / "no*.txt"), *vocabulary, *output], "A corpus path must name a file"),
        ([corpus, *output], "--vocabulary must be given"),
        ([corpus, "--vocabulary", str(tmp_path / "none.txt"), *output], "none.txt"),
        ([corpus, "--vocabulary", str(tmp_path), *output], "must hold vocab.txt"),
        ([corpus, *vocabulary, "--output", str(prepared)], "--output must not hold a dataset yet"),
        (
            [str(korean), *vocabulary, *output],
            "here utf-8. .*line 1 of .*cp949.txt.* looks like cp949: .*--encoding cp949",
        ),
    ):
        with pytest.raises(SystemExit, match=message):
            prepare.main(command)
    assert not (tmp_path / "shards" / "dataset.json").exists()


def test_a_vocabulary_in_the_wrong_case_is_refused(tmp_path):
    (tmp_path / "corpus.txt").write_text("a b\n\nb a\n")
    words = {"cased": string.ascii_letters, "uncased": string.ascii_lowercase}
    for name, flags, message in (
        (
            "cased",
            [],
            "cased vocabulary must be used without lower-casing.*cased.txt .* --cased is for a vocabulary with",
        ),
        (
            "uncased",
            ["--cased"],
            "uncased vocabulary must be used with lower-casing.* --cased is for a vocabulary with capitals",
        ),
    ):
        (tmp_path / f"{name}.txt").write_text("\n".join([*SPECIAL_TOKENS, *words[name]]))
        files = [str(tmp_path / "corpus.txt"), "--vocabulary", str(tmp_path / f"{name}.txt")]
        with pytest.raises(SystemExit, match=message):
            prepare.main([*files, "--output", str(tmp_path / "out"), *flags])
        assert not (tmp_path / "out").exists()


def test_one_document_is_refused_after_its_report(tmp_path, capsys):
    corpus = write_corpus(tmp_path, [document.replace("\n", " ") for document in DOCUMENTS[:1]])
    with pytest.raises(SystemExit, match="at least two documents to train on. Received: 1 in all"):
        prepare.main([*corpus, "--output", str(tmp_path / "shards"), "--held_out_rate", "0", "--workers", "1"])
    assert "warning: The corpus is one document" in capsys.readouterr().out
    assert "one document" in (tmp_path / "shards" / "report.txt").read_text()
    assert not list((tmp_path / "shards").glob("*.tfrecord")) + list((tmp_path / "shards").glob("dataset.json"))


def test_help_tells_every_setting_and_its_default():
    printed = subprocess.run(
        [sys.executable, "-m", "training.prepare", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"},
    )
    words = " ".join(printed.stdout.split())
    assert "--held_out_rate HELD_OUT_RATE share of documents that are never trained on (default: 0.02)" in words
    assert printed.stderr == ""  # TensorFlow's C++ notes included.
