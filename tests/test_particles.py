"""Korean particles as pieces of their own."""

import pytest
from conftest import once

from kbert.cli import main
from kbert.text.particles import set_particles_apart
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS, read_vocabulary

pytestmark = once

pytest.importorskip("kiwipiepy")

NOUNS = ["학교", "서울", "친구", "사람들", "집", "나", "영화"]
PARTICLES = ["##에", "##에서", "##는", "##은", "##이", "##이다", "##의", "##와"]


def apart(words, vocabulary_size=1000, more=()):
    alphabet = list("abc")
    tokens = [*SPECIAL_TOKENS, *alphabet, *words, *NOUNS, *PARTICLES, *more]
    return set_particles_apart(tokens, vocabulary_size)


def test_words_of_noun_and_particle_are_left_out():
    words = ["학교에", "학교에서", "서울이다", "사람들이", "친구와", "나는", "집에", "영화의"]
    assert not set(words) & set(apart(words))
    assert set(apart(words)) == set(apart([]))


def test_words_that_only_look_so_stay():
    # 결과 is not 결 + 과, nor 있는 a noun; in 내가 the pronoun looks different, and 누구 + 의 lacks its noun here.
    words = ["결과", "국가", "있는", "작은", "하지만", "고속도로", "내가", "누구의", "했다"]
    assert set(words) <= set(apart(words, more=["결", "##과", "국", "##가", "내"]))


def test_a_word_stays_if_one_of_its_parts_is_no_token():
    assert "학교로" in apart(["학교로"]) and "학교로" not in apart(["학교로"], more=["##로"])


def test_pieces_inside_a_word_follow_the_same_rule_but_particles_stay():
    found = apart(["##학교에", "##집에", "##때문에", "서울에서"], more=["##학교", "##집"])
    assert "##학교에" not in found and "서울에서" not in found
    assert {"##집에", "##때문에", "##에서"} <= set(found)  # A syllable; its noun is no ## token; a particle.


def test_particles_are_not_cut_off_with_the_rarest():
    found = apart(["학교에", "서울이다"], vocabulary_size=12)
    assert found == [*SPECIAL_TOKENS, "a", "b", "c", "##에", "##이다", "학교", "서울"]


def test_no_room_for_a_piece_is_refused():
    with pytest.raises(ValueError, match="vocabulary_size=8, 8 taken"):
        apart(["학교에"], vocabulary_size=8)


def test_the_command_splits_what_it_learnt_from(tmp_path):
    sentences = [
        "나는 학교에 가서 공부를 했다.",
        "학교는 서울에 있다.",
        "친구는 학교에서 서울로 갔다.",
        "서울의 학교와 친구",
    ]
    (tmp_path / "corpus.txt").write_text("\n\n".join(f"{one} {two}" for one in sentences for two in sentences))
    for language in ("ko", "en"):
        keep = ["--keep-accents"] * (language == "en")  # --language ko keeps syllables whole by itself.
        output = ["--output", str(tmp_path / language), "--size", "90", *keep, "--min-frequency", "1"]
        assert main(["vocab", str(tmp_path / "corpus.txt"), "--language", language, *output]) == 0
    tokens = read_vocabulary(tmp_path / "ko")
    assert len(tokens) <= 90
    tokenizer = WordPieceTokenizer(tokens, strip_accents=False)
    assert [tokens[token_id] for token_id in tokenizer.encode("학교에 서울의")] == ["학교", "##에", "서울", "##의"]
    assert "학교에" in read_vocabulary(tmp_path / "en")
