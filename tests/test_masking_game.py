"""The masked-words game on one text."""

import collections

import numpy as np
import pytest
import tiny_model
from conftest import once

from kbert.inference import PlayMasking
from kbert.inference.masking_game import draw_masks

TEXT = "the cat sat on a mat . the dog ran home , the cats sat"


@pytest.fixture(scope="module")
def model():
    return tiny_model.make_model(num_layers=1)


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_that_of_the_drawn_tokens_alone(model, seed):
    tokenizer = tiny_model.make_tokenizer()
    played = PlayMasking(model, tokenizer)(TEXT, seed, top_k=3)
    token_ids = tokenizer.pack(TEXT).token_ids
    assert played.tokens == tuple(map(tokenizer.id_to_token, token_ids))
    assert len(played.drawn) == round(0.15 * len(token_ids)) == 3
    read = list(played.tokens)
    for one in played.drawn:
        assert one.token == read[one.position]
        assert one.fate != "masked" or one.shown == "[MASK]"
        assert one.fate != "kept" or one.shown == one.token
        read[one.position] = one.shown
    answers = tiny_model.read_log_probabilities(model, [tokenizer.token_to_id(token) for token in read])
    expected = [answers[one.position] for one in played.drawn]
    targets = [tokenizer.token_to_id(one.token) for one in played.drawn]
    losses = [-answer[target] for answer, target in zip(expected, targets, strict=True)]
    np.testing.assert_allclose([one.loss for one in played.drawn], losses, atol=1e-4)
    np.testing.assert_allclose([one.probability for one in played.drawn], np.exp(np.negative(losses)), atol=1e-5)
    assert played.loss == pytest.approx(np.mean(losses), abs=1e-4)
    for one, answer in zip(played.drawn, expected, strict=True):
        best = np.sort(np.exp(answer))[::-1][:3]
        np.testing.assert_allclose([probability for _, probability in one.candidates], best, atol=1e-5)
        assert one.candidates[0][0] == tokenizer.id_to_token(int(answer.argmax()))


@once
def test_the_draw_has_the_shares_of_the_paper():
    tokenizer, generator = tiny_model.make_tokenizer(), np.random.default_rng(3)
    token_ids = tokenizer.pack(TEXT).token_ids
    fates, places, strangers = collections.Counter(), collections.Counter(), collections.Counter()
    rounds = 20_000
    for _ in range(rounds):
        drawn, hidden = draw_masks(token_ids, tokenizer, generator)
        fates.update(drawn.values())
        places.update(drawn.keys())
        strangers.update(hidden[place] for place, fate in drawn.items() if fate == "random")
        assert all(hidden[place] == token_ids[place] for place in range(len(token_ids)) if place not in drawn)
    number = 3 * rounds
    for fate, share in {"masked": 0.8, "random": 0.1, "kept": 0.1}.items():
        assert abs(fates[fate] - share * number) < 4 * np.sqrt(share * (1 - share) * number)
    assert set(places) == set(range(1, len(token_ids) - 1))  # Never [CLS] or [SEP].
    share = 3 / len(places)
    assert all(abs(count - share * rounds) < 4.5 * np.sqrt(share * (1 - share) * rounds) for count in places.values())
    assert set(strangers) == set(range(tokenizer.vocabulary_size))


def test_equal_seeds_draw_alike_and_what_cannot_be_played_is_refused(model):
    play = PlayMasking(model, tiny_model.make_tokenizer())
    assert play(TEXT, 4) == play(TEXT, 4)
    assert len({tuple(one.position for one in play(TEXT, seed, 1).drawn) for seed in range(9)}) > 1
    assert len(play("the [MASK]", 1).drawn) == 1
    with pytest.raises(ValueError, match="`seed` must be at least 0. Received: seed=-1"):
        play(TEXT, -1)
    with pytest.raises(ValueError, match="at most 40 tokens"):
        play("cat " * 50, 1)
    for text in (" ", "\0"):
        with pytest.raises(ValueError, match="at least one word"):
            play(text, 1)
