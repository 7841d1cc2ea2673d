"""Questions out of SQuAD's files, scored as the official scripts do, and answers written as they are handed in."""

import copy
import json
import lzma

import numpy as np
import pytest
from conftest import once
from tiny_model import make_tokenizer

from kbert.tasks.squad import FoundAnswer, open_squad
from kbert.tasks.squad_files import read_squad
from kbert.tasks.squad_score import best_threshold, score_answer, score_answers
from training import finetune_tasks
from training.finetune_settings import Settings

pytestmark = once


@pytest.mark.parametrize(
    ("text", "references", "exact", "f1"),
    [
        ("The Denver Broncos!", ["Denver  broncos"], 1, 1),
        ("Denver", ["Denver Broncos", "the Broncos"], 0, 2 / 3),
        ("an apple a day", ["apple day"], 1, 1),
        ("Broncos Broncos", ["Broncos"], 0, 2 / 3),
        ("2-1", ["21"], 1, 1),
        ("cat", ["dog"], 0, 0),
        ("theatre", ["atre"], 0, 0),
    ],
)
@pytest.mark.parametrize("script", ["evaluate-v1.1", "evaluate-v2.0"])
def test_english_answers(text, references, exact, f1, script):
    assert score_answer(text, references, script) == (exact, pytest.approx(f1))


def test_the_two_english_scripts_differ_in_empty_answers():
    assert score_answer("the", ["a"], "evaluate-v1.1") == (1, 0)
    assert score_answer("the", ["a"], "evaluate-v2.0") == (1, 1)
    assert score_answer("cat", ["a", "cat dog"], "evaluate-v2.0") == (0, pytest.approx(2 / 3))
    assert score_answer("", [], "evaluate-v2.0") == (1, 1)
    assert score_answer("cat", [], "evaluate-v2.0") == (0, 0)


@pytest.mark.parametrize(
    ("text", "reference", "exact", "f1"),
    [
        ("《임수경》", "임수경", 1, 1),
        ("임수경이", "임수경", 0, 6 / 7),  # 3 characters in common of 4 and 3.
        ("1989년 2월", "1989년  2월 15일", 0, 2 * 7 / (7 + 10)),
        ("the 학교", "학교", 0, 2 * 2 / (5 + 2)),  # English articles count.
    ],
)
def test_korean_answers_are_counted_by_character(text, reference, exact, f1):
    assert score_answer(text, [reference], "evaluate-korquad_v1.0") == (exact, pytest.approx(f1))


def test_a_question_without_answer_counts_as_wrong():
    references = {"1": ["cat"], "2": ["dog"], "3": ["a red mat"]}
    scores = score_answers({"1": "Cat", "3": "red"}, references, "evaluate-v1.1")
    assert scores == {"exact": pytest.approx(100 / 3), "f1": pytest.approx((100 + 200 / 3) / 3)}


@pytest.mark.parametrize("seed", range(30))
def test_the_threshold_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    names = [str(number) for number in range(12)]
    references = {name: ["cat mat"] if rng.random() < 0.5 else [] for name in names}
    answers = {name: str(rng.choice(["cat mat", "cat", "dog"])) for name in names}
    differences = {name: float(rng.integers(-3, 4)) for name in names}

    def f1(threshold):
        chosen = {name: "" if differences[name] > threshold else answers[name] for name in names}
        return score_answers(chosen, references, "evaluate-v2.0")["f1"]

    found = best_threshold(answers, differences, references, "evaluate-v2.0")
    assert f1(found) == pytest.approx(max(f1(threshold) for threshold in range(-4, 5)))


CONTEXT = "The cat sat on a mat. 학교에 dogs ran home, the cat ran."
FILE = {
    "version": "1.1",
    "data": [
        {
            "title": "Cats",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {"id": "1", "question": "on a mat?", "answers": [{"text": "cat", "answer_start": 4}]},
                        {"id": "2", "question": "ran home?", "answers": [{"text": "dogs", "answer_start": 26}]},
                    ],
                }
            ],
        }
    ],
}


def write(folder, stem, content, **changes):
    path = folder / f"{stem}.json.xz"
    path.write_bytes(lzma.compress(json.dumps(content, ensure_ascii=False).encode()))
    return path


def absent(content):
    content = copy.deepcopy(content)
    content["data"][0]["paragraphs"][0]["qas"][1] |= {"answers": [], "is_impossible": True}
    return content


def test_rows_point_to_the_answer(tmp_path):
    write(tmp_path, "train-v1.1", FILE)
    write(tmp_path, "dev-v1.1", FILE)
    task = open_squad("squad", tmp_path, stride=4)
    tokenizer = make_tokenizer()
    rows = task.rows(tokenizer, task.train, 14)
    assert {row.example for row in rows} == {0, 1} and len(rows) > 4
    held = [0, 0]
    for row in rows:
        start, end = row.targets["start"], row.targets["end"]
        if (start, end) == (0, 0):
            continue
        held[row.example] += 1
        pieces = [tokenizer.id_to_token(token_id) for token_id in row.parts[0].token_ids[start : end + 1]]
        assert pieces == [["cat"], ["dog", "##s"]][row.example]
    assert min(held) >= 1 and sum(held) < len(rows)

    outputs = [np.zeros((2, 14)) for _ in rows]
    for row, output in zip(rows, outputs, strict=True):
        if row.targets["start"]:
            output[0, row.targets["start"]] = output[1, row.targets["end"]] = 7
    answers = task.decode(task.train, rows, outputs)
    assert [answer.text for answer in answers] == ["cat", "dogs"]
    assert task.score(task.train, answers) == {"exact": 100.0, "f1": 100.0}
    path = task.write_answers("dev", task.train, answers, tmp_path / "answers")
    assert (path.name, json.loads(path.read_text())) == ("predictions.json", {"1": "cat", "2": "dogs"})
    best = json.loads((tmp_path / "answers" / "nbest.json").read_text())["2"]
    assert best[0]["text"] == CONTEXT[best[0]["start"] : best[0]["end"]] == "dogs" and len(best) > 1


def test_no_answer_wins_above_the_threshold_that_dev_gives(tmp_path):
    for stem in ("train-v2.0", "dev-v2.0"):
        write(tmp_path, stem, absent(FILE))
    task = open_squad("squad2", tmp_path)
    rows = task.rows(make_tokenizer(), task.dev["dev"], 40)
    assert [(row.targets["start"], row.targets["end"]) for row in rows][1] == (0, 0)
    outputs = [np.zeros((2, 40)) for _ in rows]
    place = rows[0].targets["start"]
    outputs[0][:, place], outputs[0][:, 0] = 3.0, 4.0  # No answer is better by 2 where there is one,
    outputs[1][:, place], outputs[1][:, 0] = 3.0, 5.0  # and by 4 where there is none.
    answers = task.decode(task.dev["dev"], rows, outputs)
    assert [answer.null_difference for answer in answers] == [2.0, 4.0]
    assert task.score(task.dev["dev"], answers) == {"exact": 100.0, "f1": 100.0, "threshold": 2.0}
    path = task.write_answers("dev", task.dev["dev"], answers, tmp_path / "answers")
    assert json.loads(path.read_text()) == {"1": "cat", "2": ""}
    assert json.loads((path.parent / "null_odds.json").read_text()) == {"1": 2.0, "2": 4.0}
    never = [FoundAnswer("dog", -1.0, []), FoundAnswer("dog", -2.0, [])]
    assert task.score(task.dev["dev"], never)["f1"] == 50.0 and task.threshold(task.dev["dev"], never) == -3.0


def damaged(**changes):
    content = copy.deepcopy(FILE)
    entry = content["data"][0]["paragraphs"][0]["qas"][1]
    for name, value in changes.items():
        if value is None:
            del entry[name]
        else:
            entry[name] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (damaged(answers=[{"text": "dogs", "answer_start": 27}]), "'dogs' at 27, where .* has 'ogs ', question 2 of"),
        (damaged(answers=[{"text": "", "answer_start": 2}]), "'' at 2"),
        (damaged(answers=[]), "must have an answer. Received: none, question 2 of .*squad2"),
        (damaged(question=" "), "at least one word. Received: an empty one, question 2 of"),
        (damaged(id="1"), "an id of its own. Received: 1 more than once"),
        (damaged(id=None), "in SQuAD's format.*without 'id'"),
        (damaged(answers=[{"text": "dogs"}]), "in SQuAD's format.*without 'answer_start'"),
        ({"data": []}, "must hold some. Received: none in"),
        ([1], "in SQuAD's format"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_squad(write(tmp_path, "train-v1.1", content), may_be_absent=False)


def test_a_file_may_be_in_another_encoding(tmp_path):
    content = copy.deepcopy(FILE)
    content["data"][0]["paragraphs"][0]["qas"][0]["question"] = "고양이는 어디에 있는가?"
    text = json.dumps(content, ensure_ascii=False)
    for stem in ("train", "dev"):
        (tmp_path / f"KorQuAD_v1.0_{stem}.json").write_bytes(text.encode("cp949"))
    task = finetune_tasks.open_task(Settings("korquad", data=str(tmp_path), encoding="cp949"))
    assert task.train[0].question == "고양이는 어디에 있는가?"
    with pytest.raises(ValueError, match="encoding it is read in, here utf-8"):
        open_squad("korquad", tmp_path)


def test_no_json_and_no_file(tmp_path):
    (tmp_path / "train-v1.1.json").write_text('{"data": [')
    with pytest.raises(ValueError, match="must be JSON. Received: .*train-v1.1.json: Expecting"):
        read_squad(tmp_path / "train-v1.1.json", may_be_absent=False)
    with pytest.raises(FileNotFoundError, match="must be a KorQuAD_v1.0_train.json. Received: --data"):
        open_squad("korquad", tmp_path)
