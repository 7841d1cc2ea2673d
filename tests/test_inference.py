"""Answers of a small random model against the model itself and against transformers' pipeline."""

import keras
import numpy as np
import pytest

from kbert.config import BertConfig
from kbert.convert import load, save_checkpoint
from kbert.inference import FillMask, SentencePair
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "##s", "##ning", "학교", "##에", ".", ",", "home"]
TOKENS = [*SPECIAL_TOKENS, *WORDS]
CONFIG = BertConfig(
    vocabulary_size=len(TOKENS),
    num_layers=2,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=20,
    max_sequence_length=40,
    initializer_stddev=0.5,
)


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(TOKENS, strip_accents=False)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(5)
    return BertPretrainer(BertBackbone(CONFIG))


@pytest.fixture(scope="module")
def fill_mask(model, tokenizer):
    return FillMask(model, tokenizer)


@pytest.fixture(scope="module")
def sentence_pair(model, tokenizer):
    return SentencePair(model, tokenizer)


def logits(model, tokenizer, *texts):
    row = tokenizer.pack(*texts)
    positions = [i for i, token_id in enumerate(row.token_ids) if token_id == tokenizer.token_to_id("[MASK]")] or [0]
    inputs = {
        "token_ids": np.array([row.token_ids], "int32"),
        "segment_ids": np.array([row.segment_ids], "int32"),
        "padding_mask": np.ones((1, len(row.token_ids)), "int32"),
        "mask_positions": np.array([positions], "int32"),
    }
    outputs = model(inputs, training=False)
    return {name: keras.ops.convert_to_numpy(value)[0].astype("float64") for name, value in outputs.items()}


def test_probabilities_are_the_softmax_of_the_model_at_the_mask(fill_mask, model, tokenizer):
    text = "the cat [MASK] on a mat."
    (answer,) = fill_mask(text, top_k=len(TOKENS))
    expected = np.exp(logits(model, tokenizer, text)["mlm"][0])
    expected /= expected.sum()
    assert [c.token_id for c in answer.candidates] == np.argsort(-expected, kind="stable").tolist()
    for candidate in answer.candidates:
        assert candidate.probability == pytest.approx(expected[candidate.token_id], abs=1e-6)
        assert candidate.word == TOKENS[candidate.token_id]
    assert sum(candidate.probability for candidate in answer.candidates) == pytest.approx(1)


def test_several_masks_come_in_reading_order_with_their_places(fill_mask):
    text = "The [MASK] sat  on [MASK]."
    answers = fill_mask(text, top_k=3)
    assert [text[answer.start : answer.end] for answer in answers] == ["[MASK]", "[MASK]"]
    assert answers[0].start < answers[1].start
    assert {len(answer.candidates) for answer in answers} == {3}


def test_filled_text_keeps_case_and_spacing_and_joins_pieces(fill_mask):
    answers = fill_mask("The  CAT [MASK] home", top_k=len(TOKENS))
    texts = {candidate.word: candidate.text for candidate in answers[0].candidates}
    assert texts["ran"] == "The  CAT ran home"
    assert texts["##s"] == "The  CATs home"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("\tÇa  ÉTÉ\u00a0[MASK] 😀 Home", "\tÇa  ÉTÉ\u00a0cat 😀 Home"),
        ("Cafe\u0301 学校\u3000[MASK]!?", "Cafe\u0301 学校\u3000cat!?"),  # The accent is a code point of its own.
        ("the un[MASK]s", "the uncats"),
        ("[MASK]", "cat"),
    ],
)
def test_filled_text_differs_at_the_mask_only(fill_mask, text, filled):
    (mask,) = fill_mask(text, targets=["cat"])
    assert mask.candidates[0].text == filled
    (filling,) = fill_mask.jointly(text, 1, targets=["cat"])
    assert filling.text == filled


def test_masks_side_by_side_are_two(fill_mask):
    first, second = fill_mask("a [MASK][MASK]", targets=["cat"])
    assert (first.candidates[0].text, second.candidates[0].text) == ("a cat[MASK]", "a [MASK]cat")
    assert fill_mask.jointly("a [MASK][MASK]", 1, targets=["cat"])[0].text == "a catcat"


def test_a_batch_gives_the_answers_of_its_texts_alone(fill_mask):
    texts = ["the [MASK].", "a dog [MASK] on the mat, the cat sat on [MASK] mat.", "학교에 [MASK]"]
    for text, together in zip(texts, fill_mask(texts), strict=True):
        for one, other in zip(fill_mask(text), together, strict=True):
            assert (one.start, one.end) == (other.start, other.end)
            assert [c.token_id for c in one.candidates] == [c.token_id for c in other.candidates]
            np.testing.assert_allclose(
                [c.probability for c in one.candidates], [c.probability for c in other.candidates], atol=1e-6
            )


def test_transformers_pipeline_gives_the_same_words_and_scores(model, tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    save_checkpoint(model, tokenizer, tmp_path)
    theirs = transformers.pipeline(
        "fill-mask",
        model=transformers.BertForMaskedLM.from_pretrained(tmp_path),
        tokenizer=transformers.BertTokenizerFast.from_pretrained(tmp_path),
    )
    ours = FillMask(load(tmp_path))
    for text in ("the cat [MASK] on a mat.", "[MASK]", "학교에 [MASK] the dog."):
        expected = theirs(text, top_k=6)
        (answer,) = ours(text, top_k=6)
        assert [c.token_id for c in answer.candidates] == [row["token"] for row in expected]
        scores = [row["score"] for row in expected]
        np.testing.assert_allclose([c.probability for c in answer.candidates], scores, atol=1e-5)


def test_pair_probabilities_and_their_polarity(sentence_pair, model, tokenizer):
    first, second = "the cat sat on a mat.", "the dog ran home."
    verdict = sentence_pair(first, second)
    follows, random = logits(model, tokenizer, first, second)["nsp"]  # Column 0 = follows, 1 = random.
    assert verdict.follows == pytest.approx(1 / (1 + np.exp(random - follows)), abs=1e-6)
    assert verdict.follows + verdict.random == pytest.approx(1)
    assert sentence_pair([first, second], [second, first])[0].follows == pytest.approx(verdict.follows, abs=1e-6)


def test_more_pairs_than_a_batch_keep_their_places(sentence_pair):
    firsts, seconds = ["the cat sat.", "a dog"] * 20, ["home"] * 39 + ["the mat ran on the dog."]
    verdicts = sentence_pair(firsts, seconds)
    assert len(verdicts) == 40
    for place in (1, 38, 39):
        assert verdicts[place].follows == pytest.approx(sentence_pair(firsts[place], seconds[place]).follows, abs=1e-6)
    assert verdicts[37].follows != pytest.approx(verdicts[39].follows, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the cat sat.", r"at least one \[MASK\].*Received: 'the cat sat\.'"),
        ("", "at least one word"),
        ("   ", "at least one word"),
    ],
)
def test_texts_that_cannot_be_answered_get_a_sentence(fill_mask, text, message):
    with pytest.raises(ValueError, match=message):
        fill_mask(text)


def test_longest_text_that_fits_is_answered(fill_mask):
    assert len(fill_mask("cat " * 37 + "[MASK]")) == 1


@pytest.mark.parametrize("top_k", [0, len(TOKENS) + 1])
def test_top_k_out_of_range(fill_mask, top_k):
    with pytest.raises(ValueError, match=f"between 1 and {len(TOKENS)}.*top_k={top_k}"):
        fill_mask("[MASK]", top_k=top_k)


def test_pair_refusals(sentence_pair):
    with pytest.raises(ValueError, match="at least one word"):
        sentence_pair("the cat", " ")
    with pytest.raises(ValueError, match="at most 40 tokens"):
        sentence_pair("cat " * 30, "dog " * 30)
    with pytest.raises(TypeError, match="must be a string. Received: NoneType"):
        sentence_pair("the cat", None)


def test_random_heads_are_refused(model, tokenizer, tmp_path):
    import safetensors.numpy

    save_checkpoint(model, tokenizer, tmp_path)
    path = tmp_path / "model.safetensors"
    weights = {name: value for name, value in safetensors.numpy.load_file(path).items() if not name.startswith("cls.")}
    safetensors.numpy.save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"trained weights for mlm.*without mlm.*--init"):
        FillMask(tmp_path)
    with pytest.raises(ValueError, match=r"trained weights for pooler, nsp.*without nsp"):
        SentencePair(tmp_path)


def test_a_model_needs_its_tokenizer(model):
    with pytest.raises(ValueError, match="must come with its tokenizer"):
        FillMask(model)
