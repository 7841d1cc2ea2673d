"""Given words at a mask, against products of the model's own probabilities taken row by row."""

import itertools

import numpy as np
import pytest
from tiny_model import MASK_ID, TOKENS, make_model, make_tokenizer, read_log_probabilities

from kbert.inference import FillMask
from kbert.inference.targets import score_targets


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def fill_mask(model):
    return FillMask(model, make_tokenizer())


def chain(model, before, pieces, after):
    """The rule, written out: each piece with the ones before it filled in and the ones after it masked."""
    total = 0.0
    for done in range(len(pieces)):
        row = [*before, *pieces[:done], *[MASK_ID] * (len(pieces) - done), *after]
        total += read_log_probabilities(model, row)[len(before) + done, pieces[done]]
    return total


def test_words_of_one_and_of_several_pieces(fill_mask, model):
    words = {"dogs": ["dog", "##s"], "Cat": ["cat"], "running": ["ran", "##ning"], "##s": ["##s"]}
    words |= {"a mat.": ["a", "mat", "."]}
    del words["running"]  # "run" is no token; "ranning" is spelled below.
    words["ranning"] = ["ran", "##ning"]
    (mask,) = fill_mask("The  [MASK], the cat", targets=list(words))
    cls, sep, ids = TOKENS.index("[CLS]"), TOKENS.index("[SEP]"), TOKENS.index
    expected = {
        word: chain(model, [cls, ids("the")], [ids(piece) for piece in pieces], [ids(","), ids("the"), ids("cat"), sep])
        for word, pieces in words.items()
    }
    assert [candidate.word for candidate in mask.candidates] == sorted(expected, key=expected.get, reverse=True)
    for candidate in mask.candidates:
        assert np.log(candidate.probability) == pytest.approx(expected[candidate.word], abs=1e-5)
        pieces = words[candidate.word]
        assert candidate.token_id == (ids(pieces[0]) if len(pieces) == 1 else None)
    texts = {candidate.word: candidate.text for candidate in mask.candidates}
    assert texts["a mat."] == "The  a mat., the cat" and texts["Cat"] == "The  Cat, the cat"
    assert texts["##s"] == "Thes, the cat"


def test_a_word_of_one_piece_has_its_probability_of_the_whole_vocabulary(fill_mask):
    texts = ["[MASK] ran on [MASK].", "the [MASK]"]
    everything = fill_mask(texts, top_k=len(TOKENS))
    for masks, asked in zip(everything, fill_mask(texts, targets=["mat", "home"]), strict=True):
        for mask, answer in zip(masks, asked, strict=True):
            all_words = {candidate.word: candidate.probability for candidate in mask.candidates}
            assert {candidate.word for candidate in answer.candidates} == {"mat", "home"}
            for candidate in answer.candidates:
                assert candidate.probability == pytest.approx(all_words[candidate.word], abs=1e-6)


def test_all_words_of_two_pieces_sum_to_1(fill_mask):
    pairs = [("", pieces) for pieces in itertools.product(range(len(TOKENS)), repeat=2)]
    row = (2, 5, MASK_ID, 12, 3)
    (scores,) = score_targets(fill_mask.source, [(row, 2)], pairs)
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-5)
    assert max(np.exp(scores)) < 0.99


def test_top_k_cuts_the_targets_from_the_end(fill_mask):
    words = ["mat", "home", "dogs", "cat"]
    (every,), (two,) = fill_mask("a [MASK]", targets=words), fill_mask("a [MASK]", top_k=2, targets=words)
    assert len(every.candidates) == 4 and two.candidates == every.candidates[:2]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([], r"list of words.*Received: targets=\[\]"),
        ("cat", "list of words.*Received: targets='cat'"),
        (["cat", "zebra"], r"can spell. Received: 'zebra', tokens \['\[UNK\]'\]"),
        ([" "], r"can spell. Received: ' ', tokens \[\]"),
        (["a [MASK]"], r"can spell. Received: 'a \[MASK\]'"),
    ],
)
def test_targets_that_cannot_be_scored_are_refused(fill_mask, targets, message):
    with pytest.raises(ValueError, match=message):
        fill_mask("the [MASK]", targets=targets)
