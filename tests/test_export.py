"""What an export writes, and that a bad one writes nothing."""

import copy
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tiny_model
from conftest import once

from kbert.convert import Checkpoint, save_checkpoint
from kbert.export import export_saved_model
from kbert.inference import EmbedText, FillMask, SentencePair

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.export import comparison  # noqa: E402
from kbert.export.versions import write_version  # noqa: E402

# Another backend than TensorFlow exports in a child process, from a folder: JAX as PyTorch.
not_on_jax = pytest.mark.skipif(keras.backend.backend() == "jax", reason="the run on PyTorch has it")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@not_on_jax
def test_metadata_and_nothing_beside_the_version(exported):
    checkpoint, path = exported
    assert path.name == "1" and names(path.parent) == ["1"]
    metadata = json.loads((path / "assets.extra" / "kbert.json").read_text(encoding="utf-8"))
    assert metadata["signatures"]["sentence_pair"] == ["text", "text_pair"]
    assert metadata["top_k"] == 6 and metadata["max_sequence_length"] == 40
    assert metadata["versions"]["tensorflow"] == tf.__version__
    assert metadata["tokenizer"]["strip_accents"] is False
    assert len(metadata["weights_sha256"]) == 64


@once
def test_warmup_requests_are_prediction_logs_that_the_model_answers(exported):
    prediction_log_pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    _, path = exported
    loaded = tf.saved_model.load(str(path))
    asked = []
    for record in tf.data.TFRecordDataset(str(path / "assets.extra" / "tf_serving_warmup_requests")):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        inputs = {name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()}
        answers = loaded.signatures[request.model_spec.signature_name](**inputs)
        assert all(len(value) == 1 for value in answers.values())
        asked.append(request.model_spec.signature_name)
    assert asked == ["fill_mask", "sentence_pair", "embed", "embed_pair"]


@once
def test_saved_model_answers_through_kbert_inference_too(exported):
    checkpoint, path = exported
    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["token_ids"]
    fill_mask = FillMask(
        lambda inputs: signature(**{name: tf.constant(value) for name, value in inputs.items()}),
        checkpoint.tokenizer,
        max_sequence_length=40,
    )
    for one, other in zip(
        fill_mask("a [MASK] cat")[0].candidates, FillMask(checkpoint)("a [MASK] cat")[0].candidates, strict=True
    ):
        assert one.word == other.word and one.probability == pytest.approx(other.probability, abs=1e-5)


@once
def test_the_command_writes_the_next_version(exported, tmp_path):
    checkpoint, path = exported
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "bert", missing_parts=("nsp",))
    (tmp_path / "out" / "4").mkdir(parents=True)
    (tmp_path / "out" / "notes").mkdir()
    command = [sys.executable, "-m", "kbert.cli", "export", tmp_path / "bert", tmp_path / "out", "--top-k", "2"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    written = tmp_path / "out" / "5"
    assert finished.stdout == f"{written}\n" and names(tmp_path / "out") == ["4", "5", "notes"]
    signatures = tf.saved_model.load(str(written)).signatures
    # Without its head a question has no signature.
    assert sorted(signatures) == ["embed", "embed_pair", "fill_mask", "serving_default", "token_ids"]
    assert signatures["fill_mask"](text=tf.constant(["[MASK]"]))["words"].shape == (1, 1, 2)


@pytest.mark.parametrize(("top_k", "message"), [(0, "between 1 and 20. Received: top_k=0"), (21, "top_k=21")])
@once
def test_top_k_out_of_range(exported, tmp_path, top_k, message):
    with pytest.raises(ValueError, match=message):
        export_saved_model(exported[0], tmp_path, top_k)


@not_on_jax
def test_a_refusal_comes_through_the_child_process(tmp_path):
    # On the TensorFlow backend there is no child: the same sentence either way.
    with pytest.raises((ValueError, FileNotFoundError), match="Received: 'no-such-model'"):
        export_saved_model("no-such-model", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@once
@pytest.mark.parametrize(("name", "runtime"), [("bert.onnx", "onnx"), ("bert.tflite", "litert")])
def test_a_folder_with_the_name_of_a_file_is_refused(tmp_path, name, runtime):
    with pytest.raises(ValueError, match=f"{name}'. Such a file is written by --format {runtime}"):
        export_saved_model("kbert-small-en", tmp_path / name)
    assert names(tmp_path) == []


@once
def test_an_export_with_other_answers_is_deleted_and_older_versions_stay(tmp_path):
    from kbert.export.saved_model import write_saved_model

    model = tiny_model.make_model()
    model.mlm_head.bias.assign(np.full(20, np.nan, "float32"))
    broken = Checkpoint(model, tiny_model.make_tokenizer(), (), "broken", tiny_model.CONFIG)
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"good")
    with pytest.raises(
        ValueError, match=r"the answers of its checkpoint.*Received: fill_mask with a difference of inf"
    ):
        write_saved_model(broken, tmp_path, 3)
    assert names(tmp_path) == ["1"] and (tmp_path / "1" / "saved_model.pb").read_bytes() == b"good"


def test_a_version_is_there_whole_or_not_at_all(tmp_path):
    seen = []

    def write(path):
        path.mkdir()
        (path / "file").write_text("half")
        seen.extend(name for name in names(tmp_path) if name.isdecimal())  # What a server would load.
        (path / "file").write_text("whole")

    def fail(path):
        write(path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_version(tmp_path, fail)
    assert names(tmp_path) == []
    assert write_version(tmp_path, write) == tmp_path / "1"
    assert seen == [] and (tmp_path / "1" / "file").read_text() == "whole"

    def write_while_another_does(path):
        write(path)
        write_version(tmp_path, write)

    assert write_version(tmp_path, write_while_another_does) == tmp_path / "3"


@once
def test_comparison_sees_every_kind_of_difference(exported):
    checkpoint, path = exported
    loaded = tf.saved_model.load(str(path))
    texts = ["the cat [MASK] on [MASK].", "no mask", "[MASK]s"]
    fill_mask = FillMask(checkpoint)
    good = {name: value.numpy() for name, value in loaded.signatures["fill_mask"](text=tf.constant(texts)).items()}
    assert comparison.compare_fill_mask(good, fill_mask, texts) < 1e-5
    for name in good:
        bad = copy.deepcopy(good)
        place = (0,) * bad[name].ndim
        bad[name][place] = b"nonsense" if name == "words" else bad[name][place] + 1
        assert comparison.compare_fill_mask(bad, fill_mask, texts) > 0.9, name
    bad = copy.deepcopy(good)
    for name in ("words", "token_ids", "probabilities"):  # The same words in another order.
        bad[name][0, 1] = bad[name][0, 1, ::-1]
    assert comparison.compare_fill_mask(bad, fill_mask, texts) > 1e-3
    bad = good | {"probabilities": np.full_like(good["probabilities"], np.nan)}
    assert comparison.compare_fill_mask(bad, fill_mask, texts) == np.inf

    pairs = {"follows": np.array([0.5, 0.5]), "random": np.array([0.5, 0.5])}
    judge = SentencePair(checkpoint)
    assert comparison.compare_sentence_pair(pairs, judge, ["a cat", ""], ["home", "a"]) > 1e-3
    exact = judge("a cat", "home")
    pairs = {"follows": np.array([exact.follows, 0.5]), "random": np.array([exact.random, 0.5])}
    assert comparison.compare_sentence_pair(pairs, judge, ["a cat", ""], ["home", "a"]) < 1e-7
    pairs["follows"][1] = np.nan  # A text that is refused by the one must have an answer from the other.
    assert comparison.compare_sentence_pair(pairs, judge, ["a cat", ""], ["home", "a"]) == np.inf

    embed = {"mean": EmbedText(checkpoint)}
    vector = embed["mean"](["a cat"])
    assert comparison.compare_embed({"mean": vector}, embed, ["a cat"]) == 0
    assert comparison.compare_embed({"mean": vector + 0.5}, embed, ["a cat"]) > 0.1
    assert comparison.compare_outputs({"mlm": vector}, {"mlm": vector[:, 1:]}) == np.inf
