"""The answers transformers gives for the same folder: 200 sentences, targets, pairs, scores, each layer, each token."""

import json
import re
from pydoc_data.topics import topics

import keras
import numpy as np
import pytest
from conftest import once_on_torch
from tiny_model import TOKENS, WORDS, make_model, make_tokenizer

from kbert.convert import find_checkpoint, load, save_checkpoint
from kbert.inference import EmbedText, FillMask, ScoreText, SentencePair, extract_features

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    # Smaller weights than elsewhere: float32 of five layers then stays within 1e-5 of float64.
    save_checkpoint(make_model(initializer_stddev=0.3), make_tokenizer(), folder)
    return folder


@pytest.fixture(scope="module")
def checkpoint(folder):
    return load(folder)


@pytest.fixture(scope="module")
def their_tokenizer(folder):
    return transformers.BertTokenizerFast.from_pretrained(folder)


@pytest.fixture(scope="module")
def their_hidden_states(folder, their_tokenizer):
    model = load_theirs("BertModel", folder, output_hidden_states=True)

    def answer(*texts, **options):
        inputs = their_tokenizer(*texts, return_tensors="pt", **options)
        with torch.no_grad():
            states = model(**inputs).hidden_states
        return inputs["input_ids"][0].tolist(), [state[0].numpy() for state in states]

    return answer


def load_theirs(kind, folder, **options):
    """Their model, computing in float64.

    By itself it takes the type of the file, for the preset float16; and in float32 PyTorch's softmax over 30,522 words
    sums to 1 + 2e-5 at times, which alone is more than the difference allowed here.
    """
    return getattr(transformers, kind).from_pretrained(folder, dtype="float64", **options).eval()


def compare_fill_mask(folder, checkpoint, sentences, top_k):
    theirs = transformers.pipeline(
        "fill-mask",
        model=load_theirs("BertForMaskedLM", folder),
        tokenizer=transformers.BertTokenizerFast.from_pretrained(folder),
    )
    for sentence, masks in zip(sentences, FillMask(checkpoint)(sentences, top_k=top_k), strict=True):
        expected = theirs(sentence, top_k=top_k)
        expected = [expected] if len(masks) == 1 else expected  # A list a mask, but for one mask the list itself.
        for mask, rows in zip(masks, expected, strict=True):
            probabilities = [candidate.probability for candidate in mask.candidates]
            np.testing.assert_allclose(probabilities, [row["score"] for row in rows], atol=1e-5)
            ours, scores = [candidate.token_id for candidate in mask.candidates], [row["score"] for row in rows]
            for place, row in enumerate(rows):
                # Scores closer than float32 tells apart may stand either way round.
                same = [token for token, score in zip(ours, scores, strict=True) if abs(score - scores[place]) < 1e-6]
                assert row["token"] == ours[place] or row["token"] in same


def test_200_sentences_with_random_weights(folder, checkpoint):
    generator = np.random.default_rng(3)
    words = [*(word.removeprefix("##") for word in WORDS), "Cats", "zebra", "[MASK]"]
    sentences = []
    for _ in range(200):
        sentence = generator.choice(words, generator.integers(1, 30)).tolist()
        sentence.insert(generator.integers(len(sentence) + 1), "[MASK]")
        sentences.append(" ".join(sentence))
    assert sum(sentence.count("[MASK]") > 1 for sentence in sentences) > 50
    compare_fill_mask(folder, checkpoint, sentences, top_k=len(TOKENS))


def english_sentences(count):
    """The first sentences of Python's own manual, each once, of 8 to 40 words."""
    sentences = {}
    for text in topics.values():
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            if 8 <= len(sentence.split(" ")) <= 40 and sentence[0].isupper() and sentence.isascii():
                sentences[sentence] = None
    return list(sentences)[:count]


@once_on_torch
def test_200_sentences_with_the_preset():
    generator, sentences = np.random.default_rng(7), []
    for sentence in english_sentences(200):
        words = sentence.split(" ")
        words[generator.integers(len(words))] = "[MASK]"
        sentences.append(" ".join(words))
    assert len(sentences) == 200
    compare_fill_mask(find_checkpoint("kbert-small-en"), load("kbert-small-en"), sentences, top_k=5)


def test_targets_of_one_piece(folder, checkpoint, their_tokenizer):
    theirs = transformers.pipeline("fill-mask", model=load_theirs("BertForMaskedLM", folder), tokenizer=their_tokenizer)
    words = ["mat", "home", "cat", "학교", "##s", "dog"]
    for sentence in ("The  cat [MASK] on a mat.", "[MASK]", "학교에 dog, [MASK] ran"):
        expected = theirs(sentence, targets=words, top_k=len(words))
        (mask,) = FillMask(checkpoint)(sentence, targets=words)
        assert [candidate.token_id for candidate in mask.candidates] == [row["token"] for row in expected]
        scores = [row["score"] for row in expected]
        np.testing.assert_allclose([candidate.probability for candidate in mask.candidates], scores, atol=1e-5)


def test_pairs(folder, checkpoint, their_tokenizer):
    model = load_theirs("BertForNextSentencePrediction", folder)
    pairs = [("the cat sat.", "a dog ran home"), ("학교에", "the"), ("the mat, a dog ran home on the mat.", "cats")]
    for pair, verdict in zip(pairs, SentencePair(checkpoint)(*zip(*pairs, strict=True)), strict=True):
        with torch.no_grad():
            logits = model(**their_tokenizer(*pair, return_tensors="pt")).logits[0]
        follows, random = logits.softmax(-1).tolist()  # Their label 0 is "is the next sentence".
        assert (verdict.follows, verdict.random) == pytest.approx((follows, random), abs=1e-5)


def compare_scores(folder, checkpoint, texts):
    """The loop of Salazar et al.: one row with one mask a pass."""
    model = load_theirs("BertForMaskedLM", folder)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    for text, score in zip(texts, ScoreText(checkpoint)(texts), strict=True):
        inputs = tokenizer(text, return_tensors="pt")
        ids, expected = inputs["input_ids"][0].clone(), []
        for position in range(1, len(ids) - 1):
            masked = ids.clone()
            masked[position] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(**inputs | {"input_ids": masked[None]}).logits[0, position]
            expected.append(-logits.log_softmax(-1)[ids[position]].item())
        assert [token.token for token in score.tokens] == tokenizer.convert_ids_to_tokens(ids[1:-1].tolist())
        np.testing.assert_allclose([token.surprise for token in score.tokens], expected, atol=1e-4)
        assert score.log_likelihood == pytest.approx(-sum(expected), rel=1e-5)
        assert score.perplexity == pytest.approx(np.exp(np.mean(expected)), rel=1e-4)


def test_scores_with_random_weights(folder, checkpoint):
    compare_scores(folder, checkpoint, ["the cats ran home.", "학교에 zebra", "a mat, a dog, a cat on the mat"])


@once_on_torch
def test_scores_with_the_preset():
    compare_scores(find_checkpoint("kbert-small-en"), load("kbert-small-en"), english_sentences(2))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", ["embeddings", "last", "second_to_last", "sum_last_four", "concat_last_four"])
def test_vectors_are_their_layers_pooled(checkpoint, their_hidden_states, layers, pooling):
    texts = ["the cat sat.", "a dog ran home on the mat, the cat ran", ("the dogs", "학교에 sat home.")]
    expected = []
    for text in texts:
        _, states = their_hidden_states(*([text] if isinstance(text, str) else text))
        combined = {
            "embeddings": states[0],
            "last": states[5],
            "second_to_last": states[4],
            "sum_last_four": states[2] + states[3] + states[4] + states[5],
            "concat_last_four": np.concatenate(states[2:], axis=-1),
        }[layers]
        expected.append(combined.mean(0) if pooling == "mean" else combined[0])
    embed = EmbedText(checkpoint, layers=layers, pooling=pooling)
    tolerance = 4e-5 if layers == "sum_last_four" else 1e-5  # 1e-5 a layer.
    np.testing.assert_allclose(embed(texts), expected, atol=tolerance)
    np.testing.assert_allclose(embed(texts[2]), expected[2], atol=tolerance)


def test_features_have_googles_layout_and_their_numbers(checkpoint, their_hidden_states, their_tokenizer):
    lines = ["The cats sat .\n", "the dog ||| ran home, 학교에\n", "\n", "a ||| b ||| the cat", "cat " * 30, "a |||"]
    written = [json.loads(json.dumps(row)) for row in extract_features(checkpoint, lines, (-1, -3), None, 17)]
    assert [row["linex_index"] for row in written] == list(range(6))
    for line, row in zip(lines, written, strict=True):
        parts = line.strip().rsplit(" ||| ", 1)
        token_ids, states = their_hidden_states(*parts, truncation="longest_first", max_length=17)
        assert [feature["token"] for feature in row["features"]] == their_tokenizer.convert_ids_to_tokens(token_ids)
        for position, feature in enumerate(row["features"]):
            assert [layer["index"] for layer in feature["layers"]] == [-1, -3]
            for layer, state in zip(feature["layers"], (states[5], states[3]), strict=True):
                np.testing.assert_allclose(layer["values"], state[position], atol=1.1e-5)
                assert all(value == round(value, 6) for value in layer["values"])


def test_other_weights_give_other_answers(folder):
    """The comparison can fail."""
    checkpoint = load(folder)
    bias = checkpoint.model.mlm_head.bias
    bias.assign(keras.ops.convert_to_numpy(bias) + np.linspace(0, 1e-2, len(TOKENS)))
    with pytest.raises(AssertionError):
        compare_fill_mask(folder, checkpoint, ["the cat [MASK]", "[MASK] ran"], top_k=len(TOKENS))
