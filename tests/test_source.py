"""Models that are no Keras models: any callable, and a SavedModel."""

import keras
import numpy as np
import pytest
import reference
from tiny_model import CONFIG, TOKENS, make_model, make_tokenizer, read_weights

from kbert.convert import save_checkpoint
from kbert.inference import EmbedText, FillMask, ScoreText, SentencePair
from kbert.inference.source import open_source


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def as_callable(model):
    """The model in plain NumPy."""
    weights = read_weights(model)

    def answer(inputs):
        assert sorted(inputs) in (
            ["mask_positions", "padding_mask", "segment_ids", "token_ids"],
            ["padding_mask", "segment_ids", "token_ids"],
        )
        assert all(type(value) is np.ndarray and value.dtype == np.int32 for value in inputs.values())
        return reference.forward(
            weights, CONFIG, {"mask_positions": np.zeros((len(inputs["token_ids"]), 1), int)} | inputs
        )

    return answer


def answers(source, *settings):
    fill_mask = FillMask(source, *settings)
    yield [c.probability for mask in fill_mask("the [MASK] ran [MASK]", top_k=20) for c in mask.candidates]
    yield [c.probability for c in fill_mask("the [MASK]", targets=["dogs", "cat"])[0].candidates]
    yield [filling.log_probability for filling in fill_mask.jointly("the [MASK] ran [MASK]")]
    verdict = SentencePair(source, *settings)("the cat ran", "a dog sat.")
    yield [verdict.follows, verdict.random]
    yield [token.surprise for token in ScoreText(source, *settings)("the cat ran home").tokens]


def test_a_callable_answers_as_its_model(model, as_callable):
    for ours, theirs in zip(answers(model, make_tokenizer()), answers(as_callable, make_tokenizer(), 40), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for layers in ("embeddings", "last", "sum_last_four"):
        expected = EmbedText(model, make_tokenizer(), layers=layers)("the cat ran")
        embed = EmbedText(as_callable, make_tokenizer(), 40, layers=layers)
        np.testing.assert_allclose(embed("the cat ran"), expected, atol=1e-5)


def test_a_folder_answers_as_its_model(model, tmp_path):
    save_checkpoint(model, make_tokenizer(), tmp_path)
    for ours, theirs in zip(answers(tmp_path), answers(model, make_tokenizer()), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    expected = EmbedText(model, make_tokenizer())("the cat ran")
    np.testing.assert_allclose(EmbedText(str(tmp_path))("the cat ran"), expected, atol=1e-5)


def test_the_last_layer_needs_only_sequence_output(as_callable):
    def last_layer(inputs):
        return {"sequence_output": as_callable(inputs)["sequence_output"]}

    expected = EmbedText(as_callable, make_tokenizer(), 40)("the cat ran")
    np.testing.assert_allclose(EmbedText(last_layer, make_tokenizer(), 40)("the cat ran"), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"must return \['hidden_states'\]. Received: outputs \['sequence_output'\]"):
        EmbedText(last_layer, make_tokenizer(), 40, layers="second_to_last")("the cat ran")


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="exports under TensorFlow")
def test_a_saved_model_answers_as_the_model_it_was_made_from(model, tmp_path):
    import tensorflow as tf

    model.export(tmp_path / "saved", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    signature = loaded.signatures["serving_default"]

    def call_signature(inputs):
        return signature(**{name: tf.constant(value) for name, value in inputs.items()})

    expected = list(answers(model, make_tokenizer()))
    for source in (loaded.serve, call_signature):
        for ours, theirs in zip(answers(source, make_tokenizer(), 40), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="exports under TensorFlow")
def test_a_saved_encoder_embeds_as_the_model_it_was_made_from(model, tmp_path):
    import tensorflow as tf

    model.backbone.export(tmp_path / "saved", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))  # `serve` alone would not keep the weights.
    embed = EmbedText(loaded.serve, make_tokenizer(), 40)
    texts = ["the cat ran", "a dog sat on the mat"]
    np.testing.assert_allclose(embed(texts), EmbedText(model, make_tokenizer())(texts), atol=1e-5)


def test_outputs_that_are_not_there_are_named(model):
    with pytest.raises(ValueError, match=r"must return \['mlm'\]. Received: outputs \['pooled_output', 'sequence_out"):
        FillMask(model.backbone, make_tokenizer())("the [MASK]")


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (lambda inputs: {}, {}, "a callable cannot tell.*max_sequence_length=None, the model reads None"),
        (lambda inputs: {}, {"max_sequence_length": 2}, "at least 3.*max_sequence_length=2"),
        (make_model, {"max_sequence_length": 41}, "max_sequence_length=41, the model reads 40"),
    ],
)
def test_lengths_that_cannot_be(source, settings, message):
    source = source() if source is make_model else source
    with pytest.raises(ValueError, match=message):
        open_source(source, make_tokenizer(), **settings)


def test_a_callable_needs_a_tokenizer():
    with pytest.raises(ValueError, match="must come with its tokenizer"):
        FillMask(lambda inputs: {}, max_sequence_length=CONFIG.max_sequence_length)


def test_the_distribution_is_over_the_whole_vocabulary(model):
    fill_mask = FillMask(model, make_tokenizer())
    probabilities = fill_mask.distribution("the [MASK] ran [MASK]")
    assert probabilities.shape == (2, len(TOKENS)) and probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(1), 1)
    for mask, row in zip(fill_mask("the [MASK] ran [MASK]", top_k=20), probabilities, strict=True):
        assert [candidate.probability for candidate in mask.candidates] == sorted(row, reverse=True)
