import json
import random
import string
import subprocess
import sys

import pytest
from conftest import once

from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS, write_vocabulary

pytestmark = once

WORDS = "the cat play ##ing ##s un ##aff ##able cafe café 학교 ##에 中 国 . !".split()
VOCABULARY = [*SPECIAL_TOKENS, *WORDS, "mask", "[", "]", "a", "b", "##b"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(VOCABULARY)


def tokens(tokenizer, text):
    return [tokenizer.id_to_token(token_id) for token_id in tokenizer.encode(text)]


def test_longest_piece_first(tokenizer):
    assert tokens(tokenizer, "Unaffable cats playing!") == ["un", "##aff", "##able", "cat", "##s", "play", "##ing", "!"]


def test_a_word_that_cannot_be_covered_is_unknown_as_a_whole(tokenizer):
    assert tokens(tokenizer, "the catz") == ["the", "[UNK]"]


def test_chinese_characters_stand_alone_and_korean_words_do_not(tokenizer):
    assert tokens(tokenizer, "中国 학교에") == ["中", "国", "[UNK]"]  # Uncased strips accents: syllables come apart.
    kept = WordPieceTokenizer(VOCABULARY, strip_accents=False)
    assert tokens(kept, "中国 학교에") == ["中", "国", "학교", "##에"]


def test_accents_follow_lowercase_unless_said_otherwise(tokenizer):
    assert tokens(tokenizer, "CAFÉ") == ["cafe"]
    assert tokens(WordPieceTokenizer(VOCABULARY, lowercase=False), "café Café") == ["café", "[UNK]"]
    assert tokens(WordPieceTokenizer(VOCABULARY, strip_accents=False), "CAFÉ") == ["café"]


def test_special_tokens_in_text(tokenizer):
    assert tokens(tokenizer, "the [MASK].") == ["the", "[MASK]", "."]
    corpus = WordPieceTokenizer(VOCABULARY, special_tokens_in_text=False)
    assert tokens(corpus, "the [MASK].") == ["the", "[", "mask", "]", "."]


def test_pack_pair_segments_and_offsets(tokenizer):
    row = tokenizer.pack("The cat", "plays [MASK]")
    assert [tokenizer.id_to_token(i) for i in row.token_ids] == [
        "[CLS]", "the", "cat", "[SEP]", "play", "##s", "[MASK]", "[SEP]"
    ]  # fmt: skip
    assert row.segment_ids == [0, 0, 0, 0, 1, 1, 1, 1]
    assert row.offsets == [(0, 0), (0, 3), (4, 7), (0, 0), (0, 4), (4, 5), (6, 12), (0, 0)]


def test_decode_joins_pieces_and_keeps_special_tokens(tokenizer):
    row = tokenizer.pack("The [MASK] plays.")
    assert tokenizer.decode(row.token_ids) == "[CLS] the [MASK] plays. [SEP]"


def reference_truncation(first, second, room):
    # google-research/bert `_truncate_seq_pair`, in meaning: the longer one loses its last token, at a tie the second.
    first, second = list(first), list(second)
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    return first, second


def test_truncation_takes_from_the_longer_end(tokenizer):
    draw = random.Random(7)
    for _ in range(200):
        first, second = (" ".join(draw.choices("a b the cat".split(), k=draw.randint(1, 12))) for _ in range(2))
        length = draw.randint(5, 20)
        row = tokenizer.pack(first, second, max_sequence_length=length)
        kept = reference_truncation(tokenizer.encode(first), tokenizer.encode(second), length - 3)
        cls, sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        assert row.token_ids == [cls, *kept[0], sep, *kept[1], sep]
        assert len(row.token_ids) == len(row.segment_ids) == len(row.offsets) <= length


def test_truncation_of_one_text_and_no_room(tokenizer):
    assert len(tokenizer.pack("a b the cat a b", max_sequence_length=5).token_ids) == 5
    with pytest.raises(ValueError, match="max_sequence_length=4 for 2 texts"):
        tokenizer.pack("a", "b", max_sequence_length=4)


def test_decode_joins_pieces(tokenizer):
    assert tokenizer.decode(tokenizer.encode("unaffable cats playing.")) == "unaffable cats playing."


def test_a_word_longer_than_the_limit_is_unknown():
    tokenizer = WordPieceTokenizer(VOCABULARY, max_word_length=4)
    assert tokens(tokenizer, "abbb abbbb") == ["a", "##b", "##b", "##b", "[UNK]"]


@pytest.mark.parametrize("settings", [{}, {"lowercase": False}, {"strip_accents": False}, {"split_chinese": False}])
def test_a_saved_folder_reads_back_and_transformers_agrees(tmp_path, settings):
    transformers = pytest.importorskip("transformers")
    ours = WordPieceTokenizer(VOCABULARY, **settings)
    ours.save(tmp_path)
    again = WordPieceTokenizer.from_folder(tmp_path)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    draw = random.Random(0)
    alphabet = [
        "the ",
        "cat",
        "play",
        "ing",
        "É",
        "é",
        "中",
        "학교에",
        " ",
        "[MASK]",
        "\0",
        "\u200d",
        "!",
        "ß",
        "\t",
        "①",
    ]
    for _ in range(300):
        text = "".join(draw.choices(alphabet, k=draw.randint(1, 9)))
        expected = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode(text) == again.encode(text) == expected["input_ids"], repr(text)
        assert ours.pack(text).offsets[1:-1] == expected["offset_mapping"], repr(text)


def test_settings_come_from_the_folder_and_can_be_changed(tmp_path):
    WordPieceTokenizer(VOCABULARY, lowercase=False).save(tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["do_lower_case"] is False
    assert not WordPieceTokenizer.from_folder(tmp_path).lowercase
    assert WordPieceTokenizer.from_folder(tmp_path, lowercase=True).lowercase
    (tmp_path / "tokenizer_config.json").unlink()
    assert WordPieceTokenizer.from_folder(tmp_path).lowercase


def test_the_longest_word_travels(tmp_path):
    ours = WordPieceTokenizer(VOCABULARY, max_word_length=4)
    ours.save(tmp_path)
    assert tokens(WordPieceTokenizer.from_folder(tmp_path), "abbb abbbb") == ["a", "##b", "##b", "##b", "[UNK]"]
    (tmp_path / "tokenizer_config.json").unlink()
    ours._engine.save(str(tmp_path / "tokenizer.json"))  # As Hugging Face's own folders have it.
    assert WordPieceTokenizer.from_folder(tmp_path).max_word_length == 4


@pytest.mark.parametrize("letters", [string.ascii_uppercase, string.ascii_lowercase, "abcK"])
def test_a_folder_without_settings_keeps_case_if_its_vocabulary_does(tmp_path, letters):
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]) + "\n")
    assert WordPieceTokenizer.from_folder(tmp_path).lowercase == (letters != string.ascii_uppercase)


def test_missing_vocabulary_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="must hold vocab.txt"):
        WordPieceTokenizer.from_folder(tmp_path)


def test_text_loads_no_framework():
    frameworks = {"keras", "tensorflow", "jax", "torch"}
    code = f"import sys, kbert.text.tokenizer; sys.exit(bool({frameworks} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("tokens", "lowercase", "strip_accents"),
    [(["a"], True, None), (list(string.ascii_uppercase), False, None), (["학교", "a"], True, False)],
)
def test_a_vocabulary_file_alone_tells_case_and_accents(tmp_path, tokens, lowercase, strip_accents):
    write_vocabulary([*SPECIAL_TOKENS, *tokens], tmp_path / "vocab.txt")
    (tmp_path / "vocab.txt").rename(tmp_path / "words.txt")
    found = WordPieceTokenizer.from_vocabulary_file(tmp_path / "words.txt", special_tokens_in_text=False)
    assert (found.lowercase, found.strip_accents) == (lowercase, strip_accents)
    assert not found.special_tokens_in_text
    assert found.encode(tokens[0]) == [len(SPECIAL_TOKENS)]
    kept = WordPieceTokenizer.from_vocabulary_file(tmp_path / "words.txt", True, keep_accents=True)
    assert (kept.lowercase, kept.strip_accents) == (True, False)
    (tmp_path / "words.txt").rename(tmp_path / "vocab.txt")
    assert WordPieceTokenizer.from_folder(tmp_path).strip_accents is strip_accents  # As in Google's folders.
