"""Vectors of texts: batches, lengths, backbones, refusals. The numbers are in test_inference_parity.py."""

import numpy as np
import pytest
from tiny_model import CONFIG, make_model, make_tokenizer

from kbert.inference import EmbedText, extract_features
from kbert.models import BertBackbone

TEXTS = ["the cat", "a dog ran home on the mat, the cat ran", ("the dogs", "학교에 sat home."), "a"] * 10


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def embed(model):
    return EmbedText(model, make_tokenizer(), layers="concat_last_four")


def test_a_batch_gives_the_vectors_of_its_texts_alone(embed):
    vectors = embed(TEXTS)
    assert vectors.shape == (40, 4 * CONFIG.hidden_dim) and vectors.dtype == np.float32
    for text, vector in zip(TEXTS[:4], vectors[32:36], strict=True):
        np.testing.assert_allclose(embed(text), vector, atol=1e-5)
    assert np.abs(vectors[0] - vectors[1]).max() > 0.1


def test_the_encoder_alone_will_do(embed, model):
    alone = EmbedText(model.backbone, make_tokenizer(), layers="concat_last_four")
    assert isinstance(model.backbone, BertBackbone)
    np.testing.assert_allclose(alone(TEXTS[1]), embed(TEXTS[1]), atol=1e-6)


def test_a_long_text_is_cut_only_when_asked(embed):
    long = "the cat " * 19 + "ran home"  # 40 tokens and the two ends.
    with pytest.raises(ValueError, match="at most 40 tokens.*Received: 42 tokens"):
        embed(long)
    np.testing.assert_allclose(embed(long, truncate=True), embed("the cat " * 19), atol=1e-6)
    np.testing.assert_allclose(embed("a cat", truncate=True), embed("a cat"), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": "first"}, "one of .*'concat_last_four'.*Received: layers='first'"),
        ({"pooling": "max"}, r"one of \['mean', 'cls'\]. Received: pooling='max'"),
    ],
)
def test_settings_that_do_not_exist(model, settings, message):
    with pytest.raises(ValueError, match=message):
        EmbedText(model, make_tokenizer(), **settings)


def test_a_model_of_two_layers_has_no_last_four(model):
    shallow = make_model(num_layers=2)
    with pytest.raises(ValueError, match=r"between -3 and 2.*Received: layers=\(-4, -3, -2, -1\)"):
        EmbedText(shallow, make_tokenizer(), layers="concat_last_four")
    EmbedText(shallow, make_tokenizer(), layers="second_to_last")


def test_no_text_has_no_vector(embed):
    with pytest.raises(ValueError, match="at least one word"):
        embed(["the cat", " "])
    with pytest.raises(ValueError, match="at least one. Received: an empty list"):
        embed([])


def test_features_come_line_by_line(model):
    endless = ("the cat ran" for _ in iter(int, 1))
    rows = extract_features(model, endless, (-1,), make_tokenizer())
    assert [next(rows)["linex_index"] for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((-1, 0), r"count from the last.*layers=\(-1, 0\)"),
        ((-7,), r"between -6 and 5.*layers=\(-7,\)"),
        ((), "between"),
    ],
)
def test_layers_there_are_not(model, layers, message):
    with pytest.raises(ValueError, match=message):
        extract_features(model, ["the cat"], layers, make_tokenizer())
