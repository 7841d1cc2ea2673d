"""The preparation on Apache Beam writes the bytes of the preparation on one machine."""

import itertools
import json
import random

import keras
import pytest

beam = pytest.importorskip("apache_beam")

from training import prepare, prepare_on_beam  # noqa: E402

# Preparing a corpus knows no backend; TensorFlow reads and writes its shards.
pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="one backend is enough")

WORDS = ["sees", "likes", "of", "a", "big", "small", "red", "old"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Three files of two formats with documents that stand in several, and the settings to prepare them."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(3)
    documents = ["\n".join(" ".join(draw.choices(WORDS, k=7)) for _ in range(draw.randint(1, 9))) for _ in range(150)]
    (folder / "a.txt").write_text("\n\n".join([*documents[:60], documents[3]]))
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in documents[40:110]))
    (folder / "c.txt").write_text("\n\n".join([documents[70], *documents[110:], documents[0].replace(" ", "  ")]))
    words = folder.parent / "words.txt"
    words.write_text("\n".join(VOCABULARY) + "\n")
    sizes = ["--max_sequence_length", "23", "--block_characters", "1500", "--held_out_rate", "0.2", "--seed", "4"]
    return [str(folder), "--vocabulary", str(words), *sizes]


@pytest.fixture(scope="module")
def expected(corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("local") / "shards"
    prepare.main([*corpus, "--output", str(output), "--workers", "1"])
    return content(output)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_bytes(corpus, expected, tmp_path):
    options = "--runner=FnApiRunner --direct_num_workers=2 --direct_running_mode=multi_threading"
    prepare_on_beam.main([*corpus, "--output", str(tmp_path / "shards"), "--beam", options])
    assert content(tmp_path / "shards") == expected
    assert len([name for name in expected if name.startswith("train-")]) > 10
    assert len([name for name in expected if name.startswith("held_out-")]) > 1
    assert b"duplicates dropped        23\n" in expected["report.txt"]


def test_what_one_tool_left_the_other_finishes(corpus, expected, tmp_path, monkeypatch):
    command, output = [*corpus, "--workers", "1", "--output", str(tmp_path / "shards")], tmp_path / "shards"
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "make_shard", stopping(prepare.make_shard, after=3))
        with pytest.raises(RuntimeError, match="stopped by the test"):
            prepare_on_beam.main(command)
    of_beam = finished(output)
    assert len(of_beam) == 3
    with monkeypatch.context() as patch:
        # Its workers are processes of their own, so the loop over their results is stopped.
        patch.setattr(prepare.FinishedBlocks, "end", stopping(None, after=0))
        with pytest.raises(RuntimeError, match="stopped by the test"):
            prepare.main(command)
    (output / "dataset.json").unlink()
    of_both = finished(output)
    assert of_beam.items() < of_both.items()
    prepare_on_beam.main(command)
    assert content(output) == expected
    for path, status in of_both.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == status


def stopping(function, after):
    calls = itertools.count()

    def stopped(*arguments):
        if next(calls) >= after:
            raise RuntimeError("stopped by the test")
        return function(*arguments)

    return stopped


def finished(folder):
    """The shards with a note that they are finished, and which file each is: one written again is another."""
    notes = (folder / "unfinished").glob("*-*.json")
    shards = (folder / f"{note.stem}.tfrecord" for note in notes)
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in shards}


def test_a_corpus_without_rows_is_refused(corpus, tmp_path):
    (tmp_path / "one.txt").write_text("a big dog sees a cat")
    _, *settings = corpus
    with pytest.raises(SystemExit, match="at least two documents to train on. Received: 1 in all"):
        prepare_on_beam.main([str(tmp_path / "one.txt"), *settings, "--output", str(tmp_path / "shards")])
