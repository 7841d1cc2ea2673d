"""Pseudo-log-likelihood against NumPy sums over rows masked by hand."""

import math

import numpy as np
import pytest
from tiny_model import MASK_ID, TOKENS, make_model, make_tokenizer, read_log_probabilities

from kbert.inference import ScoreText


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def score(model):
    return ScoreText(model, make_tokenizer())


def surprises(model, tokens):
    ids = np.array([2, *map(TOKENS.index, tokens), 3])
    rows = np.tile(ids, (len(tokens), 1))
    places = np.arange(len(tokens))
    rows[places, places + 1] = MASK_ID
    return -read_log_probabilities(model, rows)[places, places + 1, ids[1:-1]]


def test_each_token_is_masked_alone(score, model):
    text = "The  CATs ran, 학교에 zebra ran"
    tokens = ["the", "cat", "##s", "ran", ",", "학교", "##에", "[UNK]", "ran"]
    answer = score(text)
    expected = surprises(model, tokens)
    assert [token.token for token in answer.tokens] == tokens
    assert [text[token.start : token.end] for token in answer.tokens] == [
        "The", "CAT", "s", "ran", ",", "학교", "에", "zebra", "ran",
    ]  # fmt: skip
    np.testing.assert_allclose([token.surprise for token in answer.tokens], expected, atol=1e-5)
    assert answer.log_likelihood == pytest.approx(-expected.sum(), abs=1e-5)
    assert answer.perplexity == pytest.approx(math.exp(expected.mean()), rel=1e-5)


def test_more_tokens_than_a_batch_and_several_texts_keep_their_places(score, model):
    sentences = [["cat"], ["the", "cat", "ran"] * 12, ["dog"] * 5, ["the", "cat", "ran"] * 12, ["a", "mat", "."] * 9]
    answers = score([" ".join(tokens) for tokens in sentences])  # 109 tokens: four batches of at most 32 rows.
    for tokens, answer in zip(sentences, answers, strict=True):
        np.testing.assert_allclose([one.surprise for one in answer.tokens], surprises(model, tokens), atol=1e-5)


def test_a_text_longer_than_the_model_is_scored_from_windows(score, model):
    tokens = "the cat sat on a mat dog ran home . ,".split() * 5  # 55; the model reads 38 and the two ends.
    answer = score(" ".join(tokens))
    assert len(answer.tokens) == 55
    for place, first in ((0, 0), (25, 6), (54, 17)):
        expected = surprises(model, tokens[first : first + 38])[place - first]
        assert answer.tokens[place].surprise == pytest.approx(expected, abs=1e-5)


def test_a_model_that_knows_nothing_is_as_perplexed_as_its_vocabulary_is_large():
    asked = []

    def know_nothing(inputs):
        asked.append(len(inputs["token_ids"]))
        return {"mlm": np.zeros((*inputs["mask_positions"].shape, len(TOKENS)), "float32")}

    answer = ScoreText(know_nothing, make_tokenizer(), max_sequence_length=64)("the cat " * 25)
    assert answer.perplexity == pytest.approx(len(TOKENS))
    assert answer.log_likelihood == pytest.approx(-50 * math.log(len(TOKENS)))
    assert asked == [32, 18]  # 50 rows in batches, not one by one.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one word"),
        ("\u200b\x00", r"at least one word. Received: '\\u200b"),
        ("the [MASK] ran", r"must be whole. Received: 'the \[MASK\] ran'.*FillMask"),
    ],
)
def test_texts_that_have_no_score(score, text, message):
    with pytest.raises(ValueError, match=message):
        score(["the cat", text])
