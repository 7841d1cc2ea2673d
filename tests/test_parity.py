"""The same numbers as NumPy written after Google's code, and as transformers. float32: 1e-5 is its rounding here."""

import numpy as np
import pytest
import reference
import safetensors.numpy
from conftest import CONFIG, B, backbone_inputs, make_batch, make_model, to_numpy

from kbert.convert import load, save_checkpoint
from kbert.optimization import BertAdamW
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

TOKENS = [*SPECIAL_TOKENS, *(f"word{index}" for index in range(CONFIG.vocabulary_size - 5))]
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


def save(model, folder):
    save_checkpoint(model, WordPieceTokenizer(TOKENS), folder)
    return safetensors.numpy.load_file(folder / "model.safetensors")


def assert_close(ours, theirs):
    ours, theirs = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (ours, theirs))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, **TOLERANCE)


CHANGES = [{"activation": "gelu_erf"}, {"activation": "gelu_tanh"}, {"activation": "relu", "layer_norm_epsilon": 0.1}]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["activation"])
def test_every_number_equals_numpy(rng, tmp_path, change):
    model = make_model(rng, CONFIG.replace(**change))
    inputs, _, _ = make_batch(rng)
    inputs["padding_mask"][0, :5] = 1, 0, 1, 1, 0  # Holes, not only an end.
    expected = reference.forward(save(model, tmp_path), model.backbone.config, inputs)
    inside = to_numpy(model.backbone.with_intermediates()(backbone_inputs(inputs), training=False))
    for name in ("hidden_states", "attention_maps", "sequence_output", "pooled_output"):
        assert_close(inside[name], expected[name])
    outputs = to_numpy(model(inputs, training=False))
    for name in ("mlm", "nsp"):
        assert_close(outputs[name], expected[name])


def test_the_two_gelus_are_told_apart(rng, tmp_path):
    model = make_model(rng)
    inputs, _, _ = make_batch(rng)
    erf = to_numpy(model(inputs, training=False))["mlm"]
    other = reference.forward(save(model, tmp_path), CONFIG.replace(activation="gelu_tanh"), inputs)["mlm"]
    assert np.abs(erf - other).max() > 1e-4


def test_losses_follow_the_formula(rng, tmp_path):
    model = make_model(rng)
    model.compile(BertAdamW(1e-3))
    inputs, targets, weights = make_batch(rng)
    logits = reference.forward(save(model, tmp_path), CONFIG, inputs)
    mlm, nsp = reference.losses(logits, targets, weights["mlm"])
    result = model.evaluate(inputs, targets, sample_weight=weights, batch_size=B, return_dict=True, verbose=0)
    assert result["mlm_loss"] == pytest.approx(mlm, rel=1e-5)
    assert result["nsp_loss"] == pytest.approx(nsp, rel=1e-5)
    assert result["loss"] == pytest.approx(mlm + nsp, rel=1e-5)
    assert result["mlm_perplexity"] == pytest.approx(np.exp(mlm), rel=1e-4)
    hits = (logits["mlm"].argmax(-1) == targets["mlm"]) * weights["mlm"]
    assert result["mlm_accuracy"] == pytest.approx(hits.sum() / weights["mlm"].sum())
    assert result["nsp_accuracy"] == pytest.approx((logits["nsp"].argmax(-1) == targets["nsp"]).mean())


@pytest.fixture(scope="module")
def transformers():
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


def ask_transformers(model, inputs, **more):
    import torch

    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}
    tensors = {theirs: torch.from_numpy(inputs[ours]).long() for ours, theirs in names.items()}
    with torch.no_grad():
        return model.eval()(**tensors, **more)


@pytest.mark.parametrize(
    ("attention", "change"),
    [("eager", {"activation": "gelu_erf"}), ("sdpa", {"activation": "gelu_tanh", "layer_norm_epsilon": 0.1})],
)
def test_a_folder_we_wrote_gives_transformers_the_same_numbers(rng, tmp_path, transformers, attention, change):
    model = make_model(rng, CONFIG.replace(**change))
    inputs, _, _ = make_batch(rng)
    inputs["padding_mask"][0, :5] = 1, 0, 1, 1, 0  # Holes, not only an end.
    save(model, tmp_path)
    theirs, info = transformers.BertForPreTraining.from_pretrained(
        tmp_path, output_loading_info=True, attn_implementation=attention
    )
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    wants_maps = {"output_attentions": True} if attention == "eager" else {}
    expected = ask_transformers(theirs, inputs, output_hidden_states=True, **wants_maps)
    outputs = to_numpy(model(inputs, training=False))
    picked = np.take_along_axis(expected.prediction_logits.numpy(), inputs["mask_positions"][:, :, None], 1)
    assert_close(outputs["mlm"], picked)
    assert_close(outputs["nsp"], expected.seq_relationship_logits.numpy())
    inside = to_numpy(model.backbone.with_intermediates()(backbone_inputs(inputs), training=False))
    assert_close(inside["hidden_states"], [state.numpy() for state in expected.hidden_states])
    if attention == "eager":
        assert_close(inside["attention_maps"], [maps.numpy() for maps in expected.attentions])


def test_transformers_loss_is_ours(rng, tmp_path, transformers):
    import torch

    model = make_model(rng)
    model.compile(BertAdamW(1e-3))
    inputs, targets, weights = make_batch(rng)
    # One slot a place: labels of a dense row cannot hold two.
    inputs["mask_positions"] = np.array([[0, 1, 2, 3], [3, 0, 2, 1]], "int32")
    save(model, tmp_path)
    labels = np.full(inputs["token_ids"].shape, -100)
    np.put_along_axis(labels, inputs["mask_positions"], np.where(weights["mlm"] > 0, targets["mlm"], -100), 1)
    theirs = transformers.BertForPreTraining.from_pretrained(tmp_path)
    expected = ask_transformers(
        theirs,
        inputs,
        labels=torch.from_numpy(labels).long(),
        next_sentence_label=torch.from_numpy(targets["nsp"]).long(),
    )
    result = model.evaluate(inputs, targets, sample_weight=weights, batch_size=B, return_dict=True, verbose=0)
    assert result["loss"] == pytest.approx(float(expected.loss), rel=1e-5)


def test_a_folder_transformers_wrote_gives_us_the_same_numbers(rng, tmp_path, transformers):
    import torch

    torch.manual_seed(3)
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=29,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=20,
            max_position_embeddings=11,
        )
    )
    for parameter in theirs.parameters():  # Biases and LayerNorms too: fresh ones would hide a swap.
        torch.nn.init.normal_(parameter, std=0.5)
    theirs.save_pretrained(tmp_path)
    WordPieceTokenizer(TOKENS).save(tmp_path)
    inputs, _, _ = make_batch(rng)
    expected = ask_transformers(theirs, inputs)
    checkpoint = load(tmp_path)
    assert checkpoint.missing_parts == ()
    outputs = to_numpy(checkpoint.model(inputs, training=False))
    picked = np.take_along_axis(expected.prediction_logits.numpy(), inputs["mask_positions"][:, :, None], 1)
    assert_close(outputs["mlm"], picked)
    assert_close(outputs["nsp"], expected.seq_relationship_logits.numpy())
