"""The share of right classes against Keras' own metric."""

import keras
import numpy as np
import pytest

from kbert.models.class_accuracy import ClassAccuracy


@pytest.mark.parametrize("shape", [(7,), (3, 4)], ids=str)
@pytest.mark.parametrize("is_weighed", [False, True])
def test_it_is_keras_metric(rng, shape, is_weighed):
    logits = rng.integers(-2, 3, (*shape, 5)).astype("float32")  # Many of the largest come twice.
    targets = rng.integers(0, 5, shape).astype("int32")
    weights = rng.uniform(size=shape).astype("float32") if is_weighed else None
    ours, theirs = ClassAccuracy(), keras.metrics.SparseCategoricalAccuracy()
    for _ in range(2):
        ours.update_state(targets, logits, weights)
        theirs.update_state(targets, logits, weights)
    assert float(ours.result()) == pytest.approx(float(theirs.result()), rel=1e-6)
    assert 0 < float(ours.result()) < 1


def test_targets_may_be_a_column():
    metric = ClassAccuracy()
    metric.update_state(np.array([[1], [0], [2]]), np.eye(3, dtype="float32")[[1, 2, 2]])
    assert float(metric.result()) == pytest.approx(2 / 3)


def test_it_survives_serialisation():
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(ClassAccuracy("share")))
    assert type(again) is ClassAccuracy and again.name == "share"
