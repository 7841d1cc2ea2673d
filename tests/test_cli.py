"""The `kbert` command as a person types it, in a process of its own."""

import json
import subprocess
import sys

import pytest
from conftest import once

from kbert.cli import main
from kbert.text.vocabulary import SPECIAL_TOKENS

pytestmark = once


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "kbert.cli", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    documents = (
        "The cat sat on a mat. It ran home.\nThe dog ran too.",
        "나는 학교에 갔다. 공부를 했다.",
        "One more. Two.",
    )
    path.write_text("\n\n".join(documents * 4), encoding="utf-8")
    return path


def test_vocab_writes_a_vocabulary_that_is_the_same_every_time(corpus, tmp_path, capsys):
    for name in ("one.txt", "two.txt"):
        assert main(["vocab", str(corpus), "--output", str(tmp_path / name), "--size", "90", "--keep-accents"]) == 0
    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "two.txt").read_bytes()
    tokens = (tmp_path / "one.txt").read_text(encoding="utf-8").split("\n")
    assert tokens[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert len(tokens) - 1 <= 90
    assert f"{tmp_path / 'two.txt'}: {len(tokens) - 1} tokens" in capsys.readouterr().out


def test_corpus_counts(corpus, tmp_path, capsys):
    main(["vocab", str(corpus), "--output", str(tmp_path / "vocab.txt"), "--size", "90"])
    capsys.readouterr()
    assert main(["corpus", str(corpus), "--vocabulary", str(tmp_path / "vocab.txt")]) == 0
    lines = {line.rsplit(None, 1)[0].strip(): line.rsplit(None, 1)[1] for line in capsys.readouterr().out.splitlines()}
    assert (lines["documents"], lines["duplicates dropped"]) == ("3", "9")
    assert lines["sentences"] == str(3 + 2 + 2)


def test_korean_tokens_are_counted_with_a_korean_vocabulary(tmp_path, capsys):
    (tmp_path / "korean.txt").write_text("학교에 간다. 나는 학교를 안다.\n" * 3, encoding="utf-8")
    (tmp_path / "vocab.txt").write_text(
        "\n".join([*SPECIAL_TOKENS, "학교", "##에", "##를", "나는", "간다", "안다", "."]) + "\n"
    )
    assert main(["corpus", str(tmp_path / "korean.txt"), "--vocabulary", str(tmp_path / "vocab.txt")]) == 0
    lines = {line.rsplit(None, 1)[0].strip(): line.rsplit(None, 1)[1] for line in capsys.readouterr().out.splitlines()}
    documents = int(lines["documents"])
    assert int(lines["tokens"]) == 9 * 3 // documents * documents  # 학교 ##에 간다 . 나는 학교 ##를 안다 .


def test_a_corpus_in_another_encoding(corpus, tmp_path, capsys):
    korean = tmp_path / "korean.txt"
    korean.write_bytes(corpus.read_text(encoding="utf-8").encode("cp949"))
    assert main(["corpus", str(korean)]) == 2
    assert f"{korean}" in (told := capsys.readouterr().err) and "--encoding cp949" in told
    assert main(["corpus", str(korean), "--encoding", "euc-kr"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["documents", "3"]
    for path, name, encoding in ((corpus, "one", "utf-8"), (korean, "two", "cp949")):
        command = ["vocab", str(path), "--output", str(tmp_path / name), "--size", "90", "--encoding", encoding]
        assert main(command) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fill-mask", "a [MASK]", "--model", "no-such-model"], "Received: 'no-such-model'"),
        (["vocab", "no-such-file.txt", "--output", "x"], "no-such-file.txt"),
        (["corpus", "no-such-file.txt"], "no-such-file.txt"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_status_2(arguments, message):
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("kbert: ") and message in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_fill_mask_on_the_preset():
    text = "He opened the door and walked into the [MASK]."
    finished = run("fill-mask", text, "--json")
    assert finished.returncode == 0, finished.stderr
    (mask,) = json.loads(finished.stdout)
    assert {candidate["word"] for candidate in mask["candidates"]} & {"room", "house"}
    assert text[mask["start"] : mask["end"]] == "[MASK]"
    probabilities = [candidate["probability"] for candidate in mask["candidates"]]
    assert probabilities == sorted(probabilities, reverse=True) and len(probabilities) == 5


def test_fill_mask_as_text_has_one_line_a_word_and_a_heading_a_mask(capsys):
    assert main(["fill-mask", "The [MASK] sat on the [MASK].", "--top-k", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("mask")] == ["mask 1", "mask 2"]
    assert len(lines) == 2 + 6
    assert all("%" in line for line in lines if not line.startswith("mask"))


def test_pair_on_the_preset_tells_a_continuation_from_another_text(capsys):
    first = "The museum opened in 1904 and holds paintings of the nineteenth century."
    verdicts = []
    for second in (
        "Its collection of paintings was a gift from a rich merchant of the city.",
        "The enzyme breaks down the protein in the cells of the liver.",
    ):
        assert main(["pair", first, second, "--json"]) == 0
        verdicts.append(json.loads(capsys.readouterr().out))
    assert verdicts[0]["follows"] > 0.5 > verdicts[1]["follows"]
    assert verdicts[0]["follows"] + verdicts[0]["random"] == pytest.approx(1)


def test_refusals_of_the_model_reach_the_person(capsys):
    assert main(["fill-mask", "no mask here"]) == 2
    assert "kbert: A text must hold at least one [MASK]" in capsys.readouterr().err


@once
@pytest.mark.parametrize(
    ("format_name", "option"),
    [("onnx", "--weights=int8"), ("litert", "--top-k=3"), ("onnx", "--length=64"), ("saved_model", "--length=64")],
)
def test_an_option_that_an_export_would_not_heed_is_refused(tmp_path, capsys, format_name, option):
    output = tmp_path / "out"
    assert main(["export", "kbert-small-en", str(output), "--format", format_name, option]) == 2
    assert f"Received: {option.split('=')[0]} with --format {format_name}." in capsys.readouterr().err
    assert not output.exists()
