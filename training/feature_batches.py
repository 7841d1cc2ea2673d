"""Rows of a task with the states of a frozen encoder, to batches."""

import dataclasses

import keras
import numpy as np

from kbert.tasks.batches import collate, padded_length, shuffled_batches
from training.finetune_run import length_step
from training.token_features import TokenFeatures

_BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class FeatureSet:
    """A set of a task.

    Attributes:
        sentences: list of `Sentence`.
        rows: list of `Row`.
        features: `TokenFeatures` of the rows.
    """

    sentences: list
    rows: list
    features: TokenFeatures


def training_batches(feature_set, layers, batch_size, seed, epoch):
    """Return a `keras.utils.PyDataset` of the batches of one epoch: (inputs, targets, weights).

    Args:
        feature_set: `FeatureSet`.
        layers: tuple of int, as in `TokenFeatures.batch`.
        batch_size: int.
        seed, epoch: int, of the order.
    """
    return _Batches(feature_set, layers, shuffled_batches(feature_set.features.lengths, batch_size, seed, epoch))


class _Batches(keras.utils.PyDataset):
    def __init__(self, feature_set, layers, batches):
        super().__init__()
        self.feature_set = feature_set
        self.layers = layers
        self.batches = list(batches)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return _batch(self.feature_set, self.layers, self.batches[index])


def predict(model, feature_set, layers):
    """Return the logits `[T, C]` of each row, in a tuple of one, as a task's `decode` takes them."""
    lengths = feature_set.features.lengths
    order = np.argsort(lengths, kind="stable")
    answers = [None] * len(order)
    for start in range(0, len(order), _BATCH_SIZE):
        chosen = order[start : start + _BATCH_SIZE]
        inputs, _, _ = _batch(feature_set, layers, chosen)
        logits = keras.ops.convert_to_numpy(model(inputs, training=False)["logits"])
        for place, row in enumerate(chosen):
            answers[row] = (logits[place],)
    return answers


def _batch(feature_set, layers, chosen):
    longest = feature_set.features.lengths.max()
    length = padded_length(feature_set.features.lengths[chosen].max(), length_step(), longest)
    inputs, targets, weights = collate([feature_set.rows[row] for row in chosen], 0, length)
    features = feature_set.features.batch(chosen, list(layers), length)
    return {"features": features, "padding_mask": inputs["padding_mask"]}, targets, weights
