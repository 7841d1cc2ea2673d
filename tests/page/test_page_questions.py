"""The tabs "Fill mask" and "Sentence pair", driven in a real browser."""

import time

from demo.app import build_app, launch_options
from demo.page_model import PageModel
from demo.questions import MAX_CHARACTERS, MAX_MASKS
from kbert import FillMask, SentencePair
from kbert.inference.languages import preset_for
from kbert.text.tokenizer import WordPieceTokenizer
from page.page_driver import (
    EXAMPLES,
    NAMED_PAIRS,
    PAIRS,
    SENTENCES,
    both_widths,
    candidates,
    expect_bars,
    open_tab,
    show,
    text_box,
)


def test_typed_text_is_filled_on_enter(page, fill_mask):
    text = "The museum opened in [MASK]."
    text_box(page).fill(text)
    text_box(page).press("Enter")
    expect_bars(page, candidates(fill_mask(text, 5)))


@both_widths
def test_example_with_two_masks_gets_two_lists_of_the_asked_length(page, fill_mask):
    page.get_by_label("number input for Words").fill("3")
    page.get_by_role("button", name=EXAMPLES[2]).click()
    expect_bars(page, candidates(fill_mask(EXAMPLES[2], 3)))
    assert page.locator(".kb-excerpt mark").count() == page.locator(".kb-bars:visible").count() == 2


@both_widths
def test_a_text_longer_than_the_model_is_filled_at_each_of_its_masks(page, fill_mask):
    from playwright.sync_api import expect

    text = "[MASK] " + "The river flows into the city. " * 30 + "He studied [MASK]."
    text_box(page).fill(text)
    text_box(page).press("Enter")
    masks = fill_mask(text, 5)
    expect_bars(page, candidates(masks))
    notes = [f"it read the {mask.window[1] - mask.window[0]} characters round" for mask in masks]
    expect(page.locator(".kb-card .kb-note")).to_contain_text(notes)
    text_box(page).fill(" The river. [MASK] ")
    text_box(page).press("Enter")
    expect(page.locator(".kb-card .kb-note")).to_have_count(0)


def test_insert_mask_replaces_the_selected_word(page):
    from playwright.sync_api import expect

    text_box(page).fill("The river flows.")
    text_box(page).evaluate("box => box.setSelectionRange(4, 9)")
    page.get_by_role("button", name="Insert [MASK]").click()
    expect(text_box(page)).to_have_value("The [MASK] flows.")


@both_widths
def test_refusals_are_sentences_on_the_page(page):
    from playwright.sync_api import expect

    for text, sentence in {
        "No word is missing": "A text must hold at least one [MASK].",
        " ": "A text must have at least one word.",
        "[MASK] " * (MAX_MASKS + 1): "A text must have at most 20 masks. Received: 21 masks.",
        "long " * MAX_CHARACTERS: "A text must have at most 10,000 characters.",
    }.items():
        text_box(page).fill(text)
        page.get_by_role("button", name="Fill", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text(sentence)
    assert "Traceback" not in page.content()


def test_typed_html_stays_text(page):
    from playwright.sync_api import expect

    text = "<img src='//192.0.2.1/x' onerror='x()'> ${1+1} {{v}} [MASK] <b>!"
    text_box(page).fill(text)
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.locator(".kb-excerpt")).to_have_text(text)
    text_box(page).fill(text.replace("[MASK]", ""))
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("onerror='x()'> ${1+1} {{v}}  <b>!")


def test_a_question_asked_while_another_is_answered_is_answered_too(browser, checkpoint, fill_mask, sentence_pair):
    from playwright.sync_api import expect

    def slow_fill_mask(text, top_k):
        time.sleep(1)
        return fill_mask(text, top_k)

    tokenizers = {"tiny": WordPieceTokenizer.from_folder(checkpoint)}
    app = build_app(PageModel(slow_fill_mask, sentence_pair, tokenizers))
    _, address, _ = app.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    page = browser.new_page()
    page.goto(address)
    for text in EXAMPLES[:2]:
        text_box(page).fill(text)
        text_box(page).press("Enter")
    expect_bars(page, candidates(fill_mask(EXAMPLES[1], 5)))
    for text in EXAMPLES[2:]:
        page.get_by_role("button", name=text).click()
        expect(text_box(page)).to_have_value(text)  # Gradio may answer two clicks in the other order.
    expect_bars(page, candidates(fill_mask(EXAMPLES[3], 5)))
    page.close()
    app.close()


@both_widths
def test_pair_is_judged_swapped_and_refused(page, sentence_pair):
    from playwright.sync_api import expect

    def expect_verdict(first, second):
        verdict = sentence_pair(first, second)
        expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])

    open_tab(page, "Sentence pair")
    page.get_by_label("First sentence").fill("He studied law.")
    page.get_by_label("Second sentence").fill("The river flows into the city.")
    page.get_by_role("button", name="Compare").click()
    expect_verdict("He studied law.", "The river flows into the city.")
    page.get_by_role("button", name="Swap").click()
    expect_verdict("The river flows into the city.", "He studied law.")
    page.get_by_role("button", name="A contradiction").click()
    expect_verdict(*PAIRS[3])
    page.get_by_label("Second sentence").fill("")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("A text must have at least one word.")


def test_without_a_model_the_page_answers_english_and_korean(browser):
    with show() as address:
        page = browser.new_page(viewport={"width": 1440, "height": 844})
        page.goto(address)
        for text in (SENTENCES["en"][3], SENTENCES["ko"][0]):
            page.get_by_role("button", name=text).click()
            expect_bars(page, candidates(FillMask(preset_for(text))(text)))
        typed = "나는 [MASK]을 먹었다."
        text_box(page).fill("")
        text_box(page).press_sequentially(typed)
        page.get_by_role("button", name="Fill", exact=True).click()
        expect_bars(page, candidates(FillMask("kbert-small-ko")(typed)))
        open_tab(page, "Sentence pair")
        page.get_by_role("button", name="태풍과 소설").click()
        verdict = SentencePair("kbert-small-ko")(*NAMED_PAIRS["ko"]["태풍과 소설"])
        expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])
        page.close()
