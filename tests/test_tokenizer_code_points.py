"""Every Unicode code point through our tokenizer and transformers', and the differences from Google's code of 2018."""

import itertools
import os
import pathlib
import unicodedata

import pytest
from conftest import once

from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

pytestmark = once

transformers = pytest.importorskip("transformers")

LETTERS = "abeizß.!$中国豈①학에ᄒς"
VOCABULARY = [*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
OFFICIAL = {
    "bert-base-uncased": {},
    "bert-base-cased": {"lowercase": False},
    "bert-base-multilingual-cased": {"lowercase": False},
    "bert-base-chinese": {},
    "kcbert": {"lowercase": False},
    "koelectra-v3": {"lowercase": False},
}


def assert_equal_on_every_code_point(tokenizer, folder):
    """Alone, before, after and inside a word: ids and offsets. Returns the number of texts compared."""
    tokenizer.save(folder)
    theirs = transformers.BertTokenizerFast.from_pretrained(folder)
    characters = (chr(code_point) for code_point in range(0x110000) if not 0xD800 <= code_point < 0xE000)
    num_texts = 0
    while batch := list(itertools.islice(characters, 16384)):
        texts = [
            text for character in batch for text in (character, f"{character}ab", f"ab{character}", f"a{character}b")
        ]
        expected = theirs(texts, add_special_tokens=False, return_offsets_mapping=True)
        ids = tokenizer.encode_batch(texts)
        assert ids == expected["input_ids"]
        for text, offsets in zip(texts, expected["offset_mapping"], strict=True):
            if not text.isascii():  # `pack` is the slow way; unchanged text is covered by the first comparison.
                assert tokenizer.pack(text).offsets[1:-1] == offsets, repr(text)
        num_texts += len(texts)
    return num_texts


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"lowercase": False}, {"strip_accents": False}], ids=str)
def test_every_code_point_is_split_as_in_transformers(settings, tmp_path):
    assert assert_equal_on_every_code_point(WordPieceTokenizer(VOCABULARY, **settings), tmp_path) == 4 * 1_112_064


@pytest.mark.slow
@pytest.mark.skipif("KBERT_VOCABULARIES" not in os.environ, reason="set KBERT_VOCABULARIES to a folder of vocab files")
@pytest.mark.parametrize("name", OFFICIAL)
def test_every_code_point_with_official_vocabularies(name, tmp_path):
    path = pathlib.Path(os.environ["KBERT_VOCABULARIES"], f"{name}.txt")
    assert assert_equal_on_every_code_point(WordPieceTokenizer(path, **OFFICIAL[name]), tmp_path) == 4 * 1_112_064


@pytest.mark.parametrize("settings", [{}, {"lowercase": False}, {"strip_accents": False}], ids=str)
def test_every_code_point_in_a_word_as_in_transformers(settings, tmp_path):
    # Quick: 512 code points a text, each inside a word.
    ours = WordPieceTokenizer(VOCABULARY, **settings)
    ours.save(tmp_path)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    words = [f"a{chr(code_point)}b" for code_point in range(0x110000) if not 0xD800 <= code_point < 0xE000]
    texts = [" ".join(words[start : start + 512]) for start in range(0, len(words), 512)]
    expected = theirs(texts, add_special_tokens=False, return_offsets_mapping=True)
    assert ours.encode_batch(texts) == expected["input_ids"]
    for text, offsets in zip(texts, expected["offset_mapping"], strict=True):
        assert ours.pack(text).offsets[1:-1] == offsets


def google_clean(text):
    # google-research/bert `BasicTokenizer._clean_text`, in meaning.
    def kind(character):
        category = unicodedata.category(character)
        if character in "\t\n\r" or category == "Zs":
            return "blank"
        return "deleted" if character in "\0\ufffd" or category in ("Cc", "Cf") else "kept"

    return [kind(character) for character in text]


def test_what_google_deletes_is_deleted_and_private_use_characters_besides():
    # Python and `tokenizers` know different Unicode versions: only characters old enough for both are compared.
    tokenizer = WordPieceTokenizer(VOCABULARY, split_chinese=False)
    differing = set()
    for code_point in range(0x110000):
        character = chr(code_point)
        if unicodedata.ucd_3_2_0.category(character) in ("Cn", "Cs", "Mn") or unicodedata.category(character) == "Mn":
            continue
        kind = google_clean(character)[0]
        num_words = len(tokenizer.split_words(f"a{character}b"))
        deleted = num_words == 1 and tokenizer.split_words(f"a{character}b") == ["ab"]
        if deleted != (kind == "deleted"):
            differing.add(unicodedata.category(character))
    assert differing == {"Co"}


def test_a_final_sigma_is_the_plain_one():
    assert WordPieceTokenizer(VOCABULARY).split_words("ΟΔΟΣ") == ["οδοσ"] != ["ΟΔΟΣ".lower()]
