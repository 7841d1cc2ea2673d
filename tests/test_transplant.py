"""training/transplant.py: an encoder under the vocabulary of another language."""

import numpy as np
import pytest
from conftest import CONFIG, make_model, to_numpy

from kbert.convert import load, save_checkpoint
from kbert.text.tokenizer import WordPieceTokenizer
from training import transplant

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
KOREAN = ["학교", "##에", "나는", ",", "w7"]


@pytest.fixture
def source(tmp_path):
    """A random checkpoint, and the file of a Korean vocabulary that shares seven tokens with it."""
    tokens = [*SPECIAL_TOKENS, ",", *(f"w{number}" for number in range(CONFIG.vocabulary_size - 6))]
    model = make_model(np.random.default_rng(1), CONFIG)
    save_checkpoint(model, WordPieceTokenizer(tokens), tmp_path / "source")
    korean = [*(f"##{number}" for number in range(300)), *KOREAN, *reversed(SPECIAL_TOKENS)]
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in korean), encoding="utf-8")
    return model, tokens, korean


def test_blocks_and_shared_tokens_stay_and_the_others_look_alike(source, tmp_path, capsys):
    model, tokens, korean = source
    command = [str(tmp_path / "source"), "--vocabulary", str(tmp_path / "vocab.txt"), "--keep_accents"]
    transplant.main([*command, "--output", str(tmp_path / "start")])
    assert "310 tokens, 7 of them with the embedding they had" in capsys.readouterr().out
    start = load(tmp_path / "start")
    assert start.missing_parts == ("mlm", "nsp")  # Nothing was learnt there.
    assert start.tokenizer.encode("나는 학교에, w7") == [302, 300, 301, 303, 304]

    table, old_table = (to_numpy(each.backbone.embeddings.token_embedding.embeddings) for each in (start.model, model))
    assert table.shape == (310, CONFIG.hidden_dim)
    shared = [token for token in korean if token in tokens]
    assert len(shared) == 7
    for token in shared:
        np.testing.assert_array_equal(table[korean.index(token)], old_table[tokens.index(token)])
    # Four standard errors of a mean of 300, column by column.
    distance = np.abs(table[:300].mean(0) - old_table.mean(0))
    assert (distance < 4 * old_table.std(0) / np.sqrt(300)).all()
    np.testing.assert_allclose(table[:300].std(0), old_table.std(0), rtol=4 / np.sqrt(600))

    same = 0
    for old, new in zip(model.backbone.weights, start.model.backbone.weights, strict=True):
        if old.shape == new.shape:
            np.testing.assert_array_equal(to_numpy(old.value), to_numpy(new.value), err_msg=new.path)
            same += 1
    assert same == len(model.backbone.weights) - 1


def test_refusals(source, tmp_path):
    with pytest.raises(SystemExit, match="--vocabulary must be given"):
        transplant.main([str(tmp_path / "source"), "--output", str(tmp_path / "start")])
    with pytest.raises(SystemExit, match="A checkpoint must be a folder"):
        transplant.main(["none", "--vocabulary", str(tmp_path / "vocab.txt"), "--output", str(tmp_path / "start")])
    assert not (tmp_path / "start").exists()
