"""What save_checkpoint and `kbert convert` write, and what they refuse to write."""

import resource

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import transformers
from hugging_face_models import assert_same_weights, hugging_face_model, save_folder, tensors_of

from kbert.cli import main
from kbert.convert import load, save_checkpoint
from kbert.models.resize import resize_vocabulary
from kbert.text.extend import extend_tokenizer


@pytest.fixture(scope="module")
def theirs():
    return hugging_face_model("BertForPreTraining")


@pytest.fixture
def folder(theirs, tmp_path):
    return save_folder(theirs, tmp_path / "theirs")


def test_a_pooler_beside_masked_words_stays(folder, tmp_path):
    checkpoint = load(folder)
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "ours", missing_parts=("nsp",))
    _, report = transformers.BertForMaskedLM.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"]
    assert set(report["unexpected_keys"]) == {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
    again = load(tmp_path / "ours")
    assert again.missing_parts == ("nsp",)
    assert_same_weights(again.model.backbone, checkpoint.model.backbone)


def test_the_vocabulary_of_an_older_tokenizer_json_does_not_stay(folder):
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    assert (folder / "tokenizer.json").is_file()
    checkpoint = load(folder)
    longer = extend_tokenizer(checkpoint.tokenizer, ["zebra"])
    save_checkpoint(resize_vocabulary(checkpoint.model, checkpoint.tokenizer, longer), longer, folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert theirs.tokenize("zebra") == ["zebra"]
    assert theirs.encode("zebra", add_special_tokens=False) == load(folder).tokenizer.encode("zebra")


@pytest.mark.parametrize("kept", [(), ("nsp",), ("mlm", "nsp")])
def test_random_weights_are_not_written(folder, kept, tmp_path, capsys):
    prefixes = ("bert.e", *{"nsp": ("cls.seq",), "mlm": ("cls.pred",)}.get("".join(kept), ("cls.",) * bool(kept)))
    tensors = {name: value for name, value in tensors_of(folder).items() if name.startswith(prefixes)}
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    assert main(["convert", str(folder), str(tmp_path / "converted")]) == 2
    missing = tuple(part for part in ("pooler", "mlm", "nsp") if part not in kept)
    message = capsys.readouterr().err
    assert "Random weights are not written" in message and f"missing_parts={missing}" in message
    assert not (tmp_path / "converted").exists()


def test_a_full_disk_leaves_the_older_files_as_they_were(folder):
    checkpoint = load(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises((OSError, safetensors.SafetensorError)):
            save_checkpoint(checkpoint.model, checkpoint.tokenizer, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_convert_command(theirs, folder, tmp_path, capsys):
    destination = tmp_path / "converted"
    assert main(["convert", str(folder), str(destination), "--dtype", "bfloat16"]) == 0
    assert "BertPretrainer, bfloat16" in capsys.readouterr().out
    for name, value in tensors_of(folder).items():
        np.testing.assert_array_equal(value.astype(ml_dtypes.bfloat16), tensors_of(destination)[name])


def test_convert_of_a_damaged_folder_writes_nothing(folder, tmp_path, capsys):
    tensors = tensors_of(folder)
    tensors["bert.pooler.dense.bias"] = tensors["bert.pooler.dense.bias"][:-1]
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    assert main(["convert", str(folder), str(tmp_path / "converted")]) == 2
    message = capsys.readouterr().err
    assert "bert.pooler.dense.bias with shape (11,)" in message and "model.safetensors" in message
    assert not (tmp_path / "converted").exists()
