"""Every head, from transformers and back to it, by the numbers."""

import numpy as np
import pytest
import safetensors.numpy
import transformers
from hugging_face_models import TOKENS, ask_hugging_face, hugging_face_model, random_inputs, save_folder
from keras import ops

import kbert
from kbert.convert import load, save_checkpoint

B, T = 3, 7
# Our model's outputs that are compared, and theirs.
HEADS = {
    "BertModel": {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output"},
    "BertForPreTraining": {"mlm": "prediction_logits", "nsp": "seq_relationship_logits"},
    "BertForMaskedLM": {"mlm": "logits"},
    "BertForNextSentencePrediction": {"nsp": "logits"},
    "BertForSequenceClassification": {"logits": "logits"},
    "BertForMultipleChoice": {"logits": "logits"},
    "BertForTokenClassification": {"logits": "logits"},
    "BertForQuestionAnswering": {"start": "start_logits", "end": "end_logits"},
}
MISSING = {
    "BertModel": ("mlm", "nsp"),
    "BertForPreTraining": (),
    "BertForMaskedLM": ("pooler", "nsp"),
    "BertForNextSentencePrediction": ("mlm",),
    "BertForSequenceClassification": ("mlm", "nsp"),
    "BertForMultipleChoice": ("mlm", "nsp"),
    "BertForTokenClassification": ("pooler", "mlm", "nsp"),
    "BertForQuestionAnswering": ("pooler", "mlm", "nsp"),
}
CLASSES = {"BertForSequenceClassification": 4, "BertForTokenClassification": 5}


def settings_of(architecture):
    if architecture not in CLASSES:
        return {}
    names = {index: f"name {index}" for index in range(CLASSES[architecture])}
    return {"id2label": names, "label2id": {name: index for index, name in names.items()}}


def ask_ours(model, architecture, inputs):
    if architecture == "BertModel":
        model = model.backbone
    if isinstance(model, kbert.BertPretrainer):
        inputs = inputs | {"mask_positions": np.tile(np.arange(T, dtype="int32"), (B, 1))}
    return {name: ops.convert_to_numpy(value) for name, value in model(inputs, training=False).items()}


def inputs_of(architecture):
    return random_inputs(B, 4, T) if architecture == "BertForMultipleChoice" else random_inputs(B, T)


def assert_same_answers(ours, theirs, architecture):
    inputs = inputs_of(architecture)
    answers = ask_ours(ours, architecture, inputs)
    wanted = ask_hugging_face(theirs, inputs)
    for our_name, their_name in HEADS[architecture].items():
        # Both sum in float32, in another order.
        np.testing.assert_allclose(answers[our_name], wanted[their_name].numpy(), atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module", params=HEADS)
def case(request, tmp_path_factory):
    """(architecture, their model, ours loaded from their folder)."""
    architecture = request.param
    theirs = hugging_face_model(architecture, **settings_of(architecture))
    folder = save_folder(theirs, tmp_path_factory.mktemp(architecture))
    return architecture, theirs, load(folder)


def test_same_answers_as_transformers(case):
    architecture, theirs, checkpoint = case
    assert checkpoint.missing_parts == MISSING[architecture]
    assert_same_answers(checkpoint.model, theirs, architecture)


def test_transformers_loads_what_we_write(case, tmp_path):
    architecture, _, checkpoint = case
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path, missing_parts=checkpoint.missing_parts)
    again, report = getattr(transformers, architecture).from_pretrained(tmp_path, output_loading_info=True)
    assert again.config.architectures == [architecture]
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        assert not report.get(kind), (kind, report[kind])
    assert_same_answers(checkpoint.model, again.eval(), architecture)
    assert transformers.BertTokenizerFast.from_pretrained(tmp_path).get_vocab() == {
        token: index for index, token in enumerate(TOKENS)
    }


def test_other_spellings_of_the_same_names(case, tmp_path):
    architecture, theirs, checkpoint = case
    tensors = {name: value.numpy() for name, value in theirs.state_dict().items()}
    other = {}
    for name, value in tensors.items():
        name = f"bert.{name}" if architecture == "BertModel" else name.removeprefix("bert.")
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        other[name] = np.ascontiguousarray(value)
    assert not set(other) & {name for name in tensors if "LayerNorm" in name or "embeddings" in name}
    save_folder(theirs, tmp_path)
    safetensors.numpy.save_file(other, tmp_path / "model.safetensors")
    again = load(tmp_path)
    assert again.missing_parts == checkpoint.missing_parts
    assert_same_answers(again.model, theirs, architecture)


def test_label_names_travel(case, tmp_path):
    architecture, theirs, checkpoint = case
    if architecture not in CLASSES:
        assert not hasattr(checkpoint.model, "label_names")
        return
    names = tuple(f"name {index}" for index in range(CLASSES[architecture]))
    assert checkpoint.model.label_names == names
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    assert (config.id2label, config.label2id) == (theirs.config.id2label, theirs.config.label2id)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"num_labels": 1}, "regression"),
        ({"num_labels": 3}, "one_class"),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, "several_labels"),
        ({"num_labels": 2, "problem_type": "regression"}, "regression"),
    ],
)
def test_problem_types_travel(settings, problem, tmp_path):
    theirs = hugging_face_model("BertForSequenceClassification", classifier_dropout=0.3, **settings)
    checkpoint = load(save_folder(theirs, tmp_path / "theirs"))
    assert checkpoint.model.problem == problem
    assert checkpoint.model.classifier_head.dropout_rate == 0.3
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "ours")
    again = load(tmp_path / "ours").model
    assert (again.problem, again.classifier_head.dropout_rate) == (problem, 0.3)
    wanted = {
        "regression": "regression",
        "one_class": "single_label_classification",
        "several_labels": "multi_label_classification",
    }
    assert transformers.AutoConfig.from_pretrained(tmp_path / "ours").problem_type == wanted[problem]


def test_hidden_states_and_attention_maps(case):
    architecture, theirs, checkpoint = case
    inputs = random_inputs(B, T)
    encoder = getattr(theirs, "bert", theirs)
    encoder.set_attn_implementation("eager")  # The fused kernel returns no maps.
    wanted = ask_hugging_face(encoder, inputs, output_hidden_states=True, output_attentions=True)
    ours = checkpoint.model.backbone.with_intermediates()(inputs)
    assert len(ours["hidden_states"]) == 3 and len(ours["attention_maps"]) == 2
    for name, their_name in (("hidden_states", "hidden_states"), ("attention_maps", "attentions")):
        for ours_one, theirs_one in zip(ours[name], wanted[their_name], strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(ours_one), theirs_one.numpy(), atol=1e-5, rtol=1e-5)
