"""The dropout of an epoch: drawn from (seed, epoch) alone, so that a run that starts again draws what it would have."""

import keras
import numpy as np
from conftest import CONFIG, make_batch, make_model, to_numpy

from training.state import ReseedDropout


def scores_of_epoch(model, seed, epoch, data):
    callback = ReseedDropout(seed)
    callback.set_model(model)
    callback.on_epoch_begin(epoch)
    callback.on_train_batch_begin(0)
    return to_numpy(model(data, training=True))["mlm"]


def test_each_epoch_draws_anew_and_a_second_start_the_same():
    rng = np.random.default_rng(0)
    model, (inputs, _, _) = make_model(rng, CONFIG.replace(dropout=0.5)), make_batch(rng)
    first, next_epoch, other_seed, again = (
        scores_of_epoch(model, *draw, inputs) for draw in ((3, 0), (3, 1), (4, 0), (3, 0))
    )
    np.testing.assert_array_equal(first, again)
    for other in (next_epoch, other_seed):
        assert np.abs(first - other).max() > 1e-3
    assert not any(np.isnan(values).any() for values in (first, next_epoch))


def test_later_batches_of_an_epoch_go_on():
    rng = np.random.default_rng(0)
    model, (inputs, _, _) = make_model(rng, CONFIG.replace(dropout=0.5)), make_batch(rng)
    callback = ReseedDropout(3)
    callback.set_model(model)
    callback.on_epoch_begin(0)
    outputs = []
    for batch in range(2):
        callback.on_train_batch_begin(batch)
        outputs.append(keras.ops.convert_to_numpy(model(inputs, training=True)["mlm"]))
    assert np.abs(outputs[0] - outputs[1]).max() > 1e-3
