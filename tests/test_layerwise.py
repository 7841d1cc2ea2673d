"""A smaller learning rate further down: every variable moves as `BertAdamW` moves it at its layer's rate."""

import keras
import numpy as np
import pytest
from hugging_face_models import random_inputs
from test_heads import CONFIG

from kbert.layerwise import LayerwiseAdamW
from kbert.models import BertBackbone, BertClassifier
from kbert.optimization import BertAdamW

RATE, DECAY = 0.01, 0.5


def one_step(optimizer):
    """Variable path -> what one step makes of it, always from the same weights and gradients."""
    keras.utils.set_random_seed(1)
    model = BertClassifier(BertBackbone(CONFIG.replace(num_layers=2)), 3)
    compiled = keras.backend.backend() == "jax"  # The others are faster without.
    model.compile(optimizer, run_eagerly=not compiled, jit_compile=compiled)
    model.train_on_batch(random_inputs(3, 7), {"logits": np.array([0, 2, 1])})
    return {variable.path: keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables}


def scale_of(path):
    if "embeddings" in path:
        return DECAY**2
    return DECAY if "block_0" in path else 1.0


def test_each_layer_moves_at_its_rate():
    ours = one_step(LayerwiseAdamW(RATE, num_layers=2, layer_decay=DECAY, weight_decay=0.3))
    wanted = {scale: one_step(BertAdamW(RATE * scale, weight_decay=0.3)) for scale in (1.0, DECAY, DECAY**2)}
    assert {scale_of(path) for path in ours} == set(wanted)
    for path, value in ours.items():
        np.testing.assert_allclose(value, wanted[scale_of(path)][path], atol=1e-6, err_msg=path)
        assert scale_of(path) == 1.0 or np.abs(value - wanted[1.0][path]).max() > 1e-4 or "key/bias" in path


def test_the_settings_travel_and_a_decay_out_of_range_is_refused():
    again = LayerwiseAdamW.from_config(LayerwiseAdamW(RATE, num_layers=3, layer_decay=0.9).get_config())
    assert (again.num_layers, again.layer_decay) == (3, 0.9)
    for value in (0.0, 1.1):
        with pytest.raises(ValueError, match=f"above 0 and at most 1. Received: layer_decay={value}"):
            LayerwiseAdamW(RATE, layer_decay=value)


def test_a_model_of_another_depth_is_refused():
    for num_layers in (1, 12):
        with pytest.raises(ValueError, match=f"Received: num_layers={num_layers}, blocks up to number 1"):
            LayerwiseAdamW(RATE, num_layers=num_layers).build(BertBackbone(CONFIG.replace(num_layers=2)).weights)
