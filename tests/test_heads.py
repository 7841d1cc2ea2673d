"""The fine-tuned models by themselves: their losses, `fit`, saving, and what they refuse."""

import keras
import numpy as np
import pytest
import scipy.special
import torch
from hugging_face_models import INPUT_NAMES, TOKENS, hugging_face_model, random_inputs, save_folder

from kbert.config import BertConfig
from kbert.convert import load
from kbert.inference import FillMask
from kbert.models import BertBackbone, BertClassifier, BertMultipleChoice, BertSpanFinder, BertTagger

CONFIG = BertConfig(
    vocabulary_size=len(TOKENS),
    num_layers=1,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=20,
    max_sequence_length=16,
    dropout=0.0,
    attention_dropout=0.0,
)
B, C, T = 3, 4, 7
MODELS = {
    "one_class": lambda backbone: BertClassifier(backbone, C),
    "several_labels": lambda backbone: BertClassifier(backbone, C, "several_labels", ["a", "b", "c", "d"], 0.3),
    "regression": lambda backbone: BertClassifier(backbone, 1, "regression"),
    "choice": BertMultipleChoice,
    "tags": lambda backbone: BertTagger(backbone, C, dropout=0.25),
    "span": BertSpanFinder,
}


def example_of(name):
    """Inputs, targets and weights of one batch."""
    rng = np.random.default_rng(2)
    inputs = random_inputs(B, C, T) if name == "choice" else random_inputs(B, T)
    targets = {
        "one_class": lambda: {"logits": rng.integers(0, C, B)},
        "several_labels": lambda: {"logits": rng.integers(0, 2, (B, C)).astype("float32")},
        "regression": lambda: {"logits": rng.normal(size=(B, 1)).astype("float32")},
        "choice": lambda: {"logits": rng.integers(0, C, B)},
        "tags": lambda: {"logits": rng.integers(0, C, (B, T))},
        "span": lambda: {"start": rng.integers(0, T, B), "end": rng.integers(0, T, B)},
    }[name]()
    weights = {"logits": inputs["padding_mask"].astype("float32")} if name == "tags" else None
    return inputs, targets, weights


@pytest.mark.parametrize("name", MODELS)
def test_one_step_moves_every_weight_that_counts(name):
    model = MODELS[name](BertBackbone(CONFIG))
    model.compile(keras.optimizers.SGD(0.1))
    before = {variable.path: keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables}
    inputs, targets, weights = example_of(name)
    logs = model.fit(inputs, targets, sample_weight=weights, batch_size=B, verbose=0).history
    assert np.isfinite(logs["loss"]).all()
    still = {
        variable.path
        for variable in model.trainable_variables
        if np.array_equal(before[variable.path], keras.ops.convert_to_numpy(variable))
    }
    # Softmax cancels what moves all its logits alike; heads on tokens never read the pooler.
    allowed = ["attention/key/bias"] + {
        "choice": ["classifier/dense/bias"],
        "tags": ["pooler/"],
        "span": ["pooler/", "span/dense/bias", "feed_forward_norm/beta"],
    }.get(name, [])
    assert not {path for path in still if not any(part in path for part in allowed)}


@pytest.mark.parametrize("name", MODELS)
def test_keras_saving_keeps_everything(name, tmp_path):
    model = MODELS[name](BertBackbone(CONFIG))
    model.compile()
    model.optimizer.build(model.trainable_variables)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.backbone.config == CONFIG
    ours, loaded = model.get_config(), again.get_config()
    assert {**loaded, "backbone": None} == {**ours, "backbone": None}
    for one, two in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(two))
    inputs, targets, _ = example_of(name)
    assert model.evaluate(inputs, targets, verbose=0) == pytest.approx(again.evaluate(inputs, targets, verbose=0))


@pytest.mark.parametrize(
    ("architecture", "name", "settings"),
    [
        ("BertForSequenceClassification", "one_class", {"num_labels": C}),
        (
            "BertForSequenceClassification",
            "several_labels",
            {"num_labels": C, "problem_type": "multi_label_classification"},
        ),
        ("BertForSequenceClassification", "regression", {"num_labels": 1}),
        ("BertForMultipleChoice", "choice", {}),
        ("BertForTokenClassification", "tags", {"num_labels": C}),
        ("BertForQuestionAnswering", "span", {}),
    ],
)
def test_default_loss_is_that_of_transformers(architecture, name, settings, tmp_path):
    theirs = hugging_face_model(architecture, **settings)
    model = load(save_folder(theirs, tmp_path)).model
    model.compile()
    inputs, targets, weights = example_of(name)
    ours = model.evaluate(inputs, targets, sample_weight=weights, batch_size=B, verbose=0, return_dict=True)["loss"]
    asked = {INPUT_NAMES[key]: torch.tensor(value, dtype=torch.long) for key, value in inputs.items()}
    if name == "span":
        labels = {f"{key}_positions": torch.tensor(value) for key, value in targets.items()}
    else:
        label = targets["logits"]
        labels = {"labels": torch.tensor(np.where(weights["logits"] > 0, label, -100) if name == "tags" else label)}
    with torch.no_grad():
        wanted = theirs(**asked, **labels).loss.item()
    assert ours == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_padding_cannot_move_the_answer(name):
    model = MODELS[name](BertBackbone(CONFIG))
    inputs, _, _ = example_of(name)
    changed = inputs | {"token_ids": np.where(inputs["padding_mask"] == 1, inputs["token_ids"], 8)}
    assert (changed["token_ids"] != inputs["token_ids"]).any()
    real = inputs["padding_mask"].astype(bool) if name in ("tags", "span") else slice(None)
    answers = model.predict_on_batch(inputs)
    for output, value in model.predict_on_batch(changed).items():
        np.testing.assert_allclose(answers[output][real], value[real], atol=1e-6)


def test_logits_are_float32_under_a_policy_for_all():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        for name, make in MODELS.items():
            outputs = make(BertBackbone(CONFIG))(example_of(name)[0], training=False)
            assert {keras.backend.standardize_dtype(logits.dtype) for logits in outputs.values()} == {"float32"}, name
    finally:
        keras.config.set_dtype_policy(before)


def test_what_a_span_teaches_does_not_depend_on_padding():
    model = BertSpanFinder(BertBackbone(CONFIG.replace(dropout=0.0, attention_dropout=0.0)))
    model.compile(keras.optimizers.SGD(0.0))
    inputs, _, _ = example_of("span")
    lengths = inputs["padding_mask"].sum(1)
    assert lengths.min() < T  # There is padding.
    targets = {"start": lengths // 2, "end": lengths - 1}
    more = {key: np.pad(value, ((0, 0), (0, 3))) for key, value in inputs.items()}
    losses = [model.train_on_batch(one, targets, return_dict=True)["loss"] for one in (inputs, more)]
    answers = model.predict_on_batch(inputs)
    by_hand = [
        scipy.special.logsumexp(logits[:length]) - logits[place]
        for name in targets
        for logits, length, place in zip(answers[name], lengths, targets[name], strict=True)
    ]
    np.testing.assert_allclose(losses, np.mean(by_hand), rtol=1e-5)


@pytest.mark.parametrize("name", ["one_class", "choice", "span"])
def test_half_precision_gives_float32_logits(name):
    model = MODELS[name](BertBackbone(CONFIG, dtype="mixed_bfloat16"))
    assert model.backbone.compute_dtype == "bfloat16"
    outputs = model.predict_on_batch(example_of(name)[0])
    assert {value.dtype.name for value in outputs.values()} == {"float32"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_classes": 0}, "int of 1 or more. Received: num_classes=0"),
        ({"num_classes": True}, "int of 1 or more. Received: num_classes=True"),
        ({"num_classes": 1}, "2 or more to choose from. Received: num_classes=1"),
        ({"num_classes": 2, "problem": "labels"}, "one of .* Received: problem='labels'"),
        ({"num_classes": 3, "label_names": ["a", "b"]}, r"different names. Received: label_names=\['a', 'b'\]"),
        ({"num_classes": 2, "label_names": ["a", "a"]}, r"different names. Received: label_names=\['a', 'a'\]"),
    ],
)
def test_classifier_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        BertClassifier(BertBackbone(CONFIG), **arguments)


def test_a_fine_tuned_model_is_no_answer_to_masks(tmp_path):
    save_folder(hugging_face_model("BertForSequenceClassification", num_labels=3), tmp_path)
    with pytest.raises(ValueError, match="without mlm"):
        FillMask(tmp_path)
