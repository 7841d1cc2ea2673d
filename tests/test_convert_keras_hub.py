"""KerasHub's BertBackbone in and out, and its preset folders."""

import keras
import numpy as np
import pytest
from hugging_face_models import TOKENS, random_inputs

from kbert.cli import main
from kbert.config import BertConfig
from kbert.convert import from_keras_hub, load, save_checkpoint, save_keras_hub, to_keras_hub
from kbert.models import BertBackbone, BertClassifier, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer

keras_hub = pytest.importorskip("keras_hub")

CONFIG = BertConfig(
    vocabulary_size=len(TOKENS),
    num_layers=2,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=20,
    max_sequence_length=16,
    num_segments=3,
    dropout=0.2,
    attention_dropout=0.2,
    activation="gelu_tanh",
)


def fill(model):
    rng = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(size=variable.shape, scale=0.4).astype("float32"))
    return model


def assert_same_answers(one, other):
    inputs = random_inputs(3, 7, max_segment=2)
    one, other = one(inputs), other(inputs)
    for name in ("sequence_output", "pooled_output"):
        first, second = (keras.ops.convert_to_numpy(answer[name]) for answer in (one, other))
        real = inputs["padding_mask"].astype(bool) if name == "sequence_output" else slice(None)
        np.testing.assert_allclose(first[real], second[real], atol=1e-5, rtol=1e-5)


def test_in_and_out():
    theirs = fill(
        keras_hub.models.BertBackbone(
            vocabulary_size=len(TOKENS),
            num_layers=2,
            num_heads=3,
            hidden_dim=12,
            intermediate_dim=20,
            max_sequence_length=16,
            num_segments=3,
            dropout=0.2,
        )
    )
    ours = from_keras_hub(theirs)
    assert ours.config == CONFIG
    assert_same_answers(ours, theirs)
    again = to_keras_hub(ours)
    assert again.get_config()["num_segments"] == 3 and again.get_config()["dropout"] == 0.2
    for one, two in zip(theirs.weights, again.weights, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(two))


@pytest.mark.parametrize("change", [{"activation": "gelu_erf"}, {"layer_norm_epsilon": 1e-5}])
def test_what_keras_hub_cannot_compute_is_refused(change):
    ((name, value),) = change.items()
    with pytest.raises(ValueError, match=f"computes gelu_tanh .*{name}={value!r}"):
        to_keras_hub(BertBackbone(CONFIG.replace(**change)))


def test_preset_folder_by_command_and_back(tmp_path, capsys):
    model = BertPretrainer(fill(BertBackbone(CONFIG)))
    save_checkpoint(model, WordPieceTokenizer(TOKENS), tmp_path / "ours")
    preset = tmp_path / "preset"
    assert main(["convert", str(tmp_path / "ours"), str(preset), "--to", "keras-hub"]) == 0, capsys.readouterr().err
    theirs = keras_hub.models.BertBackbone.from_preset(str(preset))
    assert_same_answers(model.backbone, theirs)
    their_tokenizer = keras_hub.models.BertTokenizer.from_preset(str(preset))
    assert their_tokenizer.get_vocabulary() == TOKENS and their_tokenizer.lowercase

    checkpoint = load(preset)
    assert checkpoint.missing_parts == ("mlm", "nsp")
    assert (checkpoint.tokenizer.vocabulary, checkpoint.tokenizer.lowercase) == (TOKENS, True)
    assert_same_answers(checkpoint.model.backbone, theirs)

    assert main(["convert", str(tmp_path / "ours"), str(preset), "--to", "keras-hub"]) == 2
    assert "must be new or empty" in capsys.readouterr().err


def test_a_classifier_keeps_its_head_and_another_head_is_told(tmp_path):
    theirs = keras_hub.models.BertTextClassifier(
        fill(to_keras_hub(BertBackbone(CONFIG))), num_classes=3, dropout=0.25, preprocessor=None
    )
    save_keras_hub(BertPretrainer(BertBackbone(CONFIG)), WordPieceTokenizer(TOKENS), tmp_path / "preset")
    theirs.save_to_preset(str(tmp_path / "preset"))
    checkpoint = load(tmp_path / "preset")
    assert isinstance(checkpoint.model, BertClassifier)
    assert (checkpoint.model.classifier_head.dropout_rate, len(checkpoint.model.label_names)) == (0.25, 3)
    inputs = random_inputs(3, 7)
    wanted = theirs(inputs, training=False)
    ours = checkpoint.model(inputs, training=False)["logits"]
    np.testing.assert_allclose(*map(keras.ops.convert_to_numpy, (ours, wanted)), atol=1e-5)

    path = tmp_path / "preset" / "task.json"
    path.write_text(path.read_text().replace("BertTextClassifier", "BertMaskedLM"))
    with pytest.warns(UserWarning, match="a BertMaskedLM, kbert reads the encoder; its head is left out"):
        assert isinstance(load(tmp_path / "preset").model, BertPretrainer)


def test_a_classifier_of_one_class_is_a_regression(tmp_path):
    theirs = keras_hub.models.BertTextClassifier(
        fill(to_keras_hub(BertBackbone(CONFIG))), num_classes=1, preprocessor=None
    )
    save_keras_hub(BertPretrainer(BertBackbone(CONFIG)), WordPieceTokenizer(TOKENS), tmp_path / "preset")
    theirs.save_to_preset(str(tmp_path / "preset"))
    model = load(tmp_path / "preset").model
    assert model.problem == "regression"
    inputs = random_inputs(3, 7)
    ours, wanted = model(inputs, training=False)["logits"], theirs(inputs, training=False)
    np.testing.assert_allclose(*map(keras.ops.convert_to_numpy, (ours, wanted)), atol=1e-5)


@pytest.mark.parametrize("strip_accents", [None, False])
def test_the_tokenizer_of_a_preset_splits_as_ours(strip_accents, tmp_path):
    syllables = ["나", "##는", "학교", "##에", "cafe", "café", "東", "京"]
    tokens = [*TOKENS, *(syllables if strip_accents is False else syllables[4:])]
    model = BertPretrainer(BertBackbone(CONFIG.replace(vocabulary_size=len(tokens))))
    tokenizer = WordPieceTokenizer(tokens, strip_accents=strip_accents)
    save_keras_hub(model, tokenizer, tmp_path / "preset")
    again = load(tmp_path / "preset").tokenizer
    theirs = keras_hub.models.BertTokenizer.from_preset(str(tmp_path / "preset"))
    for text in ("나는 학교에", "Café cafe", "東京"):
        expected = tokenizer.encode(text)
        assert again.encode(text) == expected
        if strip_accents is False or not text.startswith("나"):
            assert np.asarray(theirs(text)).tolist() == expected
    assert tokenizer.token_to_id("[UNK]") not in tokenizer.encode("Café")


@pytest.mark.parametrize(
    "file", ["config.json", "model.weights.h5", "tokenizer.json", "assets/tokenizer/vocabulary.txt"]
)
def test_a_damaged_preset_is_named(file, tmp_path):
    preset = tmp_path / "preset"
    save_keras_hub(BertPretrainer(BertBackbone(CONFIG)), WordPieceTokenizer(TOKENS), preset)
    content = (preset / file).read_bytes()
    (preset / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=f"Received: .*{preset}"):
        load(preset)


def test_a_random_pooler_is_not_written(tmp_path):
    model = BertPretrainer(BertBackbone(CONFIG))
    with pytest.raises(ValueError, match=r"must have a pooler.*missing_parts=\('pooler', 'nsp'\)"):
        save_keras_hub(model, WordPieceTokenizer(TOKENS), tmp_path / "preset", ("pooler", "nsp"))
    assert not (tmp_path / "preset").exists()


def test_a_preset_name_is_looked_up_in_keras_hub(tmp_path):
    from kbert.convert.sources import _find

    assert "bert_tiny_en_uncased" in keras_hub.models.BertBackbone.presets
    for name in keras_hub.models.BertBackbone.presets:
        assert _find(name) is None  # None: KerasHub's own loader is asked.
    with pytest.raises(FileNotFoundError, match="'bert_no_such_preset'"):
        load("bert_no_such_preset")
