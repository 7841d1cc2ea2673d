"""Every way a Hugging Face folder may be stored, and what happens when it is damaged."""

import json
import os
import string

import keras
import ml_dtypes
import numpy as np
import pytest
import torch
import transformers
from hugging_face_models import (
    TOKENS,
    ask_hugging_face,
    assert_same_weights,
    hugging_face_model,
    random_inputs,
    save_folder,
    tensors_of,
    weights_of,
)

from kbert.config import BertConfig
from kbert.convert import load, save_checkpoint
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS, write_vocabulary


@pytest.fixture(scope="module")
def theirs():
    return hugging_face_model("BertForPreTraining")


@pytest.fixture
def folder(theirs, tmp_path):
    return save_folder(theirs, tmp_path / "theirs")


def write_bin(tensors, path):
    torch.save({name: torch.tensor(value) for name, value in tensors.items()}, path)


def old_names(tensors):
    """The spellings of the files of 2018."""
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }


def test_shards(theirs, folder, tmp_path):
    theirs.save_pretrained(tmp_path / "shards", max_shard_size="4KB")
    write_vocabulary(TOKENS, tmp_path / "shards" / "vocab.txt")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 2
    assert_same_weights(load(tmp_path / "shards").model, load(folder).model)
    shard = sorted((tmp_path / "shards").glob("*.safetensors"))[1]
    shard.write_bytes(shard.read_bytes()[:-7])
    with pytest.raises(ValueError, match=rf"must be whole.*{shard.name}"):
        load(tmp_path / "shards")
    shard.unlink()
    with pytest.raises(FileNotFoundError, match=rf"index\.json without \['{shard.name}'\]"):
        load(tmp_path / "shards")


def test_pickled_file_with_old_names(folder):
    expected = load(folder).model
    write_bin(old_names(tensors_of(folder)), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert_same_weights(load(folder).model, expected)


def test_pickled_shards(folder):
    expected = load(folder).model
    tensors = tensors_of(folder)
    names = sorted(tensors)
    shards = {"pytorch_model-00001-of-00002.bin": names[:9], "pytorch_model-00002-of-00002.bin": names[9:]}
    for file, its_names in shards.items():
        write_bin({name: tensors[name] for name in its_names}, folder / file)
    weight_map = {name: file for file, its_names in shards.items() for name in its_names}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "model.safetensors").unlink()
    assert_same_weights(load(folder).model, expected)


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_in_a_pickled_file_is_not_run(folder, tmp_path):
    (folder / "model.safetensors").unlink()
    torch.save({"bert.pooler.dense.bias": Harmful(str(tmp_path / "harm"))}, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"hold tensors only\. Received: .*pytorch_model\.bin"):
        load(folder)
    assert not (tmp_path / "harm").exists()


def test_a_truncated_pickled_file_is_named(folder):
    write_bin(tensors_of(folder), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ValueError, match=r"must be whole.*pytorch_model\.bin"):
        load(folder)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_files(theirs, folder, dtype, tmp_path):
    exact = load(folder).model
    half = getattr(torch, dtype)
    save_folder(hugging_face_model("BertForPreTraining").to(half), tmp_path / "half")
    loaded = load(tmp_path / "half").model
    numpy_dtype = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}[dtype]
    for one, two in zip(weights_of(exact), weights_of(loaded), strict=True):
        assert two.dtype == np.float32
        np.testing.assert_array_equal(one.astype(numpy_dtype).astype("float32"), two)
    save_checkpoint(exact, WordPieceTokenizer(TOKENS), tmp_path / "ours", dtype=dtype)
    again = transformers.BertForPreTraining.from_pretrained(tmp_path / "ours")
    assert {parameter.dtype for parameter in again.parameters()} == {half}
    assert_same_weights(load(tmp_path / "ours").model, loaded)


def test_untied_decoder(tmp_path):
    theirs = hugging_face_model("BertForPreTraining", tie_word_embeddings=False)
    checkpoint = load(save_folder(theirs, tmp_path / "theirs"))
    assert not checkpoint.model.tied_decoder
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path / "ours")
    again, report = transformers.BertForPreTraining.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    inputs = random_inputs(2, 7)
    ours = checkpoint.model(inputs | {"mask_positions": np.tile(np.arange(7, dtype="int32"), (2, 1))})["mlm"]
    for model in (theirs, again.eval()):
        wanted = ask_hugging_face(model, inputs).prediction_logits.numpy()
        np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), wanted, atol=1e-5, rtol=1e-5)


def test_an_untied_decoder_that_is_not_there_is_missed(folder):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tie_word_embeddings": False}))
    with pytest.raises(ValueError, match=r"missing \['cls.predictions.decoder.weight'\]"):
        load(folder)


def test_untied_model_survives_keras_saving(tmp_path):
    config = BertConfig(29, 1, 2, 6, 10, max_sequence_length=9)
    model = BertPretrainer(BertBackbone(config), tied_decoder=False)
    model.save(tmp_path / "model.keras")
    assert_same_weights(keras.saving.load_model(tmp_path / "model.keras", compile=False), model)
    tied = BertPretrainer(BertBackbone(config))
    assert model.count_params() - tied.count_params() == 29 * 6


def test_tokenizer_json_alone_is_enough(folder):
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder, do_lower_case=True, strip_accents=False)
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    loaded = load(folder).tokenizer
    assert loaded.vocabulary == TOKENS
    assert (loaded.lowercase, loaded.strip_accents) == (True, False)


@pytest.mark.parametrize("letters", [string.ascii_uppercase[:24], string.ascii_lowercase[:24]])
def test_case_follows_the_vocabulary_unless_told(folder, letters):
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, *letters]) + "\n")
    assert load(folder).tokenizer.lowercase == letters.islower()


def folder_with_case(tmp_path, letters, lowercase):
    tokens = [*SPECIAL_TOKENS, *letters]
    hugging_face_model("BertModel", vocab_size=len(tokens)).save_pretrained(tmp_path)
    write_vocabulary(tokens, tmp_path / "vocab.txt")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
    return tmp_path


def test_a_cased_vocabulary_is_not_lower_cased(tmp_path):
    folder = folder_with_case(tmp_path, string.ascii_uppercase, True)
    with pytest.raises(ValueError, match=r"cased vocabulary must .*vocab\.txt with capital letters, lowercase=True"):
        load(folder)
    assert not load(folder_with_case(tmp_path, string.ascii_uppercase, False)).tokenizer.lowercase


def test_an_uncased_vocabulary_is_lower_cased(tmp_path):
    folder = folder_with_case(tmp_path, string.ascii_lowercase, False)
    with pytest.raises(ValueError, match=r"uncased vocabulary must .*vocab\.txt without capital letters, lowercase=F"):
        load(folder)


def test_a_chinese_vocabulary_without_lower_casing_is_read_as_transformers_does(tmp_path):
    # The Chinese BERT on the hub is such a folder.
    folder = folder_with_case(tmp_path, [*string.ascii_lowercase, "中", *map(chr, range(0x5000, 0x5040))], False)
    with pytest.warns(UserWarning, match="Every Latin capital will be .UNK.. .*Change do_lower_case"):
        tokenizer = load(folder).tokenizer
    theirs = transformers.BertTokenizerFast.from_pretrained(folder)
    assert tokenizer.encode("a 中 A") == theirs("a 中 A", add_special_tokens=False)["input_ids"]
    assert load(folder_with_case(tmp_path, string.ascii_lowercase, True)).tokenizer.lowercase


def test_classifier_without_architectures_is_asked_about(tmp_path):
    save_folder(hugging_face_model("BertForSequenceClassification", num_labels=3), tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": None}))
    with pytest.raises(ValueError, match=r"`architectures` must say .* what classifier\.weight is for"):
        load(tmp_path)


def test_label_names_of_another_number_are_refused(tmp_path):
    save_folder(hugging_face_model("BertForTokenClassification", num_labels=3), tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id2label": {"0": "A", "1": "B"}}))
    with pytest.raises(ValueError, match=r"2 names, classifier\.bias with 3 classes in .*model\.safetensors"):
        load(tmp_path)
