"""training/cloze.py: the count is of what the model answers; the files can be read."""

import pathlib

import pytest
from conftest import once_on_torch

from kbert.inference import FillMask
from training import cloze

pytestmark = once_on_torch

FOLDER = pathlib.Path(cloze.__file__).parent / "cloze"


@pytest.mark.parametrize(("name", "count"), [("en.tsv", 100), ("ko.tsv", 50)])
def test_every_line_of_the_files_is_a_question_of_its_own(name, count):
    questions = cloze.read_questions(FOLDER / name)
    assert len({text for text, _ in questions}) == count


def test_counts_the_answers_that_fit(tmp_path, capsys):
    text = "The cat sleeps on the [MASK]."
    (mask,) = FillMask("kbert-small-en")(text, top_k=4)
    words = [candidate.word for candidate in mask.candidates]
    lines = [(words[3], "+"), (f"none {words[0]}", "+"), ("none", " ")]
    (tmp_path / "questions.tsv").write_text("".join(f"{text}\t{fitting}\n" for fitting, _ in lines))
    result = cloze.main(["kbert-small-en", str(tmp_path / "questions.tsv"), "--top_k", "4"])
    assert result == {"sentences": 3, "right": 2, "top_k": 4}
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [f"{sign} {text}  {', '.join(words)}" for _, sign in lines]
    assert cloze.main(["kbert-small-en", str(tmp_path / "questions.tsv"), "--top_k", "3"])["right"] == 1


@pytest.mark.parametrize("line", ["No mask.\tword", "A [MASK] of [MASK].\tword", "A [MASK].", "A [MASK].\t "])
def test_names_a_line_that_is_no_question(tmp_path, line):
    (tmp_path / "questions.tsv").write_text(f"A [MASK].\tword\n{line}\n")
    with pytest.raises(SystemExit, match="one .MASK., a tab, and fitting words. Received: line 2 of "):
        cloze.main(["kbert-small-en", str(tmp_path / "questions.tsv")])
