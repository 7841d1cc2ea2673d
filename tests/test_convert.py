import json
import pathlib

import keras
import numpy as np
import pytest
import safetensors.numpy

from kbert.config import BertConfig
from kbert.convert import load, save_checkpoint
from kbert.convert.names import google_name, weight_names
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

TOKENS = [*SPECIAL_TOKENS, *(f"word{index}" for index in range(24))]
CONFIG = BertConfig(
    vocabulary_size=len(TOKENS), num_layers=2, num_heads=3, hidden_dim=12, intermediate_dim=20, max_sequence_length=16
)


@pytest.fixture
def model():
    model = BertPretrainer(BertBackbone(CONFIG))
    rng = np.random.default_rng(3)
    for variable in model.trainable_variables:  # Biases and LayerNorms too: fresh ones would hide a swap.
        variable.assign(rng.normal(size=variable.shape).astype("float32"))
    return model


@pytest.fixture
def folder(model, tmp_path):
    save_checkpoint(model, WordPieceTokenizer(TOKENS), tmp_path / "bert")
    return tmp_path / "bert"


def rewrite(folder, change):
    path = folder / "model.safetensors"
    weights = safetensors.numpy.load_file(path)
    change(weights)
    safetensors.numpy.save_file(weights, path, metadata={"format": "pt"})


def weights_of(model):
    return [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]


def test_the_table_is_one_to_one_and_covers_every_weight(model):
    parts = weight_names(CONFIG.num_layers)
    pairs = [pair for names in parts.values() for pair in names.items()]
    assert len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs}) == len(pairs)
    assert len({google_name(theirs) for _, theirs in pairs}) == len(pairs)
    in_pretrainer = [name for part in ("encoder", "pooler", "mlm", "nsp") for name in parts[part]]
    assert len(in_pretrainer) == len(model.trainable_variables)


def test_save_then_load_gives_the_same_weights_config_and_tokens(model, folder):
    checkpoint = load(folder)
    assert checkpoint.missing_parts == ()
    assert checkpoint.model.backbone.config == CONFIG
    assert checkpoint.tokenizer.vocabulary == TOKENS
    for ours, again in zip(weights_of(model), weights_of(checkpoint.model), strict=True):
        np.testing.assert_array_equal(ours, again)
    assert not list(folder.glob(".writing-*"))


def test_float16_file_holds_half_precision_and_loads_as_float32(model, tmp_path):
    save_checkpoint(model, WordPieceTokenizer(TOKENS), tmp_path, dtype="float16")
    assert {value.dtype for value in safetensors.numpy.load_file(tmp_path / "model.safetensors").values()} == {
        np.dtype("float16")
    }
    loaded = load(tmp_path).model
    assert {weight.dtype for weight in weights_of(loaded)} == {np.dtype("float32")}
    for ours, again in zip(weights_of(model), weights_of(loaded), strict=True):
        np.testing.assert_allclose(ours, again, rtol=2**-11, atol=1e-7)  # Half of float16's last bit.


def test_config_changes_on_the_way_in_and_out(model, folder, tmp_path):
    assert load(folder, dropout=0.0).model.backbone.config == CONFIG.replace(dropout=0.0)
    save_checkpoint(model, WordPieceTokenizer(TOKENS), tmp_path / "other", attention_dropout=0.25)
    assert load(tmp_path / "other").model.backbone.config.attention_dropout == 0.25


@pytest.mark.parametrize(
    ("prefixes", "missing"),
    [
        (("cls.",), ("mlm", "nsp")),
        (("cls.seq_relationship",), ("nsp",)),
        (("cls.predictions", "bert.pooler"), ("pooler", "mlm")),
    ],
)
def test_missing_parts_are_named(folder, prefixes, missing):
    rewrite(folder, lambda weights: [weights.pop(name) for name in list(weights) if name.startswith(prefixes)])
    assert load(folder).missing_parts == missing


def test_names_without_bert_prefix_and_tied_copies_are_understood(model, folder):
    def change(weights):
        for name in list(weights):
            if name.startswith("bert."):
                weights[name.removeprefix("bert.")] = weights.pop(name)
        weights["cls.predictions.decoder.weight"] = weights["embeddings.word_embeddings.weight"].copy()
        weights["embeddings.position_ids"] = np.arange(16)[None]

    rewrite(folder, change)
    for ours, again in zip(weights_of(model), weights_of(load(folder).model), strict=True):
        np.testing.assert_array_equal(ours, again)


def test_one_name_too_few_and_one_too_many_are_both_listed(folder):
    def change(weights):
        weights["bert.encoder.layer.7.output.dense.bias"] = weights.pop("bert.encoder.layer.1.output.dense.bias")

    rewrite(folder, change)
    layer = "bert.encoder.layer"
    message = rf"missing \['{layer}.1.output.dense.bias'\], unexpected \['{layer}.7.output.dense.bias'\]"
    with pytest.raises(ValueError, match=message):
        load(folder)


def test_half_a_head_is_not_a_missing_head(folder):
    rewrite(folder, lambda weights: weights.pop("cls.predictions.bias"))
    with pytest.raises(ValueError, match=r"missing \['cls.predictions.bias'\]"):
        load(folder)


def test_a_wrong_shape_names_the_tensor(folder):
    def change(weights):
        weights["bert.pooler.dense.bias"] = weights["bert.pooler.dense.bias"][:-1]

    rewrite(folder, change)
    with pytest.raises(ValueError, match=r"bert.pooler.dense.bias with shape \(11,\).*expected \(12,\)"):
        load(folder)


def test_a_truncated_file_is_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"must be whole.*model\.safetensors"):
        load(folder)


def test_vocabulary_of_another_length_is_refused_both_ways(model, folder, tmp_path):
    longer = WordPieceTokenizer([*TOKENS, "more"])
    longer.save(folder)
    with pytest.raises(ValueError, match=r"30 tokens in .*vocab\.txt, vocabulary_size=29"):
        load(folder)
    with pytest.raises(ValueError, match="30 tokens in the tokenizer, vocabulary_size=29"):
        save_checkpoint(model, longer, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_weights_that_are_not_finite_are_not_written_over_good_ones(model, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    model.trainable_variables[0].assign(np.full(model.trainable_variables[0].shape, 1e6, "float32"))
    with pytest.raises(ValueError, match="infinite or NaN.*float16"):
        save_checkpoint(model, WordPieceTokenizer(TOKENS), folder, dtype="float16")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_unknown_source_lists_the_presets(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"one of the presets \[.*\]. Received: 'no-such-model'"):
        load("no-such-model")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG.to_json_values()))
    with pytest.raises(FileNotFoundError, match="vocab.txt"):
        load(tmp_path)


def test_a_folder_without_weights_says_so(folder):
    pathlib.Path(folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"must hold model\.safetensors"):
        load(folder)
