import dataclasses
import json

import pytest
from conftest import once

from kbert.config import BertConfig

pytestmark = once

SIZES = {"vocabulary_size": 29, "num_layers": 2, "num_heads": 3, "hidden_dim": 12, "intermediate_dim": 20}
GOOGLE = {  # bert_config.json of the multilingual release: no epsilon, and keys of a pooler nobody built.
    "attention_probs_dropout_prob": 0.1,
    "directionality": "bidi",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.2,
    "hidden_size": 768,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12,
    "pooler_num_fc_layers": 3,
    "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform",
    "type_vocab_size": 2,
    "vocab_size": 119547,
}


def write(tmp_path, values):
    path = tmp_path / "config.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        ("tiny", (2, 128, 2, 512)),
        ("mini", (4, 256, 4, 1024)),
        ("small", (4, 512, 8, 2048)),
        ("medium", (8, 512, 8, 2048)),
        ("base", (12, 768, 12, 3072)),
        ("large", (24, 1024, 16, 4096)),
        ("6x384", (6, 384, 6, 1536)),
    ],
)
def test_named_sizes(size, sizes):
    config = BertConfig.named(size, vocabulary_size=77)
    assert (config.num_layers, config.hidden_dim, config.num_heads, config.intermediate_dim) == sizes
    assert config.vocabulary_size == 77
    assert BertConfig.named(size).vocabulary_size == 30522


@pytest.mark.parametrize("size", ["huge", "6x100", "0x64", "6x0", "6", "x", "-1x64", ""])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match=f"`size` must be one of tiny, .* Received: size='{size}'"):
        BertConfig.named(size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_layers": 0}, "`num_layers` must be an int of 1 or more. Received: num_layers=0"),
        ({"vocabulary_size": 2.0}, "`vocabulary_size` must be an int.*vocabulary_size=2.0"),
        ({"num_segments": True}, "`num_segments` must be an int.*num_segments=True"),
        ({"hidden_dim": "12"}, "`hidden_dim` must be an int.*hidden_dim='12'"),
        ({"hidden_dim": 13}, "`hidden_dim` must be a multiple of `num_heads`. Received: hidden_dim=13, num_heads=3"),
        ({"dropout": 1.0}, r"`dropout` must be in \[0, 1\). Received: dropout=1.0"),
        ({"attention_dropout": -0.1}, r"`attention_dropout` must be in \[0, 1\)"),
        ({"dropout": float("nan")}, r"`dropout` must be in \[0, 1\)"),
        ({"dropout": None}, "`dropout` must be a float. Received: dropout=None"),
        ({"dropout": False}, "`dropout` must be a float. Received: dropout=False"),
        ({"layer_norm_epsilon": 0.0}, "`layer_norm_epsilon` must be a positive number"),
        ({"initializer_stddev": float("inf")}, "`initializer_stddev` must be a positive number"),
        ({"activation": "gelu"}, "`activation` must be one of .*gelu_erf.*Received: activation='gelu'"),
    ],
)
def test_impossible_values_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        BertConfig(**(SIZES | change))


def test_it_cannot_be_changed_in_place():
    config = BertConfig(**SIZES)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.dropout = 0.5
    assert config.replace(dropout=0.5).dropout == 0.5 and config.dropout == 0.1


def test_dict_round_trip_and_its_refusals():
    config = BertConfig(**SIZES, activation="gelu_tanh", dropout=0.3)
    assert BertConfig.from_dict(config.to_dict()) == config
    values = {name: value for name, value in config.to_dict().items() if name != "num_heads"} | {"heads": 3}
    with pytest.raises(ValueError, match=r"unknown keys \['heads'\], missing keys \['num_heads'\]"):
        BertConfig.from_dict(values)


@pytest.mark.parametrize("activation", ["gelu_erf", "gelu_tanh", "relu"])
def test_file_round_trip(tmp_path, activation):
    config = BertConfig(**SIZES, activation=activation, dropout=0.3, attention_dropout=0.2, layer_norm_epsilon=1e-6)
    config.to_json(tmp_path / "config.json")
    assert BertConfig.from_json(tmp_path / "config.json") == config


def test_google_file(tmp_path):
    config = BertConfig.from_json(write(tmp_path, GOOGLE))
    assert config == BertConfig.named("base", vocabulary_size=119547, dropout=0.2)
    assert config.layer_norm_epsilon == 1e-12 and config.activation == "gelu_erf"


@pytest.mark.parametrize(
    ("hidden_act", "activation"), [("gelu", "gelu_erf"), ("gelu_new", "gelu_tanh"), ("relu", "relu")]
)
def test_transformers_file_both_ways(tmp_path, hidden_act, activation):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertConfig(hidden_size=12, num_attention_heads=3, hidden_act=hidden_act, type_vocab_size=3)
    theirs.save_pretrained(tmp_path)
    ours = BertConfig.from_json(tmp_path / "config.json")
    assert (ours.hidden_dim, ours.num_heads, ours.num_segments, ours.activation) == (12, 3, 3, activation)
    ours.to_json(tmp_path / "config.json")
    again = transformers.BertConfig.from_pretrained(tmp_path)
    for key in ("vocab_size", "hidden_size", "num_hidden_layers", "hidden_act", "layer_norm_eps", "initializer_range"):
        assert getattr(again, key) == getattr(theirs, key)


def test_what_transformers_wrote_in_earlier_years_is_read(tmp_path):
    """The keys of `bert-large-cased-finetuned-conll03-english` and of a file that transformers 3 wrote."""
    old = {"_num_labels": 9, "finetuning_task": None, "pruned_heads": {}, "torchscript": False, "use_bfloat16": False}
    old |= {"is_encoder_decoder": False, "num_beams": 1, "max_length": 20, "tokenizer_class": None, "top_k": 50}
    old |= {"_attn_implementation_autoset": True, "_name_or_path": ""}
    assert BertConfig.from_json(write(tmp_path, GOOGLE | old)) == BertConfig.from_json(write(tmp_path, GOOGLE))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pruned_heads": {"1": [0]}}, "`pruned_heads` must be {} for a BERT. Received: pruned_heads={'1'"),
        ({"is_decoder": "yes"}, "`is_causal` must be True or False. Received: is_causal='yes'"),
        ({"add_cross_attention": True}, "`add_cross_attention` must be False"),
        ({"position_embedding_type": "relative_key"}, "`position_embedding_type` must be 'absolute'"),
        ({"model_type": "roberta"}, "`model_type` must be 'bert'"),
        ({"rope_theta": 1.0}, r"unknown keys \['rope_theta'\]"),
        ({"hidden_act": "swish"}, "`activation` must be one of"),
    ],
)
def test_other_models_are_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        BertConfig.from_json(write(tmp_path, GOOGLE | change))


def test_missing_keys_and_broken_files_are_named(tmp_path):
    values = {key: value for key, value in GOOGLE.items() if key != "hidden_size"}
    with pytest.raises(ValueError, match=r"missing keys \['hidden_size'\]"):
        BertConfig.from_json(write(tmp_path, values))
    with pytest.raises(ValueError, match="must hold JSON. Received: .*config.json"):
        BertConfig.from_json(write(tmp_path, "{"))
