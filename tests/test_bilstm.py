"""The BiLSTM between encoder and head: what it reads, and a fine-tuning with it."""

import json

import keras
import numpy as np
import pytest
from conftest import CONFIG, backbone_inputs, make_batch, make_model, once_on_torch, to_numpy
from tiny_task import save_encoder, write_animals

from kbert.models import BertClassifier
from kbert.models.bilstm import BiLSTMBackbone
from training import finetune
from training.arguments import parse
from training.finetune_run import new_model
from training.finetune_settings import Settings
from training.finetune_tasks import open_task


@pytest.fixture
def model(rng):
    return BiLSTMBackbone(make_model(rng, CONFIG.replace(is_causal=True)).backbone)


def test_the_pooled_vector_is_where_each_direction_ends(rng, model):
    inputs = backbone_inputs(make_batch(rng)[0])
    outputs = to_numpy(model(inputs, training=False))
    half, last = CONFIG.hidden_dim // 2, inputs["padding_mask"].sum(1) - 1
    assert len(set(last)) > 1
    states, pooled = outputs["sequence_output"], outputs["pooled_output"]
    np.testing.assert_allclose(pooled[:, :half], states[np.arange(len(last)), last, :half], atol=1e-6)
    np.testing.assert_allclose(pooled[:, half:], states[:, 0, half:], atol=1e-6)


def test_padding_changes_nothing_and_the_end_reaches_the_first_token(rng, model):
    inputs = backbone_inputs(make_batch(rng)[0])
    inputs["padding_mask"][:] = (np.arange(inputs["token_ids"].shape[1]) < 6).astype("int32")
    outputs = to_numpy(model(inputs, training=False))
    short = to_numpy(model({name: value[:, :6] for name, value in inputs.items()}, training=False))
    np.testing.assert_allclose(outputs["sequence_output"][:, :6], short["sequence_output"], atol=1e-5)
    changed = inputs | {"token_ids": inputs["token_ids"].copy()}
    changed["token_ids"][:, 5] = (changed["token_ids"][:, 5] + 1) % CONFIG.vocabulary_size
    other = to_numpy(model(changed, training=False))
    assert (np.abs(outputs["sequence_output"] - other["sequence_output"])[:, 0].max(-1) > 1e-5).all()


def test_a_head_on_it_is_saved_whole(rng, model, tmp_path):
    classifier = BertClassifier(model, 3)
    inputs = backbone_inputs(make_batch(rng)[0])
    classifier.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    one, other = (to_numpy(which(inputs, training=False))["logits"] for which in (classifier, again))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_an_odd_width_is_refused(rng):
    backbone = make_model(rng, CONFIG.replace(hidden_dim=9, num_heads=3)).backbone
    with pytest.raises(ValueError, match="The width must be even, .* Received: hidden_dim=9"):
        BiLSTMBackbone(backbone)


@once_on_torch
def test_a_left_to_right_encoder_is_fine_tuned_with_it(tmp_path, capsys):
    encoder = save_encoder(tmp_path / "encoder", is_causal=True)
    (tmp_path / "data").mkdir()
    command = ["table", "--data", write_animals(tmp_path / "data"), "--init", encoder]
    command += ["--learning_rate", "0.01", "--epochs", "6", "--batch_size", "16", "--bilstm"]
    settings = parse(Settings, command, "")
    trained = [weight.path for weight in new_model(open_task(settings), settings).trainable_weights]
    assert any("bilstm" in path for path in trained) and not any("pooler" in path for path in trained)
    result = finetune.main([*command, "--output", str(tmp_path / "out")])
    assert result["best"]["dev"]["dev accuracy"]["mean"] > 80
    assert "no checkpoint" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"answers", "result.json"}
    assert json.loads((tmp_path / "out" / "result.json").read_text())["settings"]["bilstm"] is True
    with pytest.raises(SystemExit, match="--layer_decay knows the layers of the encoder"):
        finetune.main([*command, "--layer_decay", "0.9", "--output", str(tmp_path / "other")])
