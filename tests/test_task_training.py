"""What the trained models share in `fit`."""

import keras
import numpy as np
import tiny_model
from conftest import once

from kbert import BertBackbone, BertClassifier
from kbert.optimization import BertAdamW


@once
def test_tensorflow_reads_a_step_once():
    model = BertClassifier(BertBackbone(tiny_model.CONFIG), 2)
    model.compile(BertAdamW())
    step, read = model.train_step, []
    model.train_step = lambda data: read.append(None) or step(data)
    inputs = {name: np.ones((4, 6), "int32") for name in ("token_ids", "segment_ids", "padding_mask")}
    before = keras.ops.convert_to_numpy(model.trainable_variables[0]).copy()
    model.fit(inputs, np.array([0, 1, 0, 1]), batch_size=2, epochs=2, verbose=0)
    assert len(read) == 1
    assert np.any(keras.ops.convert_to_numpy(model.trainable_variables[0]) != before)
