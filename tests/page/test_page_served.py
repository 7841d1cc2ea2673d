"""The page in front of a served model, driven in a real browser."""

import pytest
from served import serve as serve_model

from demo.served_model import _languages, open_served_model
from kbert import FillMask, SentencePair
from kbert.inference.languages import ENGLISH, KOREAN, by_language
from page.page_driver import expect_bars, open_tab, show, text_box


@pytest.fixture(scope="module")
def model_server(exported):
    with serve_model(exported[1].parent, "--name", "bert") as served:
        yield served


def test_answers_are_those_of_the_model(exported, model_server):
    model = open_served_model(model_server[0], {})
    text = "the cat[MASK] ran [MASK] . " + "the dog ran home . " * 9
    for served, own in zip(model.fill_mask(text, 6), FillMask(exported[0])(text, 6), strict=True):
        assert (served.start, served.end, served.window) == (own.start, own.end, own.window)
        assert [one.text for one in served.candidates] == [one.text for one in own.candidates]
    firsts, seconds = ["the cat", "a dog"], ["ran home", "sat ."]
    follows = [verdict.follows for verdict in SentencePair(exported[0])(firsts, seconds)]
    assert [verdict.follows for verdict in model.sentence_pair(firsts, seconds)] == pytest.approx(follows, abs=1e-5)
    with pytest.raises(ValueError, match="A text must hold at least one .MASK.. Received: 'the cat'"):
        model.fill_mask("the cat")
    with pytest.raises(ValueError, match="at least one word"):
        model.sentence_pair("the cat", " ")
    with pytest.raises(ValueError, match="An address must be http"):
        open_served_model("bert", {})


def test_the_examples_are_in_the_language_of_the_model():
    assert _languages(FillMask(ENGLISH)) == ("en",)
    assert "ko" in _languages(FillMask(KOREAN))
    assert _languages(by_language(FillMask)) == ("en", "ko")


def test_the_page_shows_what_the_server_answers(browser, exported, model_server):
    from playwright.sync_api import expect

    url, process = model_server
    text, pair = "the [MASK] sat on a [MASK] .", ("the cat sat", "on a mat")
    with show("--serving", url) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.get_by_role("tab")).to_have_text(["Fill mask", "Sentence pair", "Tokens", "About"])
        expect(page.get_by_label("Only these words")).to_have_count(0)
        text_box(page).fill(text)
        text_box(page).press("Enter")
        masks = FillMask(exported[0])(text)
        expect_bars(page, [(one.word, one.probability) for mask in masks for one in mask.candidates])
        expect(page.locator(".kb-excerpt mark")).to_have_count(2)
        open_tab(page, "Sentence pair")
        page.get_by_label("First sentence").fill(pair[0])
        page.get_by_label("Second sentence").fill(pair[1])
        page.get_by_role("button", name="Compare").click()
        verdict = SentencePair(exported[0])(*pair)
        expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])
        process.terminate()
        process.wait(timeout=20)
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert")).to_contain_text("The model's server must answer. Received: ")
        page.close()
    with pytest.raises(ValueError, match="The model's server must answer. Received: .* Start it"):
        open_served_model(url, {})
