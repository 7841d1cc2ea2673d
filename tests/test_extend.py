import pytest
from conftest import once

from kbert.text.extend import extend_tokenizer, find_domain_words
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

pytestmark = once

PIECES = ["the", "heart", "card", "##io", "##my", "sten", "##t", "s", "##s", "val", "##ve"]
VOCABULARY = ["[PAD]", "[unused0]", *SPECIAL_TOKENS[1:], "[unused1]", *PIECES]


@pytest.fixture
def tokenizer():
    return WordPieceTokenizer(VOCABULARY, strip_accents=False, max_word_length=50)


def test_slots_first_then_the_end_and_no_other_id_moves(tokenizer):
    longer = extend_tokenizer(tokenizer, ["Stent", "heart", "valve", "stent", "cardio"])
    assert longer.vocabulary == ["[PAD]", "stent", *SPECIAL_TOKENS[1:], "valve", *PIECES, "cardio"]
    assert longer.settings == tokenizer.settings and tokenizer.vocabulary == VOCABULARY
    assert longer.encode("The Stent") == [7, 1]


def test_korean_words_are_counted_without_their_particles():
    pytest.importorskip("kiwipiepy")
    from kbert.text.particles import without_particle

    korean = WordPieceTokenizer([*SPECIAL_TOKENS, "환", "##자", "##에게", "##의", "##를"], strip_accents=False)
    texts = ["환자에게 환자의 환자를", "병원 환자의 빨리"]
    assert find_domain_words(texts, korean, root_of=without_particle) == ["환자"]
    assert find_domain_words(texts, korean) == ["환자의"]
    assert without_particle("빨리") == "빨리"


def test_what_is_not_one_word_is_refused(tokenizer):
    for word in ("x-ray", "", "two words"):
        with pytest.raises(ValueError, match="must be one word to BERT"):
            extend_tokenizer(tokenizer, [word])


def test_domain_words_by_frequency_without_those_known(tokenizer):
    texts = ["The valve, the STENT!", "stent stent valve heart.", "aorta"]
    assert find_domain_words(texts, tokenizer, min_frequency=1) == ["stent", "valve", "!", ",", ".", "aorta"]
    assert find_domain_words(texts, tokenizer, max_words=1) == ["stent"]
