import keras
import numpy as np
import pytest

from kbert import BertBackbone, BertConfig, BertPretrainer, WordPieceTokenizer
from kbert.models.resize import resize_vocabulary
from kbert.text.extend import extend_tokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

PIECES = ["the", "heart", "card", "##io", "##my", "sten", "##t", "s", "##s", "val", "##ve"]
VOCABULARY = ["[PAD]", "[unused0]", *SPECIAL_TOKENS[1:], "[unused1]", *PIECES]


@pytest.fixture
def tokenizer():
    return WordPieceTokenizer(VOCABULARY, strip_accents=False, max_word_length=50)


def outputs(model, token_ids):
    ones = np.ones_like(token_ids)
    inputs = {"token_ids": token_ids, "segment_ids": ones * 0, "padding_mask": ones, "mask_positions": ones[:, :3] * 2}
    return {name: keras.ops.convert_to_numpy(value) for name, value in model(inputs).items()}


def random_model(**settings):
    config = BertConfig(
        vocabulary_size=len(VOCABULARY), num_layers=2, num_heads=3, hidden_dim=12, intermediate_dim=20,
        max_sequence_length=9,
    )  # fmt: skip
    model = BertPretrainer(BertBackbone(config), **settings)
    draw = np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(draw.normal(size=weight.shape).astype("float32"))
    return model


@pytest.mark.parametrize("tied", [True, False])
def test_a_resized_model_gives_its_other_answers_as_before(tokenizer, tied):
    model = random_model(tied_decoder=tied)
    longer = extend_tokenizer(tokenizer, ["stent", "valve", "cardio", "stents"])
    resized = resize_vocabulary(model, tokenizer, longer)
    assert resized.tied_decoder is tied
    token_ids = np.array([[3, 7, 5, 9, 10, 4], [3, 14, 5, 15, 8, 4]])
    before, after = outputs(model, token_ids), outputs(resized, token_ids)
    np.testing.assert_allclose(after["nsp"], before["nsp"], rtol=1e-6)
    kept = [i for i, token in enumerate(VOCABULARY) if not token.startswith("[unused")]
    np.testing.assert_allclose(after["mlm"][:, :, kept], before["mlm"][:, :, kept], rtol=1e-5, atol=1e-5)
    # A new word's logit: the mean of its pieces' logits, less 10.
    for word, pieces in (("stent", ["sten", "##t"]), ("cardio", ["card", "##io"]), ("stents", ["sten", "##t", "##s"])):
        expected = before["mlm"][:, :, [VOCABULARY.index(piece) for piece in pieces]].mean(-1) - 10
        np.testing.assert_allclose(after["mlm"][:, :, longer.token_to_id(word)], expected, rtol=1e-4, atol=1e-4)


def test_a_new_embedding_is_the_mean_of_its_pieces(tokenizer):
    model = random_model()
    longer = extend_tokenizer(tokenizer, ["valve", "zzz"])
    tables = [
        keras.ops.convert_to_numpy(a_model.backbone.embeddings.token_embedding.embeddings)
        for a_model in (model, resize_vocabulary(model, tokenizer, longer))
    ]
    pieces = [VOCABULARY.index(piece) for piece in ("val", "##ve")]
    np.testing.assert_allclose(tables[1][longer.token_to_id("valve")], tables[0][pieces].mean(0), rtol=1e-6)
    unknown = longer.token_to_id("[UNK]")  # All there is for a word without pieces.
    np.testing.assert_array_equal(tables[1][longer.token_to_id("zzz")], tables[0][unknown])
    assert tables[1].shape == tables[0].shape


def test_another_tokenizer_is_refused(tokenizer):
    with pytest.raises(ValueError, match="Received: 19 tokens, vocabulary_size=18"):
        resize_vocabulary(random_model(), extend_tokenizer(tokenizer, ["a", "b", "c"]), tokenizer)
