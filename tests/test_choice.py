"""Multiple choice: SWAG's and CODAH's files, and the endings that a model prefers."""

import json

import keras
import numpy as np
import pytest
import torch
import transformers
from tiny_model import CONFIG, make_model, make_tokenizer

from kbert.cli import main
from kbert.convert import save_checkpoint
from kbert.inference import Choose
from kbert.models import BertBackbone, BertMultipleChoice
from kbert.tasks.choice import open_codah, open_swag

SWAG = """,video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label
0,x,1,"The cat sat. A dog","The cat sat, on a mat.",A dog,gold,ran home.,sat on a mat.,the,on,2
1,x,2,The cat. A,The cat.,A,gold,a,b,c,d,0
"""


def write(folder, **files):
    for stem, text in files.items():
        (folder / stem.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def test_swag(tmp_path):
    test = SWAG.replace(",label", "").replace(",2\n", "\n").replace(",0\n", "\n")
    task = open_swag(write(tmp_path, train_csv=SWAG, val_csv=SWAG, test_csv=test))
    first = task.train[0]
    assert (first.context, first.begun, first.target) == ("The cat sat, on a mat.", "A dog", 2)
    assert first.endings == ("ran home.", "sat on a mat.", "the", "on")
    assert [choice.target for choice in task.test["test"]] == [None, None] and not task.has_answers(task.test["test"])
    tokenizer = make_tokenizer()
    row, _ = task.rows(tokenizer, task.train, 40)
    # As transformers' run_swag.py: the sentence before, and the beginning with each ending.
    wanted = [tokenizer.pack(first.context, f"A dog {ending}") for ending in first.endings]
    assert [list(part.token_ids) for part in row.parts] == [packed.token_ids for packed in wanted]
    assert [list(part.segment_ids) for part in row.parts] == [packed.segment_ids for packed in wanted]
    assert row.targets == {"logits": 2}
    answers = task.decode(task.train, [], [(np.array([0, 1, 3, 2]),), (np.array([0, 1, 2, 9]),)])
    assert answers == [2, 3] and task.score(task.train, answers) == {"accuracy": 50.0}
    assert task.write_answers("test", task.test["test"], answers, tmp_path / "a").read_text() == "pred\n2\n3\n"


def test_codah_in_five_folds(tmp_path):
    rows = "".join(f"o\tI am {number}. I\ta {number}\tb\tc\td\t{number % 4}\n" for number in range(23))
    (tmp_path / "full_data.tsv").write_text(rows)
    folds = [open_codah(tmp_path, fold) for fold in range(5)]
    asked = [choice.context for task in folds for choice in task.dev["dev"]]
    assert sorted(asked) == sorted(f"I am {number}. I" for number in range(23))
    for task in folds:
        assert len(task.train) + len(task.dev["dev"]) == 23
        assert not {c.context for c in task.train} & {c.context for c in task.dev["dev"]}
    choice = next(choice for choice in folds[0].train if choice.context == "I am 7. I")
    assert choice.endings == ("a 7", "b", "c", "d") and choice.target == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",2\n", ",4\n", "number of an ending, 0 to 3. Received: '4' in line 2 of .*train.csv"),
        (",2\n", ",gold\n", "Received: 'gold' in line 2"),
        ("sat on a mat.,the", " ,the", "at least one word. Received: an empty one in line 2"),
        ("sent2", "start", "must have the columns .*'sent2'.* in line 2"),
    ],
)
def test_damaged_files(tmp_path, old, new, message):
    assert old in SWAG
    write(tmp_path, train_csv=SWAG.replace(old, new, 1), val_csv=SWAG)
    with pytest.raises(ValueError, match=message):
        open_swag(tmp_path)


def test_an_ending_that_is_no_text_is_told(tmp_path):
    row = {"sent1": "a", "sent2": "b", "ending0": "c", "ending1": None, "label": 0}
    for stem in ("train", "val"):
        (tmp_path / f"{stem}.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match=r"endings must be texts. Received: \('c', None\) in line 1 of .*train.jsonl"):
        open_swag(tmp_path)


def test_missing_files_labels_and_folds(tmp_path):
    write(tmp_path, train_csv=SWAG)
    with pytest.raises(FileNotFoundError, match="train and val files. Received: --data .* without dev"):
        open_swag(tmp_path)
    write(tmp_path, val_csv=SWAG.replace(",label", ",other"))
    with pytest.raises(ValueError, match="must have the column label. Received: none in line 2 of .*val.csv"):
        open_swag(tmp_path)
    write(tmp_path, val_csv=SWAG.replace(",ending3", "").replace(",on,2", ",2").replace(",d,0", ",0"))
    with pytest.raises(ValueError, match="as many endings. Received: {4: .*3: "):
        open_swag(tmp_path)
    with pytest.raises(ValueError, match="between 0 and 4. Received: --fold 5"):
        open_codah(tmp_path, 5)
    with pytest.raises(FileNotFoundError, match="must be a full_data.tsv"):
        open_codah(tmp_path)


def make_chooser():
    keras.utils.set_random_seed(13)
    return BertMultipleChoice(BertBackbone(CONFIG.replace(num_layers=2)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chooser")
    save_checkpoint(make_chooser(), make_tokenizer(), folder)
    return str(folder)


CONTEXT, ENDINGS = "the cats sat .", ["the dog ran home .", "on a mat", "학교에 sat , the mat"]


def test_endings_are_ranked_as_by_transformers(folder):
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    model = transformers.BertForMultipleChoice.from_pretrained(folder).eval()
    encoded = tokenizer([CONTEXT] * 3, ENDINGS, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**{name: value[None] for name, value in encoded.items()}).logits
    wanted = logits.softmax(-1)[0].numpy()
    found = Choose(folder)(CONTEXT, ENDINGS)
    assert [ending.number for ending in found] == list(np.argsort(-wanted))
    np.testing.assert_allclose([ending.probability for ending in found], sorted(wanted, reverse=True), atol=1e-5)
    assert all(ending.text == ENDINGS[ending.number] for ending in found)


def test_long_texts_are_cut(folder):
    choose = Choose(folder)
    long = choose("the cat " * 40, ENDINGS)
    # The context is the longer of the two: its end is cut, as far as each ending needs.
    assert len(long) == 3 and sum(ending.probability for ending in long) == pytest.approx(1)


def test_the_command_and_what_is_refused(folder, capsys):
    expected = Choose(folder)(CONTEXT, ENDINGS)
    assert main(["choose", CONTEXT, *ENDINGS, "--model", folder]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == [ending.text for ending in expected]
    assert main(["choose", CONTEXT, *ENDINGS, "--model", folder, "--json"]) == 0
    assert [entry["number"] for entry in json.loads(capsys.readouterr().out)] == [e.number for e in expected]
    with pytest.raises(ValueError, match=r"two or more texts. Received: endings=\['a'\]"):
        Choose(folder)(CONTEXT, ["a"])
    with pytest.raises(ValueError, match="at least one word"):
        Choose(folder)(CONTEXT, ["a", " "])
    with pytest.raises(ValueError, match="must be a BertMultipleChoice. Received: a BertPretrainer"):
        Choose(make_model(), make_tokenizer())
