"""Labels of texts: as transformers' pipeline gives them from the same folder, and on the command line."""

import json

import keras
import numpy as np
import pytest
import transformers
from tiny_model import CONFIG, make_model, make_tokenizer

from kbert.cli import main
from kbert.convert import save_checkpoint
from kbert.inference import Classify
from kbert.models import BertBackbone, BertClassifier

TEXTS = ["the cat sat", "a dog ran home on the mat, the cat ran", "a", "the dogs sat on a mat ."] * 9
PAIR = ("the dogs", "학교에 sat home.")
NAMES = ("bad", "so so", "good")


def make_classifier(problem, names=NAMES):
    keras.utils.set_random_seed(7)
    return BertClassifier(BertBackbone(CONFIG.replace(num_layers=2)), len(names), problem, names)


@pytest.fixture(scope="module", params=["one_class", "several_labels", "regression"])
def case(request, tmp_path_factory):
    names = ("score",) if request.param == "regression" else NAMES
    folder = tmp_path_factory.mktemp(request.param)
    save_checkpoint(make_classifier(request.param, names), make_tokenizer(), folder)
    return request.param, str(folder)


def test_labels_are_those_of_transformers(case):
    problem, folder = case
    pipeline = transformers.pipeline(
        "text-classification", folder, tokenizer=transformers.BertTokenizerFast.from_pretrained(folder), device=-1
    )
    classify = Classify(folder)
    for text, labels in zip(TEXTS, classify(TEXTS), strict=True):
        wanted = pipeline(text, top_k=None)
        assert [label.name for label in labels] == [entry["label"] for entry in wanted]
        found = [label.value if problem == "regression" else label.probability for label in labels]
        assert found == pytest.approx([entry["score"] for entry in wanted], abs=1e-5)
    wanted = pipeline({"text": PAIR[0], "text_pair": PAIR[1]}, top_k=None)
    assert [label.name for label in classify(PAIR)] == [entry["label"] for entry in wanted]


def test_the_command_prints_what_python_answers(case, capsys):
    problem, folder = case
    expected = Classify(folder)(["the cat", PAIR], top_k=2)
    arguments = ["classify", "the cat", " ||| ".join(PAIR), "--top-k", "2", "--model", folder]
    assert main([*arguments, "--json"]) == 0
    assert [[label["name"] for label in labels] for labels in json.loads(capsys.readouterr().out)] == [
        [label.name for label in labels] for labels in expected
    ]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the cat" and lines[1].endswith(f"  {expected[0][0].name}")
    assert len(lines) == 2 + sum(map(len, expected))
    shown = float(lines[1].split()[0].rstrip("%"))
    first = expected[0][0]
    assert shown == pytest.approx(first.value if problem == "regression" else 100 * first.probability, abs=0.06)


def test_any_callable_will_do():
    model = make_classifier("one_class")
    called = Classify(
        lambda inputs: model(inputs, training=False), make_tokenizer(), 40, label_names=NAMES, problem="one_class"
    )
    ours = Classify(model, make_tokenizer())
    assert [label.name for label in called("the cat")] == [label.name for label in ours("the cat")]
    np.testing.assert_allclose(
        [label.probability for label in called(PAIR)], [label.probability for label in ours(PAIR)], atol=1e-6
    )


def test_long_texts_are_cut_only_when_asked():
    classify = Classify(make_classifier("one_class"), make_tokenizer())
    long = "the cat " * 30
    with pytest.raises(ValueError, match="at most 40 tokens"):
        classify(long)
    assert classify(long, truncate=True) == classify("the cat " * 19)
    assert classify([]) == []


def test_what_is_refused():
    classify = Classify(make_classifier("one_class"), make_tokenizer())
    with pytest.raises(ValueError, match="at least 1. Received: top_k=0"):
        classify("the cat", top_k=0)
    with pytest.raises(ValueError, match="must be a BertClassifier. Received: a BertPretrainer.*finetune.py"):
        Classify(make_model(), make_tokenizer())
    with pytest.raises(ValueError, match="with its `label_names` and `problem`. Received: label_names=None"):
        Classify(lambda inputs: inputs, make_tokenizer(), 40)
