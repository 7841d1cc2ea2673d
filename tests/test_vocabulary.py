import pytest
from conftest import once

from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS, learn_vocabulary, read_vocabulary, write_vocabulary

pytestmark = once

TEXTS = ["low lower lowest slow slower", "The Café is near the cafe.", "나는 학교에 가서 공부를 했다."] * 20


def test_learnt_vocabulary_starts_with_special_and_reserved_tokens_and_keeps_to_its_size():
    tokens = learn_vocabulary(TEXTS, 90, reserved=3, min_frequency=1)
    assert tokens[:8] == [*SPECIAL_TOKENS, "[unused0]", "[unused1]", "[unused2]"]
    assert len(tokens) == 90
    assert {"low", "the"} <= set(tokens)


def test_the_same_texts_give_the_same_vocabulary_every_time():
    # Hash order differs between threads and runs; 85 cuts the learnt pieces off in the middle of a tie.
    assert len({tuple(learn_vocabulary(TEXTS, 85, min_frequency=1)) for _ in range(6)}) == 1


def test_every_text_it_was_learnt_from_is_covered():
    tokenizer = WordPieceTokenizer(learn_vocabulary(TEXTS, 120, min_frequency=1))
    unknown = tokenizer.token_to_id("[UNK]")
    assert all(unknown not in ids for ids in tokenizer.encode_batch(TEXTS))


def test_cased_and_uncased():
    uncased = learn_vocabulary(TEXTS, 200, min_frequency=1)
    cased = learn_vocabulary(TEXTS, 200, lowercase=False, min_frequency=1)
    assert "cafe" in uncased and "T" not in uncased
    assert "Café" in cased


def test_korean_syllables_stay_whole_only_when_accents_are_kept():
    whole = learn_vocabulary(TEXTS, 200, strip_accents=False, min_frequency=1)
    apart = learn_vocabulary(TEXTS, 200, min_frequency=1)
    assert any("학" in token for token in whole)
    assert not any("학" in token for token in apart)


def test_alphabet_limit_drops_the_rarest_characters():
    tokens = learn_vocabulary(["aaa bbb"] * 9 + ["z"], 50, limit_alphabet=2, min_frequency=1)
    assert "a" in tokens and "z" not in tokens


def test_of_equally_rare_characters_the_first_stay():
    syllables = [chr(ord("가") + 7 * number) for number in range(300)]
    texts = ["나는 " * 9, *(f"{one}{other}" for one, other in zip(syllables, syllables[::-1], strict=True))]
    for _ in range(4):
        tokens = learn_vocabulary(texts, 400, strip_accents=False, limit_alphabet=102, min_frequency=1)
        alphabet = {token.removeprefix("##") for token in tokens if len(token.removeprefix("##")) == 1}
        assert alphabet == {"나", "는", *syllables[:100]}
    assert tokens == learn_vocabulary(texts, 400, strip_accents=False, limit_alphabet=102, min_frequency=1)


def test_write_then_read_gives_the_same_tokens_even_odd_ones(tmp_path):
    tokens = [*SPECIAL_TOKENS, "\u2028", "##\u0085", "á"]
    write_vocabulary(tokens, tmp_path / "new" / "vocab.txt")
    assert read_vocabulary(tmp_path / "new" / "vocab.txt") == tokens


def test_windows_line_ends_are_read(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*SPECIAL_TOKENS, "a"]).encode())
    assert read_vocabulary(tmp_path / "vocab.txt")[-1] == "a"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", r"must hold .*\[MASK\]"),
        ("\n".join([*SPECIAL_TOKENS, "a", "b", "a"]), r"each token once.*'a'.*lines 6 and 8"),
        ("[PAD]\xff", "must be UTF-8"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        read_vocabulary(path)


def test_no_room_and_no_text_and_iterators_are_refused():
    with pytest.raises(ValueError, match=r"vocabulary_size=30, 5 \+ \d+ taken"):
        learn_vocabulary(TEXTS, 30)
    with pytest.raises(ValueError, match="Received: no text"):
        learn_vocabulary([" ", ""], 50)
    with pytest.raises(TypeError, match="Received: an iterator"):
        learn_vocabulary(iter(TEXTS), 90)


def test_special_tokens_in_the_texts_leave_no_capitals_in_an_uncased_vocabulary():
    learnt = learn_vocabulary(["A [MASK] and [unused0] in a text."] * 9, 60, reserved=1)
    assert not [token for token in learnt[6:] if token != token.lower()]
    assert "mask" in learnt
