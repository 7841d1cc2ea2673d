"""kbert.load with handles of the hubs, from their libraries' caches: the network is switched off."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from hugging_face_models import TOKENS, hugging_face_model, save_folder

from kbert.convert import find_checkpoint, load, load_checkpoint

LOAD = "import json, sys, kbert; c = kbert.load(sys.argv[1]); print(json.dumps([c.source, c.tokenizer.vocabulary]))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_folder(hugging_face_model("BertForPreTraining"), tmp_path_factory.mktemp("theirs"))


def load_in_new_process(handle, **environment):
    # The hubs' libraries read these variables when they are imported.
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent.parent)} | environment
    finished = subprocess.run(
        [sys.executable, "-c", LOAD, handle], capture_output=True, text=True, check=False, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


def test_both_names_are_one_function():
    assert load is load_checkpoint


def test_hugging_face_handle(folder, tmp_path):
    repository = tmp_path / "models--owner--tiny-bert"
    shutil.copytree(folder, repository / "snapshots" / "0123456789abcdef")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123456789abcdef")
    source, vocabulary = load_in_new_process("hf://owner/tiny-bert", HF_HUB_CACHE=str(tmp_path), HF_HUB_OFFLINE="1")
    assert (source, vocabulary) == ("hf://owner/tiny-bert", TOKENS)


def test_kaggle_handle(folder, tmp_path):
    models = tmp_path / "models" / "owner" / "bert" / "keras" / "tiny"
    shutil.copytree(folder, models / "1")
    (models / "1.complete").touch()
    source, vocabulary = load_in_new_process("kaggle://owner/bert/keras/tiny/1", KAGGLEHUB_CACHE=str(tmp_path))
    assert (source, vocabulary) == ("kaggle://owner/bert/keras/tiny/1", TOKENS)


def test_a_path_may_be_a_string_or_a_path(folder):
    assert find_checkpoint(folder) == folder
    assert load(folder).source == load(str(folder)).source == str(folder)


def test_a_config_that_is_no_json_is_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"must hold JSON\. Received: .*config\.json"):
        load(tmp_path)
