"""Batches by length: every row once, little padding, and answers that do not depend on the neighbours."""

import keras
import numpy as np
import pytest
from conftest import once_on_torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import CONFIG, make_tokenizer

from kbert.models import BertBackbone, BertClassifier
from kbert.tasks.batches import POOL_BATCHES, Row, collate, padded_length, predict_rows, shuffled_batches
from kbert.text.tokenizer import PackedText

pytestmark = once_on_torch


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 7), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_every_row_once_in_an_order_that_repeats(lengths, batch_size, seed, epoch):
    batches = list(shuffled_batches(lengths, batch_size, seed, epoch))
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // batch_size) and max(map(len, batches)) <= batch_size
    again = list(shuffled_batches(lengths, batch_size, seed, epoch))
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))


def test_rows_of_like_length_share_a_batch():
    rng = np.random.default_rng(0)
    lengths = rng.geometric(1 / 20, 20 * POOL_BATCHES)
    batches = list(shuffled_batches(lengths, 20, 0, 0))
    padded = sum(lengths[batch].max() * len(batch) for batch in batches)
    unsorted = sum(max(chunk) * 20 for chunk in lengths.reshape(-1, 20))
    assert padded < 1.1 * lengths.sum() and unsorted > 3 * lengths.sum()


def test_no_batch_comes_earlier_for_being_short():
    lengths = np.arange(2000) % 100 + 1
    orders = [[lengths[batch].max() for batch in shuffled_batches(lengths, 20, seed, 0)] for seed in range(30)]
    # The mean of 30 draws of a uniform place: 4 standard errors round the middle.
    place = np.mean([np.argmin(order) for order in orders]) / (len(orders[0]) - 1)
    assert abs(place - 0.5) < 4 * np.sqrt(1 / 12 / 30)
    first, second = (np.concatenate(list(shuffled_batches(lengths, 20, 0, epoch))) for epoch in (0, 1))
    assert not np.array_equal(first, second)


def pack(*token_ids):
    return PackedText(list(token_ids), [0] * (len(token_ids) - 1) + [1], [(0, 0)] * len(token_ids))


def test_collate_pads_as_by_hand():
    rows = [
        Row((pack(2, 7, 3),), {"logits": [1, 2, 1]}, {"logits": [0.0, 1.0, 0.5]}),
        Row((pack(2, 3),), {"logits": [4, 5]}, {"logits": [1.0, 0.0]}),
    ]
    inputs, targets, weights = collate(rows, 9, 4)
    assert inputs["token_ids"].tolist() == [[2, 7, 3, 9], [2, 3, 9, 9]]
    assert inputs["segment_ids"].tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert inputs["padding_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 0, 0]]
    assert targets["logits"].tolist() == [[1, 2, 1, 0], [4, 5, 0, 0]]
    assert weights["logits"].tolist() == [[0, 1, 0.5, 0], [1, 0, 0, 0]]
    arrays = [*inputs.values(), *targets.values(), *weights.values()]
    assert [array.dtype for array in arrays] == ["int32"] * 4 + ["float32"]


def test_collate_of_choices_and_of_vectors():
    rows = [Row((pack(2, 3), pack(2, 7, 3)), {"logits": 1}), Row((pack(2, 8, 3), pack(2, 3)), {"logits": 0})]
    inputs, targets, weights = collate(rows, 0, 3)
    assert inputs["token_ids"].tolist() == [[[2, 3, 0], [2, 7, 3]], [[2, 8, 3], [2, 3, 0]]]
    assert (targets["logits"].tolist(), weights) == ([1, 0], {})
    vectors = [Row((pack(2, 3),), {"logits": np.array([1.0, 0.0], "float32")})] * 2
    assert collate(vectors, 0, 2)[1]["logits"].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(("length", "step", "longest", "expected"), [(5, 8, 40, 8), (33, 32, 40, 40), (9, 1, 40, 9)])
def test_padded_length(length, step, longest, expected):
    assert padded_length(length, step, longest) == expected


def test_answers_do_not_depend_on_the_bucket():
    keras.utils.set_random_seed(3)
    model = BertClassifier(BertBackbone(CONFIG), 3)
    rng = np.random.default_rng(1)
    lengths = rng.integers(3, 40, 30)
    rows = [Row((pack(2, *rng.integers(5, CONFIG.vocabulary_size, length - 2), 3),)) for length in lengths]
    asked = []

    def predict(inputs):
        asked.append(inputs["token_ids"].shape)
        return [keras.ops.convert_to_numpy(model(inputs, training=False)["logits"])]

    answers = predict_rows(predict, rows, make_tokenizer().special_token_ids["[PAD]"], 40, 1, batch_size=4)
    shapes, asked[:] = list(asked), []
    assert [length for _, length in shapes] == sorted(length for _, length in shapes)
    for row, (answer,) in zip(rows, answers, strict=True):
        alone, _, _ = collate([row], 0, 40)
        np.testing.assert_allclose(answer, predict(alone)[0][0], atol=2e-5)
    assert np.std([answer for (answer,) in answers], axis=0).min() > 0.01  # They differ from row to row.
