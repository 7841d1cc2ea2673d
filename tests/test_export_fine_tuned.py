"""Exports of fine-tuned models against transformers' pipelines on the same folder."""

import keras
import numpy as np
import pytest
import tiny_model
from conftest import once
from test_serving_session import run

from kbert.convert import Checkpoint, save_checkpoint
from kbert.export import export_saved_model
from kbert.inference import Tag
from kbert.models import BertBackbone, BertClassifier, BertMultipleChoice, BertTagger
from training.hostile_texts import hostile_texts

transformers = pytest.importorskip("transformers")
tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.export import fine_tuned_comparison as comparison  # noqa: E402
from kbert.export.references import find_references  # noqa: E402
from kbert.export.saved_model import find_ops  # noqa: E402
from kbert.export.signatures import find_signatures  # noqa: E402

pytestmark = once
CONFIG = tiny_model.CONFIG.replace(num_layers=2, max_sequence_length=24)
NAMES = ["good", "bad", "나쁨", "none"]
TEXTS = [
    "the cat sat on a mat.",
    "the dogs ran home, running",
    "학교에 a",
    "\0cat\u00adS unknown Cat",
    "cat " * 40,
    "mat",
]
LONG = ["the cats sat on a mat " * 60, "학교에 running , " * 120]


def make(kind, config=CONFIG, **settings):
    keras.utils.set_random_seed(8)
    model = kind(BertBackbone(config), 4, label_names=NAMES, **settings)
    return Checkpoint(model, tiny_model.make_tokenizer(), ("mlm", "nsp"), "tiny", config)


def pipeline(task, checkpoint, folder, **settings):
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, folder)
    kind = {"text-classification": "SequenceClassification", "token-classification": "TokenClassification"}[task]
    model = getattr(transformers, f"BertFor{kind}").from_pretrained(folder)
    longest = checkpoint.config.max_sequence_length
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder, model_max_length=longest)
    return transformers.pipeline(task, model=model, tokenizer=tokenizer, **settings)


def decoded(array):
    return [value.decode() for value in array]


@pytest.fixture(scope="module")
def classifier():
    return make(BertClassifier)


@pytest.fixture(scope="module")
def tagger():
    return make(BertTagger, CONFIG.replace(max_sequence_length=150))  # So that windows, 128 tokens apart, overlap.


def test_an_exported_classifier_answers_as_transformers(classifier, tmp_path):
    path = export_saved_model(classifier, tmp_path / "out")
    found = run(path, [("classify", {"text": TEXTS}), ("classify_pair", {"text": TEXTS, "text_pair": TEXTS[::-1]})])
    assert sorted(found["shapes"]) == [
        "classify",
        "classify_pair",
        "embed",
        "embed_pair",
        "serving_default",
        "token_ids",
    ]
    assert found["shapes"]["serving_default"] == [{"text": (-1,)}, {"labels": (-1, 4), "probabilities": (-1, 4)}]
    theirs = pipeline("text-classification", classifier, tmp_path / "bert", top_k=None)
    pairs = [{"text": first, "text_pair": second} for first, second in zip(TEXTS, TEXTS[::-1], strict=True)]
    for answers, texts in zip(found["answers"], (TEXTS, pairs), strict=True):
        # Of two long texts transformers cuts the same number of tokens, but at a tie from the other one.
        for labels, values, expected in zip(
            answers["labels"], answers["probabilities"], theirs(texts, truncation=True), strict=True
        ):
            assert decoded(labels) == [row["label"] for row in expected]
            np.testing.assert_allclose(values, [row["score"] for row in expected], atol=1e-5)


def test_an_exported_tagger_answers_as_transformers(tagger, tmp_path):
    path = export_saved_model(tagger, tmp_path / "out")
    texts = [*TEXTS, "", *LONG, *hostile_texts(60)]
    found = run(path, [("tag", {"text": texts}), ("tag", {"text": []})])
    answers, none = found["answers"]
    assert comparison.compare_tag(answers, Tag(tagger), texts) < 1e-5
    assert answers["num_tokens"][6:9].tolist() == [0, 420, 480] and none["tokens"].shape == (0, 0)
    assert find_ops(path) - found["ops"] == {"FastWordpieceTokenizeWithOffsets"}
    theirs = pipeline("token-classification", tagger, tmp_path / "bert", ignore_labels=[], aggregation_strategy="none")
    for index in range(len(TEXTS)):
        expected = theirs(TEXTS[index])
        count = answers["num_tokens"][index]
        assert count == len(expected)
        rows = {name: values[index] for name, values in answers.items() if name != "num_tokens"}
        assert decoded(rows["labels"][:count]) == [row["entity"] for row in expected]
        for token, row in zip(decoded(rows["tokens"][:count]), expected, strict=True):
            assert token in (row["word"], "[UNK]")  # Its word for an unknown one is the text.
        assert rows["starts"][:count].tolist() == [row["start"] for row in expected]
        assert rows["ends"][:count].tolist() == [row["end"] for row in expected]
        np.testing.assert_allclose(rows["probabilities"][:count], [row["score"] for row in expected], atol=1e-5)
        assert not rows["probabilities"][count:].any() and set(decoded(rows["tokens"][count:])) <= {""}


def test_several_labels_and_numbers(tmp_path):
    several = make(BertClassifier, problem="several_labels")
    classify, _ = find_signatures(several, 1)["classify"]
    answers = classify(tf.constant(TEXTS))
    theirs = pipeline("text-classification", several, tmp_path, top_k=None)(TEXTS, truncation=True)
    for labels, values, expected in zip(
        answers["labels"].numpy(), answers["probabilities"].numpy(), theirs, strict=True
    ):
        assert decoded(labels) == [row["label"] for row in expected]
        np.testing.assert_allclose(values, [row["score"] for row in expected], atol=1e-5)
    numbers = make(BertClassifier, problem="regression")
    answers = find_signatures(numbers, 1)["classify"][0](tf.constant(TEXTS))
    assert decoded(answers["labels"].numpy()[0]) == NAMES
    packed = numbers.tokenizer.pack(TEXTS[0])
    row = {
        "token_ids": np.array([packed.token_ids]),
        "segment_ids": np.array([packed.segment_ids]),
        "padding_mask": np.ones((1, len(packed.token_ids)), "int32"),
    }
    np.testing.assert_allclose(answers["values"][:1], numbers.model(row, training=False)["logits"], atol=1e-5)


def test_the_check_sees_every_kind_of_difference(classifier, tagger):
    for checkpoint, name in ((classifier, "classify"), (tagger, "tag")):
        _, compare = find_references(checkpoint)[name]
        answers = find_signatures(checkpoint, 1)[name][0](tf.constant(TEXTS))
        good = {key: value.numpy() for key, value in answers.items()}
        assert compare(good, TEXTS) < 1e-5
        for key, values in good.items():
            bad = values.copy()
            place = (0,) * bad.ndim
            bad[place] = (
                b"good"
                if bad.dtype == object and bad[place] != b"good"
                else b"bad"
                if bad.dtype == object
                else bad[place] + 0.5
            )
            if bad.dtype.kind == "i":
                bad[place] += 1
            assert compare(good | {key: bad}, TEXTS) > 1e-3, key


def test_a_model_without_signatures_is_refused():
    model = BertMultipleChoice(BertBackbone(CONFIG))
    checkpoint = Checkpoint(model, tiny_model.make_tokenizer(), ("mlm", "nsp"), "tiny", CONFIG)
    with pytest.raises(ValueError, match="Received: BertMultipleChoice"):
        find_signatures(checkpoint, 1)
