"""The tab "About" and the joints of a text, driven in a real browser."""

import keras

from demo.about_tab import readable_card
from kbert import load
from page.page_driver import both_widths, expect_bars, open_tab


@both_widths
def test_about_names_the_model_the_backend_and_the_versions(page, checkpoint):
    from playwright.sync_api import expect

    open_tab(page, "About")
    tables = page.locator(".kb-table:visible")
    expect(tables.first).to_contain_text(f"{keras.backend.backend()}, ")
    expect(tables.first).to_contain_text(f"keras {keras.__version__}")
    sizes = [f"{load(checkpoint).model.count_params():,}", "2", "12", "3", "150", "90"]
    expect(tables.nth(1).locator("tbody td")).to_have_text(sizes)


@both_widths
def test_a_text_is_judged_at_each_joint(page, sentence_pair):
    from playwright.sync_api import expect

    open_tab(page, "Sentence pair")
    box = page.get_by_label("Text of several sentences")
    sentences = ["He studied law.", "The river <b> flows.", "She opened the museum."]
    box.fill(" ".join(sentences))
    page.get_by_role("button", name="Look at the joints").click()
    expect(page.locator(".kb-joints p")).to_have_text(sentences)
    verdicts = sentence_pair(sentences[:-1], sentences[1:])
    expect_bars(page, [("follows", verdict.follows) for verdict in verdicts])
    box.fill("One sentence only.")
    page.get_by_role("button", name="Look at the joints").click()
    expect(page.get_by_role("alert")).to_contain_text("must have 2 to 40 sentences. Received: 1 sentences.")


def test_a_card_is_shown_without_what_a_page_cannot_show():
    card = "---\nlanguage: en\n---\n\n# Small\n\n![curve](curve.png)\n\nSee [docs](../a.md) and [it](https://b.c).\n"
    assert readable_card(card) == "\n# Small\n\nSee docs and [it](https://b.c).\n"
