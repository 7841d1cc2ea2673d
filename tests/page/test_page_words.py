"""Words to choose from, all masks together, and the surprise of each word, driven in a real browser."""

import math

import gradio_client
import pytest

from demo.surprise import surprise_of_words
from kbert import ScoreText
from kbert.inference.score import TokenScore
from page.page_driver import EXAMPLES, both_widths, expect_bars, text_box

WORDS = ["river", "city", "law"]


@both_widths
def test_words_to_choose_from_at_each_mask_and_at_all_together(page, fill_mask):
    from playwright.sync_api import expect

    text_box(page).fill(EXAMPLES[2])
    page.get_by_label("Only these words").fill(" river, city ,law,")
    page.get_by_label("Only these words").press("Enter")
    masks = fill_mask(EXAMPLES[2], targets=WORDS)
    expect_bars(page, [(one.word, one.probability) for mask in masks for one in mask.candidates])
    page.get_by_label("All masks together").check()
    found = fill_mask.jointly(EXAMPLES[2], 5, WORDS)
    expect_bars(page, [(" · ".join(one.words), math.exp(one.log_probability)) for one in found])
    page.get_by_label("Only these words").fill("\u2603")
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("A target must be a word that the vocabulary can spell")


@both_widths
def test_surprise_colours_the_words_and_a_pressed_word_is_masked(page, checkpoint, fill_mask):
    from playwright.sync_api import expect

    text = "He studied law. <b>The</b> river"
    text_box(page).fill(text)
    page.get_by_role("button", name="Colour the words").click()
    words = page.locator(".kb-words button")
    expect(words).to_have_text(["He", "studied", "law", ".", "<", "b", ">", "The", "<", "/", "b", ">", "river"])
    score = ScoreText(checkpoint)(text)
    expect(page.locator(".kb-surprise .kb-note").first).to_contain_text(f"{score.perplexity:,.1f}")
    surprises = [surprise for *_, surprise in surprise_of_words(text, score.tokens)]
    assert sum(surprises) == pytest.approx(-score.log_likelihood)
    shares = words.evaluate_all("all => all.map(one => +one.style.getPropertyValue('--share'))")
    assert shares == [pytest.approx(min(1, surprise / 10), abs=0.006) for surprise in surprises]
    assert words.nth(2).get_attribute("title").startswith(f"surprise {surprises[2]:.1f} (probability ")
    words.nth(2).press("Enter")
    expect(text_box(page)).to_have_value("He studied [MASK]. <b>The</b> river")
    expect_bars(page, [(one.word, one.probability) for one in fill_mask(text_box(page).input_value())[0].candidates])
    words.nth(12).click()
    expect(text_box(page)).to_have_value("He studied [MASK]. <b>The</b> [MASK]")
    words.nth(2).click()
    expect(text_box(page)).to_have_value("He studied law. <b>The</b> [MASK]")
    page.get_by_role("button", name="Colour the words").click()
    (best,) = fill_mask.jointly("He studied law. <b>The</b> [MASK]", 1)
    expect(page.locator(".kb-words")).to_have_text(best.text)
    expect(page.locator(".kb-surprise .kb-note").first).to_have_text(f"The model filled [MASK] with: {best.words[0]}")
    text_box(page).fill("He studied the law.")  # Words of another text would overwrite it when they are pressed.
    expect(words).to_have_count(0)
    text_box(page).fill("[MASK] " * 21)
    page.get_by_role("button", name="Colour the words").click()
    expect(page.get_by_role("alert")).to_contain_text("at most 20 masks. Received: 21 masks.")
    text_box(page).fill("long " * 300)
    page.get_by_role("button", name="Colour the words").click()
    expect(page.get_by_role("alert")).to_contain_text("at most 1,000 characters")


def test_endpoints_of_words_and_surprise(address, checkpoint, fill_mask):
    ask = gradio_client.Client(address, verbose=False, analytics_enabled=False).predict
    (mask,) = ask(EXAMPLES[0], 2, WORDS, api_name="/fill_mask")
    assert [one["word"] for one in mask["candidates"]] == [
        one.word for one in fill_mask(EXAMPLES[0], 2, WORDS)[0].candidates
    ]
    joint = ask(EXAMPLES[2], 3, api_name="/fill_jointly")
    assert [one["text"] for one in joint] == [one.text for one in fill_mask.jointly(EXAMPLES[2], 3)]
    score = ask("He studied law.", api_name="/score")
    assert score["perplexity"] == pytest.approx(ScoreText(checkpoint)("He studied law.").perplexity, rel=1e-4)
    with pytest.raises(gradio_client.exceptions.AppError, match="A text to score must be whole"):
        ask(EXAMPLES[0], api_name="/score")
    with pytest.raises(gradio_client.exceptions.AppError, match="at most 50 words to choose from. Received: 51"):
        ask(EXAMPLES[0], 2, ["law"] * 51, api_name="/fill_mask")


def test_the_surprise_of_a_word_is_the_sum_of_its_tokens():
    tokens = [TokenScore("play", 0, 4, 1.0), TokenScore("##ing", 4, 7, 2.0), TokenScore(",", 7, 8, 4.0)]
    tokens += [TokenScore("école", 9, 14, 8.0), TokenScore("now", 15, 18, 16.0)]
    text = "playing, école now"
    assert surprise_of_words(text, tokens) == [(0, 7, 3.0), (7, 8, 4.0), (9, 14, 8.0), (15, 18, 16.0)]
