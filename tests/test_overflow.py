"""float16: a batch whose gradients overflow is left out, also of an update that several batches share."""

import keras
import numpy as np
import pytest
from conftest import CONFIG, make_batch, make_model, to_numpy

from kbert.optimization import BertAdamW, Lamb, WarmupLinearDecay

ACCUMULATE = 3
CALM = CONFIG.replace(num_layers=1, dropout=0.0, attention_dropout=0.0)


def make(scale, optimizer_class=BertAdamW, accumulate=ACCUMULATE):
    model = make_model(np.random.default_rng(1), CALM, "mixed_float16")
    schedule = WarmupLinearDecay(1e-2, total_steps=6, warmup_steps=2)
    optimizer = optimizer_class(schedule, gradient_accumulation_steps=accumulate)
    model.compile(keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=scale))
    model.optimizer.build(model.trainable_variables)
    return model


def train(model, batches):
    """Return the batches that did not overflow, each with the scale it had: an overflow halves the scale."""
    kept = []
    for inputs, targets, weights in batches:
        scale = scale_of(model)
        model.train_on_batch(inputs, targets, sample_weight=weights)
        if scale_of(model) == scale:
            kept.append((scale, (inputs, targets, weights)))
    return kept


@pytest.fixture
def batches(rng):
    return [make_batch(rng, CALM) for _ in range(24)]


def weights_of(model):
    return to_numpy(list(model.trainable_variables))


def scale_of(model):
    return float(to_numpy(model.optimizer.dynamic_scale))


@pytest.mark.parametrize(("optimizer_class", "accumulate"), [(BertAdamW, 3), (Lamb, 3), (BertAdamW, None)])
def test_a_run_is_the_one_of_the_batches_that_did_not_overflow(batches, optimizer_class, accumulate):
    model = make(2.0**22, optimizer_class, accumulate)
    kept = train(model, batches)
    left_out = len(batches) - len(kept)
    assert left_out % 3 and 0 < left_out < 12
    assert int(model.optimizer.iterations) == len(kept) // (accumulate or 1)
    expected = make(1.0, optimizer_class, accumulate)
    for scale, batch in kept:
        expected.optimizer.dynamic_scale.assign(scale)
        assert len(train(expected, [batch])) == 1
    for variable, found, value in zip(model.trainable_variables, weights_of(model), weights_of(expected), strict=True):
        np.testing.assert_array_equal(found, value, err_msg=variable.path)
    moved = [np.abs(a - b).max() for a, b in zip(weights_of(make(1.0)), weights_of(model), strict=True)]
    assert max(moved) > 1e-3


def test_a_run_stopped_inside_an_update_goes_on_exactly(batches, tmp_path):
    """The batches that an update has gathered belong to the state, and so does the scale."""
    model, first, second = (make(scale) for scale in (2.0**22, 2.0**22, 2.0**15))
    kept = train(model, batches)
    was_kept = np.cumsum([any(batch[0] is inputs for _, (inputs, *_) in kept) for batch in batches])
    stop = next(n for n in range(12, 24) if was_kept[n - 1] % ACCUMULATE)
    train(first, batches[:stop])
    first.save_weights(tmp_path / "state.weights.h5")
    second.load_weights(tmp_path / "state.weights.h5")
    train(second, batches[stop:])
    for found, value in zip(weights_of(second), weights_of(model), strict=True):
        np.testing.assert_array_equal(found, value)
    assert scale_of(second) == scale_of(model)
