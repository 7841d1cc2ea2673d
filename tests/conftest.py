"""What every test may use, and which backend and versions this run is about."""

import gc
import importlib.metadata

import keras
import numpy as np
import pytest

from kbert.config import BertConfig
from kbert.models import BertBackbone, BertPretrainer

gc.set_threshold(20_000)  # From 700: building models and graphs makes many objects that stay for a while.


def pytest_report_header():
    backend = keras.backend.backend()
    names = (backend, "keras", "numpy", "tokenizers")
    return f"backend: {backend} ({', '.join(f'{name} {importlib.metadata.version(name)}' for name in names)})"


# All sizes differ, so that a transposed or mixed-up axis fails.
CONFIG = BertConfig(
    vocabulary_size=29,
    num_layers=2,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=20,
    max_sequence_length=11,
    dropout=0.2,
    attention_dropout=0.3,
)
B, T, P = 2, 7, 4


# For what has nothing to do with the backend: text, data, files, and what needs TensorFlow anyway.
once = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="the run on TensorFlow has it")
# The same for scripts that train, and commands that ask, real models: PyTorch traces and compiles nothing, so a short
# run takes a third of the time. That each backend trains, goes on after a kill and answers is tested on all three. Some
# of what either could run is here too, so that TensorFlow's tests end when those of JAX and PyTorch do.
once_on_torch = pytest.mark.skipif(keras.backend.backend() != "torch", reason="the run on PyTorch has it")


@pytest.fixture(scope="module", autouse=True)
def free_graphs():
    """Let go of the graphs of a file's models: TensorFlow's table of custom gradients keeps each for ever.

    Whole, the run took 10 GB without this, and Python's collector went through all of it again and again. A function
    that is traced has its gradient; what is traced later enters its own.
    """
    yield
    if keras.backend.backend() == "tensorflow":
        from tensorflow.python.framework import ops

        table = ops.gradient_registry._registry
        for name in [name for name in table if name.startswith("CustomGradient-")]:
            del table[name]
    gc.collect()
    gc.freeze()  # What is left stays: libraries, fixtures of the whole run.


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make_batch(rng, config=CONFIG, batch=B, length=T, slots=P):
    """Return inputs with padding at the end of each row, targets, and weights with unused slots."""
    padding_mask = (np.arange(length) < rng.integers(4, length + 1, (batch, 1))).astype("int32")
    inputs = {
        "token_ids": rng.integers(0, config.vocabulary_size, (batch, length)).astype("int32"),
        "segment_ids": rng.integers(0, config.num_segments, (batch, length)).astype("int32"),
        "padding_mask": padding_mask,
        "mask_positions": rng.integers(0, 4, (batch, slots)).astype("int32"),
    }
    targets = {
        "mlm": rng.integers(0, config.vocabulary_size, (batch, slots)).astype("int32"),
        "nsp": rng.integers(0, 2, batch).astype("int32"),
    }
    used = (np.arange(slots) < rng.integers(1, slots, (batch, 1))).astype("float32")
    return inputs, targets, {"mlm": used, "nsp": np.ones(batch, "float32")}


def randomise(model, rng, spread=0.3):
    """Give every weight a random value: fresh biases and LayerNorms would hide a swap."""
    for variable in model.trainable_variables:
        centre = 1.0 if variable.name == "gamma" else 0.0
        variable.assign((centre + spread * rng.normal(size=variable.shape)).astype("float32"))
    return model


def make_model(rng, config=CONFIG, dtype="float32"):
    return randomise(BertPretrainer(BertBackbone(config, dtype=dtype)), rng)


def to_numpy(structure):
    return keras.tree.map_structure(lambda x: keras.ops.convert_to_numpy(keras.ops.cast(x, "float32")), structure)


def backbone_inputs(inputs):
    return {name: value for name, value in inputs.items() if name != "mask_positions"}


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A tiny checkpoint, and the SavedModel that an export made of it."""
    pytest.importorskip("tensorflow_text")
    import tiny_model

    from kbert.convert import Checkpoint
    from kbert.export import export_saved_model

    model = tiny_model.make_model(num_layers=2)
    checkpoint = Checkpoint(model, tiny_model.make_tokenizer(), (), "tiny", model.backbone.config)
    return checkpoint, export_saved_model(checkpoint, tmp_path_factory.mktemp("exported"), top_k=6)
