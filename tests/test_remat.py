"""Activations computed twice: the same numbers as without, and memory that does not grow with the blocks."""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from conftest import CONFIG, make_batch, make_model, to_numpy

from kbert.layers import EncoderBlock

STEPS = 3


def train(config, remat, dtype="float32", **compile_settings):
    """Return the losses and the weights of some steps of one and the same run."""
    keras.utils.set_random_seed(7)
    model = make_model(np.random.default_rng(1), config, dtype)
    model.backbone.remat = remat
    model.compile(keras.optimizers.SGD(0.1), **compile_settings)
    inputs, targets, weights = make_batch(np.random.default_rng(2), config)
    logs = model.fit(inputs, targets, sample_weight=weights, batch_size=1, epochs=STEPS, shuffle=False, verbose=0)
    return logs.history["loss"], to_numpy(list(model.trainable_variables)), model


# Without dropout of the probabilities attention is computed another way.
@pytest.mark.parametrize(("rates", "jit_compile"), [((0.2, 0.0), False), ((0.2, 0.3), False), ((0.2, 0.3), True)])
def test_a_run_is_the_same_with_and_without(rates, jit_compile):
    if jit_compile and keras.backend.backend() == "torch":
        pytest.skip("compiling is torch.compile's, which needs a C++ compiler")
    if rates[1] and not jit_compile and keras.backend.backend() == "jax":
        pytest.skip("Keras compiles every step on JAX: the next one")
    jit_compile |= keras.backend.backend() == "jax"
    config = CONFIG.replace(dropout=rates[0], attention_dropout=rates[1])
    losses, weights, model = train(config, remat=False, jit_compile=jit_compile)
    again, others, other = train(config, remat=True, jit_compile=jit_compile)
    np.testing.assert_allclose(again, losses, rtol=1e-6)
    for variable, value, expected in zip(model.trainable_variables, others, weights, strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6, err_msg=variable.path)
    # What comes after the run is the same, too: every generator has drawn as often.
    if keras.backend.backend() != "torch":  # Its dropout draws from PyTorch's generator.
        states = [[to_numpy(v) for v in m.non_trainable_variables] for m in (model, other)]
        np.testing.assert_array_equal(*states)


def test_dropout_is_at_work(rng):
    block = EncoderBlock(3, 12, 20, dropout=0.2, attention_dropout=0.0)
    block.remat = True
    inputs = rng.normal(size=(2, 7, 12)).astype("float32"), np.ones((2, 7), "int32")
    quiet, first, second = (to_numpy(block(*inputs, training=training)) for training in (False, True, True))
    assert min(np.abs(first - quiet).max(), np.abs(first - second).max()) > 1e-3


def test_mixed_precision():
    """In float16, whose loss is scaled, too; the casts are those of bfloat16."""
    losses, weights, _ = train(CONFIG, remat=False, dtype="mixed_float16")
    again, others, _ = train(CONFIG, remat=True, dtype="mixed_float16")
    np.testing.assert_allclose(again, losses, rtol=1e-2)
    for value, expected in zip(others, weights, strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=2e-2)


def test_inference_and_attention_maps_are_what_they_were(rng):
    model = make_model(rng)
    inputs, _, _ = make_batch(rng)
    with_maps = model.backbone.with_intermediates()
    encoder_inputs = {name: value for name, value in inputs.items() if name != "mask_positions"}
    expected = to_numpy(model(inputs)), to_numpy(with_maps(encoder_inputs))
    assert not model.backbone.remat
    model.backbone.remat = True
    assert model.backbone.remat
    found = to_numpy(model(inputs)), to_numpy(with_maps(encoder_inputs))
    keras.tree.map_structure(np.testing.assert_array_equal, found, expected)
    assert with_maps(encoder_inputs, training=True)["attention_maps"][0].shape == expected[1]["attention_maps"][0].shape


PEAK = """
import json, pathlib, sys
import keras, numpy as np
from kbert.config import BertConfig
from kbert.models import BertBackbone, BertPretrainer

layers, remat = json.loads(sys.argv[1])
config = BertConfig(vocabulary_size=50, num_layers=layers, num_heads=4, hidden_dim=32, intermediate_dim=64)
model = BertPretrainer(BertBackbone(config))
model.backbone.remat = remat
model.compile("sgd")
ones = np.ones((4, 512), "int32")
inputs = {"token_ids": ones, "segment_ids": 0 * ones, "padding_mask": ones, "mask_positions": ones[:, :3]}
model.train_on_batch(inputs, {"mlm": ones[:, :3], "nsp": ones[:, 0]})
# Not getrusage: a child begins with the peak of the process that started it.
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) / 1024)
"""


def peak_megabytes(layers, remat):
    environment = os.environ | {"KERAS_BACKEND": keras.backend.backend(), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", PEAK, json.dumps([layers, remat])]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return float(finished.stdout)


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="XLA's CPU compiler puts equal computations together again"
)
@pytest.mark.skipif(not pathlib.Path("/proc/self/status").is_file(), reason="reads the peak where Linux has it")
def test_blocks_keep_less():
    """Attention alone keeps `[B, N, T, S]` three times: probabilities, what dropout left of them, and its mask."""
    kept = 4 * 4 * 512 * 512 * 4 / 2**20  # MB of one of them in float32.
    without, with_remat = (peak_megabytes(layers=6, remat=remat) for remat in (False, True))
    assert without - with_remat > 5 * kept


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="asks JAX what it keeps")
def test_what_jax_keeps(rng):
    import jax

    block = EncoderBlock(3, 12, 20, dropout=0.2, attention_dropout=0.3)
    states, mask = rng.normal(size=(2, 50, 12)).astype("float32"), np.ones((2, 50), "int32")
    block.build(states.shape)
    values = [variable.value for variable in block.trainable_variables]
    others = [variable.value for variable in block.non_trainable_variables]

    def kept(remat):
        block.remat = remat
        _, gradient = jax.vjp(lambda s, *v: block.stateless_call(v, others, s, mask, training=True)[0], states, *values)
        return sum(leaf.size for leaf in jax.tree.leaves(gradient))

    handed_over = states.size + sum(value.size for value in values) + mask.size + 100  # Seeds and constants.
    probabilities = 2 * 3 * 50 * 50
    assert kept(True) < handed_over < probabilities < kept(False)
