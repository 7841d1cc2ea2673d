"""training/pretrain.py --init with checkpoints of other kinds than its own."""

import keras
import numpy as np
import pytest
from hugging_face_models import hugging_face_model, save_folder

from kbert.convert import load
from kbert.text.tokenizer import WordPieceTokenizer
from training import pretrain


def test_the_encoder_of_a_fine_tuned_model_goes_on_with_new_heads(tmp_path, capsys):
    theirs = hugging_face_model("BertForTokenClassification", hidden_dropout_prob=0.3)
    folder = save_folder(theirs, tmp_path / "tagger")
    settings = pretrain.Settings(data="unused", init=str(folder), no_dropout=True)
    model, config = pretrain._build_model(settings, load(folder).tokenizer)
    assert f"{folder} has no pooler, mlm, nsp" in capsys.readouterr().out
    assert (model.backbone.config.dropout, config.dropout) == (0.0, 0.3)
    table = model.backbone.embeddings.token_embedding.embeddings
    expected = theirs.bert.embeddings.word_embeddings.weight.detach().numpy()
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(table), expected)
    assert model.mlm_head.token_embedding.embeddings is table


def test_a_checkpoint_that_keeps_accents_is_not_trained_on_rows_that_do_not(tmp_path):
    folder = save_folder(hugging_face_model("BertForPreTraining"), tmp_path / "start")
    tokenizer = load(folder).tokenizer
    other = WordPieceTokenizer(tokenizer.vocabulary, lowercase=tokenizer.lowercase, strip_accents=False)
    settings = pretrain.Settings(data=("rows",), init=str(folder))
    with pytest.raises(ValueError, match=f"'strip_accents': False.* in rows, .*True.* in {folder}"):
        pretrain._build_model(settings, other)
