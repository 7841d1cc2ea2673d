"""The token-id signature in ONNX and LiteRT against the model's own numbers in NumPy."""

import sys

import numpy as np
import pytest
import reference
import tiny_model
from conftest import once

from kbert.cli import main
from kbert.convert import Checkpoint, save_checkpoint
from kbert.export import export_token_ids

pytest.importorskip("tensorflow")
pytestmark = once


@pytest.fixture(scope="module")
def checkpoint():
    model = tiny_model.make_model(num_layers=1)
    return Checkpoint(model, tiny_model.make_tokenizer(), (), "tiny", model.backbone.config)


def expected(checkpoint, rows):
    return reference.forward(tiny_model.read_weights(checkpoint.model), checkpoint.config, rows)


def make_rows(batch, length, slots):
    draw = np.random.default_rng(length)
    rows = {
        "token_ids": draw.integers(0, 20, (batch, length)),
        "segment_ids": draw.integers(0, 2, (batch, length)),
        "padding_mask": np.arange(length) < draw.integers(3, length, (batch, 1)),
        "mask_positions": draw.integers(0, 3, (batch, slots)),
    }
    return {name: value.astype("int32") for name, value in rows.items()}


def test_onnx(checkpoint, tmp_path, capsys):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("tf2onnx")
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "bert")
    path = tmp_path / "out" / "bert.onnx"
    assert main(["export", str(tmp_path / "bert"), str(path), "--format", "onnx"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(path)
    assert [file.name for file in path.parent.iterdir()] == ["bert.onnx"]
    session = onnxruntime.InferenceSession(path)
    for shape in ((1, 6, 1), (4, 21, 3)):
        rows = make_rows(*shape)
        wanted = expected(checkpoint, rows)
        for name in ("mlm", "nsp"):
            np.testing.assert_allclose(session.run([name], rows)[0], wanted[name], atol=2e-5)
    assert {output.name for output in session.get_outputs()} == {"mlm", "nsp", "sequence_output", "pooled_output"}


def test_litert(checkpoint, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    path = export_token_ids(checkpoint, tmp_path / "bert.tflite", "litert", 13)
    model = interpreter.Interpreter(str(path))
    # The converter's ops for what LiteRT lacks are called Flex...
    assert not [op for op in model._get_ops_details() if op["op_name"].startswith("Flex")]
    rows = make_rows(1, 13, 1)
    found, wanted = model.get_signature_runner()(**rows), expected(checkpoint, rows)
    for name in ("mlm", "nsp"):
        np.testing.assert_allclose(found[name], wanted[name], atol=2e-5)


@pytest.mark.parametrize(("runtime", "package"), [("onnx", "onnxruntime"), ("litert", "ai_edge_litert.interpreter")])
def test_refusals_leave_nothing(checkpoint, tmp_path, monkeypatch, runtime, package):
    path = tmp_path / {"onnx": "a.onnx", "litert": "a.tflite"}[runtime]
    with pytest.raises(ValueError, match=f"runtime='{runtime}', path='bert'"):
        export_token_ids(checkpoint, "bert", runtime)
    with pytest.raises(ValueError, match="`length` must be between 2 and 40. Received: length=41"):
        export_token_ids(checkpoint, path, runtime, 41)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}.*pip install 'keras-kbert\[{runtime}\]'"):
        export_token_ids(checkpoint, path, runtime, 13)
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_other_numbers_is_deleted_and_the_old_one_stays(tmp_path):
    pytest.importorskip("ai_edge_litert")
    model = tiny_model.make_model(num_layers=1)
    model.nsp_head.dense.bias.assign([np.nan, 0.0])
    broken = Checkpoint(model, tiny_model.make_tokenizer(), (), "broken", model.backbone.config)
    from kbert.export.runtimes import write_token_ids

    (tmp_path / "bert.tflite").write_bytes(b"good")
    with pytest.raises(ValueError, match="must give the numbers of its checkpoint.*Received: a difference of inf"):
        write_token_ids(broken, tmp_path / "bert.tflite", "litert", 13)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"good"]
