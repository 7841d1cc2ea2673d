"""Which preset reads a text: Hangul goes to the Korean one, by the command, in Python and on the page."""

import json

import pytest
from conftest import once_on_torch

from kbert import FillMask, SentencePair, WordPieceTokenizer
from kbert.cli import main
from kbert.convert import find_checkpoint
from kbert.inference.languages import ENGLISH, KOREAN, by_language, preset_for, reads

pytestmark = once_on_torch

TEXTS = {ENGLISH: "The cat sits on the [MASK].", KOREAN: "대한민국의 수도는 [MASK]이다."}


@pytest.mark.parametrize("text", ["대한민국", "BERT를", "ㅋㅋ", "\u1112\u1161\u11ab"])
def test_hangul_in_any_form_is_korean(text):
    assert preset_for(text) == preset_for("English", text) == KOREAN


@pytest.mark.parametrize("text", ["", "café", "東京", "カタカナ", "[MASK]"])
def test_anything_else_is_english(text):
    assert preset_for(text) == ENGLISH


def test_each_question_goes_to_its_preset():
    fill_mask, pair = by_language(FillMask), by_language(SentencePair)
    for name, text in TEXTS.items():
        assert fill_mask(text, top_k=3) == FillMask(name)(text, top_k=3)
        assert fill_mask([text], 2) == FillMask(name)([text], 2)
    first, second = "He studied law.", "그는 변호사가 되었다."
    assert pair(first, second) == SentencePair(KOREAN)(first, second) != pair(first, "He became a lawyer.")


def test_a_preset_is_opened_when_it_is_first_asked():
    opened = []

    def make(name):
        opened.append(name)
        return lambda text: name

    ask = by_language(make)
    assert opened == [] and ask(TEXTS[KOREAN]) == ask("나") == KOREAN and opened == [KOREAN]
    assert ask("a") == ENGLISH and opened == [KOREAN, ENGLISH]


def test_the_command_chooses_and_can_be_told(capsys):
    def words(*arguments):
        assert main(["fill-mask", *arguments, "--json"]) == 0
        return [candidate["word"] for candidate in json.loads(capsys.readouterr().out)[0]["candidates"]]

    for name, text in TEXTS.items():
        expected = [candidate.word for candidate in FillMask(name)(text)[0].candidates]
        assert words(text) == words(text, "--model", name) == expected
    other = [candidate.word for candidate in FillMask(ENGLISH)(TEXTS[KOREAN])[0].candidates]
    assert words(TEXTS[KOREAN], "--model", ENGLISH) == other != words(TEXTS[KOREAN])


def test_what_a_vocabulary_reads():
    tokenizers = {name: WordPieceTokenizer.from_folder(find_checkpoint(name)) for name in (ENGLISH, KOREAN)}
    assert reads(tokenizers[ENGLISH]) == ("en",)
    assert "ko" in reads(tokenizers[KOREAN])
