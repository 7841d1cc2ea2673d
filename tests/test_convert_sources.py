"""kbert.load with handles of the hubs, from their libraries' caches: no test needs the network."""

import shutil
import sys

import huggingface_hub
import pytest
from hugging_face_models import TOKENS, hugging_face_model, save_folder

from kbert.cli import main
from kbert.convert import find_checkpoint, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_folder(hugging_face_model("BertForPreTraining"), tmp_path_factory.mktemp("theirs"))


@pytest.fixture
def hugging_face_cache(tmp_path, monkeypatch):
    # Where HF_HUB_CACHE and HF_HUB_OFFLINE go, which are read once, at import.
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def test_hugging_face_handle(folder, hugging_face_cache):
    repository = hugging_face_cache / "models--owner--tiny-bert"
    shutil.copytree(folder, repository / "snapshots" / "0123456789abcdef")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123456789abcdef")
    checkpoint = load("hf://owner/tiny-bert")
    assert (checkpoint.source, checkpoint.tokenizer.vocabulary) == ("hf://owner/tiny-bert", TOKENS)


def test_kaggle_handle(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    models = tmp_path / "models" / "owner" / "bert" / "keras" / "tiny"
    shutil.copytree(folder, models / "1")
    (models / "1.complete").touch()
    checkpoint = load("kaggle://owner/bert/keras/tiny/1")
    assert (checkpoint.source, checkpoint.tokenizer.vocabulary) == ("kaggle://owner/bert/keras/tiny/1", TOKENS)


@pytest.mark.parametrize("handle", ["hf://owner/not-in-the-cache", "hf://owner/name/too-long", "kaggle://too-short"])
def test_a_handle_that_cannot_be_fetched_is_one_sentence(handle, hugging_face_cache, capsys):
    with pytest.raises(ConnectionError, match=f"cache or within reach. Received: {handle}: .* Check the name"):
        load(handle)
    assert main(["convert", handle, str(hugging_face_cache / "new")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (hugging_face_cache / "new").exists()


def google_folder(folder):
    shutil.copy(folder / "config.json", folder / "bert_config.json")
    (folder / "config.json").unlink()
    (folder / "bert_model.ckpt.index").touch()


def keras_hub_folder(folder):
    (folder / "config.json").write_text('{"registered_name": "keras_hub>BertBackbone"}')


def pickled_folder(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("package", "change", "message"),
    [
        ("tensorflow", google_folder, r"TensorFlow must be .*bert_model\.ckpt.*keras-kbert\[tensorflow\]"),
        ("keras_hub", keras_hub_folder, r"keras-hub must be .*keras-kbert\[hub\]"),
        ("torch", pickled_folder, r"PyTorch must be .*pytorch_model\.bin.*keras-kbert\[torch\]"),
    ],
)
def test_a_library_that_is_not_there_is_named(package, change, message, folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "other")
    change(tmp_path / "other")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=message):
        load(tmp_path / "other")


@pytest.mark.parametrize(("package", "scheme"), [("huggingface_hub", "hf://"), ("kagglehub", "kaggle://")])
def test_a_hub_whose_library_is_not_there_is_named(package, scheme, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package} must be .*{scheme}owner/name.*keras-kbert\[hub\]"):
        load(f"{scheme}owner/name")


def test_a_fetched_folder_that_is_no_bert_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    models = tmp_path / "models" / "owner" / "bert" / "tensorFlow2" / "saved"
    (models / "1").mkdir(parents=True)
    (models / "1.complete").touch()
    with pytest.raises(FileNotFoundError, match=r"folder with config\.json .* Received: '.*saved/1'"):
        load("kaggle://owner/bert/tensorFlow2/saved/1")


def test_a_path_may_be_a_string_or_a_path(folder):
    assert find_checkpoint(folder) == folder
    assert load(folder).source == load(str(folder)).source == str(folder)


def test_a_config_that_is_no_json_is_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"must hold JSON\. Received: .*config\.json"):
        load(tmp_path)
