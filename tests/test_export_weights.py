"""Exports with smaller weights: what the files hold, and that the answers are those of the rounded weights."""

import numpy as np
import pytest
import tiny_model
from conftest import once
from test_serving_session import ROW, rows, run

from kbert.convert import Checkpoint
from kbert.export import export_saved_model

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.export.saved_model import find_ops, write_saved_model  # noqa: E402
from training import weight_formats  # noqa: E402

pytestmark = once


def make_checkpoint():
    model = tiny_model.make_model(num_layers=1)
    return Checkpoint(model, tiny_model.make_tokenizer(), (), "tiny", model.backbone.config)


def to_float16(path, values):
    return values.astype("float16").astype("float32")


def to_int8(path, values):
    """Matrices: 255 steps from the largest of a row of a table, or of a column of a kernel, to its negative."""
    if values.ndim < 2:
        return values
    by_output = values if path.endswith("embeddings") else values.T
    rounded = [np.rint(row / (np.abs(row).max() / 127)) * (np.abs(row).max() / 127) for row in by_output]
    return np.array(rounded, "float32") if path.endswith("embeddings") else np.array(rounded, "float32").T


@pytest.mark.parametrize(("weights", "rounded", "size"), [("float16", to_float16, 2), ("int8", to_int8, 1)])
def test_the_answers_are_those_of_the_rounded_weights(weights, rounded, size, tmp_path):
    checkpoint = make_checkpoint()
    path = export_saved_model(checkpoint, tmp_path, 3, weights)
    expected = tiny_model.make_model(num_layers=1)
    for variable in expected.weights:
        variable.assign(rounded(variable.path, variable.numpy()))
    found = run(path, [("token_ids", rows(3, 6)), ("embed", {"text": ["the cat sat"]})])
    outputs = expected.predict_on_batch(rows(len(ROW), 6))
    for name in ("mlm", "nsp"):
        np.testing.assert_allclose(found["answers"][0][name], outputs[name], atol=2e-6)
    exact = checkpoint.model.predict_on_batch(rows(len(ROW), 6))
    assert np.abs(exact["mlm"] - outputs["mlm"]).max() > 1e-4  # Rounding does change the answers.
    assert find_ops(path) - found["ops"] == {"FastWordpieceTokenizeWithOffsets"}
    stored = tf.train.load_checkpoint(str(path / "variables" / "variables"))
    shapes, types = stored.get_variable_to_shape_map(), stored.get_variable_to_dtype_map()
    table = [name for name, shape in shapes.items() if shape == [20, 12]]
    assert [types[name].size for name in table] == [size]  # Once in the file, however many signatures read it.


def test_what_is_refused(tmp_path):
    checkpoint = make_checkpoint()
    with pytest.raises(ValueError, match="`weights` must be one of float32, float16, int8. Received: weights='int4'"):
        export_saved_model(checkpoint, tmp_path, 3, "int4")
    checkpoint.model.nsp_head.dense.bias.assign([7e4, 0.0])
    with pytest.raises(ValueError, match="at most 65504. Received: 70000.*Export with weights='float32'"):
        write_saved_model(checkpoint, tmp_path, 3, "float16")
    assert list(tmp_path.iterdir()) == []


def test_agreement_counts_by_hand():
    words = np.array([[b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"d", b"e", b"f"]], object)
    others = np.array([[b"a", b"c", b"b"], [b"b", b"a", b"x"], [b"d", b"e", b"f"]], object)
    found = weight_formats.count_agreement(words, others)
    assert found == {"first": 2 / 3, "same_words": 2 / 3, "shared": (3 + 2 + 3) / 9}
