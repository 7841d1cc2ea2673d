"""training/prepare.py, killed and typed again: finished shards stay, the end is the same, other settings refused."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
from conftest import once_on_torch

from kbert.data.schema import read_shard
from training import prepare

pytestmark = once_on_torch

WORDS = ["sees", "likes", "of", "a", "big", "small", "red", "old"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


def write_corpus(folder, count):
    draw = random.Random(3)
    documents = ["\n".join(" ".join(draw.choices(WORDS, k=7)) for _ in range(draw.randint(2, 9))) for _ in range(count)]
    (folder / "corpus.txt").write_text("\n\n".join(documents))
    (folder / "words.txt").write_text("\n".join(VOCABULARY) + "\n")
    return [str(folder / "corpus.txt"), "--vocabulary", str(folder / "words.txt"), "--held_out_rate", "0.1"]


def start(command):
    return subprocess.Popen(
        [sys.executable, "-m", "training.prepare", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def kill(process, when):
    """Kill the first process, as a person or the system would, once `when()` is true, and wait for the others."""
    while not when():
        assert process.poll() is None, process.stdout.read().decode()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    # The workers hold the other end of the pipe: it closes when the last of them is gone.
    process.communicate(timeout=60)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_killed_preparation_goes_on_to_the_same_bytes(tmp_path, capsys):
    command = [*write_corpus(tmp_path, 4_000), "--block_characters", "6000"]
    output = tmp_path / "shards"
    killed = [*command, "--output", str(output), "--workers"]
    kill(start([*killed, "2"]), when=(output / "train-00002.tfrecord").exists)

    assert not (output / "dataset.json").exists()
    shards = sorted(output.glob("*.tfrecord"))
    assert all(len(list(read_shard(path))) > 0 for path in shards)
    noted = [output / f"{path.stem}.tfrecord" for path in (output / "unfinished").glob("*-*.json")]
    assert 2 <= len(noted) <= len(shards) < 100
    before = {path: path.stat() for path in noted}

    prepare.main([*killed, "1"])
    assert f"{len(noted)} blocks were finished before" in capsys.readouterr().out
    for path, status in before.items():  # A shard that is written again is another file.
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (status.st_ino, status.st_mtime_ns)

    prepare.main([*command, "--output", str(tmp_path / "whole"), "--workers", "1"])
    assert content(output) == content(tmp_path / "whole")
    assert len(list(output.glob("train-*.tfrecord"))) > 60


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """The command of a preparation that ended in the middle, with three finished shards."""
    command = [*write_corpus(tmp_path, 60), "--block_characters", "2000", "--output", str(tmp_path / "shards")]
    command += ["--workers", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "_finished", stop_after(3, prepare._finished))
        with pytest.raises(KeyboardInterrupt):
            prepare.main(command)
    assert len(list((tmp_path / "shards").glob("*.tfrecord"))) >= 3
    return command


def stop_after(count, finished):
    def stopping(*arguments):
        for number, result in enumerate(finished(*arguments), start=1):
            yield result
            if number == count:
                raise KeyboardInterrupt

    return stopping


def test_other_settings_or_files_are_refused(stopped, tmp_path):
    corpus, words = tmp_path / "corpus.txt", tmp_path / "words.txt"
    shards = content(tmp_path / "shards" / "unfinished"), sorted((tmp_path / "shards").glob("*.tfrecord"))

    def refused(message, *more):
        with pytest.raises(SystemExit, match=f"must go on with the settings and files it started from. .*{message}"):
            prepare.main([*stopped, *more])

    refused("seed was 0 and is 1. Type the first command again, or delete the folder", "--seed", "1")
    refused("encoding was utf-8 and is cp949", "--encoding", "cp949")
    for path in (corpus, words):
        text, status = path.read_text(), path.stat()
        path.write_text(text + "x")
        refused(rf"{path.name} was {status.st_size} bytes of \d+ and is {status.st_size + 1} bytes of \d+")
        path.write_text(text)
        refused(rf"{path.name} was {status.st_size} bytes of {status.st_mtime_ns} and is {status.st_size} bytes of")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    # Nothing was lost by trying, and the first command still goes on. A shard that lost its end is made again.
    assert shards == (content(tmp_path / "shards" / "unfinished"), sorted((tmp_path / "shards").glob("*.tfrecord")))
    shard = tmp_path / "shards" / "train-00001.tfrecord"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-50])
    prepare.main(stopped)
    assert shard.read_bytes() == whole
    assert (tmp_path / "shards" / "dataset.json").exists() and not (tmp_path / "shards" / "unfinished").exists()


def test_without_a_finished_shard_other_settings_start_afresh(tmp_path):
    command = [*write_corpus(tmp_path, 30), "--output", str(tmp_path / "shards"), "--workers", "1"]
    corpus = pathlib.Path(command[0])
    text = corpus.read_bytes()
    corpus.write_bytes(text[:-20] + b"\xb0\xa1\n")  # Refused at its last line, before the only block is full.
    with pytest.raises(SystemExit, match="here utf-8"):
        prepare.main(command)
    assert (tmp_path / "shards" / "unfinished").exists()
    corpus.write_bytes(text)
    assert prepare.main([*command, "--seed", "4"]).seed == 4
    assert not (tmp_path / "shards" / "unfinished").exists()
