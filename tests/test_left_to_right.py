"""The left-to-right model of the ablations: what a token sees, transformers' numbers, and the game it learns by."""

import json

import keras
import numpy as np
import pytest
import transformers
from conftest import CONFIG, backbone_inputs, make_batch, make_model, once, to_numpy
from hugging_face_models import ask_hugging_face, hugging_face_model, random_inputs, save_folder
from test_training import command as pretrain_command
from test_training import make_data

from kbert.convert import load, save_checkpoint
from kbert.export.signatures import find_signatures
from kbert.inference import EmbedText, FillMask, ScoreText
from training import pretrain

CAUSAL = CONFIG.replace(is_causal=True)


def test_transformers_decoder_gives_the_same_numbers(tmp_path):
    theirs = hugging_face_model("BertLMHeadModel", is_decoder=True, attn_implementation="eager")
    checkpoint = load(save_folder(theirs, tmp_path / "theirs"))
    assert checkpoint.config.is_causal and checkpoint.missing_parts == ("pooler", "nsp")
    inputs = random_inputs(3, 11)
    wanted = ask_hugging_face(theirs, inputs, output_hidden_states=True, output_attentions=True)
    inside = to_numpy(checkpoint.model.backbone.with_intermediates()(inputs, training=False))
    every_place = np.tile(np.arange(11, dtype="int32"), (3, 1))
    logits = to_numpy(checkpoint.model(inputs | {"mask_positions": every_place}, training=False))["mlm"]
    real = inputs["padding_mask"] == 1  # What padding says is nobody's business.
    pairs = [(logits, wanted.logits), *zip(inside["hidden_states"], wanted.hidden_states, strict=True)]
    for ours, other in pairs:
        np.testing.assert_allclose(ours[real], other.numpy()[real], atol=1e-5, rtol=1e-5)
    for ours, other in zip(inside["attention_maps"], wanted.attentions, strict=True):
        np.testing.assert_allclose(ours[0], other.numpy()[0], atol=1e-5, rtol=1e-5)  # The row without padding.
        assert np.triu(ours, 1).max() == 0.0

    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "ours", missing_parts=checkpoint.missing_parts)
    again = transformers.BertLMHeadModel.from_pretrained(tmp_path / "ours").eval()
    assert again.config.is_decoder
    np.testing.assert_allclose(ask_hugging_face(again, inputs).logits[real], wanted.logits[real], atol=1e-6)


@pytest.mark.parametrize("with_maps", [False, True], ids=["fused", "maps"])
def test_a_token_sees_itself_and_those_before_it(rng, with_maps):
    backbone = make_model(rng, CAUSAL).backbone
    model = backbone.with_intermediates() if with_maps else backbone
    inputs = backbone_inputs(make_batch(rng)[0])
    inputs["padding_mask"][:] = 1
    changed = inputs | {"token_ids": inputs["token_ids"].copy()}
    changed["token_ids"][:, 4] = (changed["token_ids"][:, 4] + 1) % CONFIG.vocabulary_size
    one, other = (to_numpy(model(x, training=False))["sequence_output"] for x in (inputs, changed))
    np.testing.assert_allclose(one[:, :4], other[:, :4], atol=1e-6)
    assert (np.abs(one - other).max(-1)[:, 4:] > 1e-4).all()


def test_a_row_is_summed_up_by_its_last_token(rng):
    model = make_model(rng, CAUSAL)
    inputs = backbone_inputs(make_batch(rng)[0])
    outputs = to_numpy(model.backbone(inputs, training=False))
    inside = to_numpy(model.backbone.with_intermediates()(inputs, training=False))
    last = inputs["padding_mask"].sum(1) - 1
    assert len(set(last)) > 1
    states = outputs["sequence_output"][np.arange(len(last)), last]
    dense = model.backbone.pooler.dense
    expected = np.tanh(states @ to_numpy(dense.kernel) + to_numpy(dense.bias))
    for found in (outputs, inside):
        np.testing.assert_allclose(found["pooled_output"], expected, atol=1e-5)


@once
def test_next_words_ask_for_every_token_but_the_first():
    import tensorflow as tf

    from kbert.data.next_words import next_words

    token_ids = tf.constant([[2, 7, 8, 3], [2, 9, 3, 0]])
    inputs = {"token_ids": token_ids, "padding_mask": tf.constant([[1, 1, 1, 1], [1, 1, 1, 0]])}
    inputs |= {"segment_ids": 0 * token_ids, "mask_positions": tf.zeros([2, 2], tf.int32)}
    before = {"mlm": tf.zeros([2, 2], tf.int32), "nsp": tf.constant([0, 1])}
    weights = {"mlm": tf.zeros([2, 2]), "nsp": tf.ones([2])}
    found, targets, found_weights = next_words(inputs, before, weights)
    np.testing.assert_array_equal(found["mask_positions"], [[0, 1, 2], [0, 1, 2]])
    np.testing.assert_array_equal(targets["mlm"], [[7, 8, 3], [9, 3, 0]])
    np.testing.assert_array_equal(found_weights["mlm"], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    assert found["token_ids"] is token_ids and targets["nsp"] is before["nsp"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of left-to-right pretraining: its folder, its shards, its result."""
    folder = tmp_path_factory.mktemp("left_to_right")
    data = make_data(folder, num_documents=120, block_characters=3000)
    result = pretrain.main([*pretrain_command(data, folder / "run", steps=150, save_every=50), "--left_to_right"])
    return folder / "run", data, result


def test_pretraining_learns_the_next_word_from_those_before(run):
    folder, _, result = run
    # Of 40 words in 10 topics the next is one of 4, once a word of the topic was read: less than half of log 40.
    assert result["mlm_loss"] < 0.6 * np.log(40)
    checkpoint = load(folder)
    assert checkpoint.config.is_causal and json.loads((folder / "config.json").read_text())["is_decoder"] is True
    assert not (folder / "examples.json").exists()


def test_a_left_to_right_model_is_not_asked_for_masked_words(run):
    checkpoint = load(run[0])
    for question in (FillMask, ScoreText):
        with pytest.raises(ValueError, match="must read both sides. Received: a left-to-right model"):
            question(checkpoint)
    assert EmbedText(checkpoint)("ao ap").shape == (checkpoint.config.hidden_dim,)


@once
def test_an_export_has_no_masked_words_either(run):
    assert set(find_signatures(load(run[0]), 3)) == {"sentence_pair", "embed", "embed_pair", "token_ids"}


@once
def test_a_run_reads_as_what_it_starts_from(run, tmp_path):
    folder, data, _ = run
    with pytest.raises(SystemExit, match="--init must read as the run does: .* is_causal=True"):
        pretrain.main([*pretrain_command(data, tmp_path / "run"), "--init", str(folder)])


@once
def test_keras_hub_has_no_such_model(rng):
    from kbert.convert.keras_hub import to_keras_hub

    changes = {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-12}
    with pytest.raises(ValueError, match="reads in both directions. Received: is_causal=True"):
        to_keras_hub(make_model(rng, CAUSAL.replace(**changes)).backbone)


def test_a_saved_keras_file_stays_causal(rng, tmp_path):
    model = make_model(rng, CAUSAL)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    inputs, _, _ = make_batch(rng)
    one, other = (to_numpy(which(inputs, training=False)) for which in (model, again))
    assert again.backbone.config.is_causal
    np.testing.assert_allclose(one["mlm"], other["mlm"], atol=1e-6)
