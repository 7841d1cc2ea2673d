"""The tab "Tokens", driven in a real browser."""

import pathlib
import unicodedata

import kbert
from page.page_driver import both_widths, open_tab


@both_widths
def test_pieces_of_a_text_in_two_vocabularies(page, checkpoint):
    from playwright.sync_api import expect

    open_tab(page, "Tokens")
    text = "Zoë's <b> café [MASK] unknowable 학교에"
    page.get_by_label("Text to split").fill(text)
    cards = page.locator(".kb-card:visible")
    normal = "zoe ' s < b > cafe [MASK] unknowable " + unicodedata.normalize("NFD", "학교에")
    for card, name in zip((cards.nth(0), cards.nth(1)), (pathlib.Path(checkpoint).name, "kbert-small-en"), strict=True):
        tokenizer = kbert.load(checkpoint if name in checkpoint else name).tokenizer
        packed = tokenizer.pack(text)
        expected = [tokenizer.id_to_token(token_id) for token_id in packed.token_ids[1:-1]]
        expect(card.locator("strong")).to_have_text(name)
        expect(card.locator("li b")).to_have_text(expected)
        places = [f"{start}–{end}" for start, end in packed.offsets[1:-1]]
        expect(card.locator("li span:last-child")).to_have_text(places)
        unknown = expected.count("[UNK]")
        counts = f"{len(expected)} pieces" + f", {unknown} unknown" * (unknown > 0)
        counts += f"; vocabulary of {tokenizer.vocabulary_size:,}"
        expect(card.locator(".kb-pieces-head .kb-note")).to_have_text(counts)
        expect(card.locator("p")).to_have_text(f"normalised: {normal}")
    page.get_by_label("Text to split").fill("  ")
    expect(cards).to_have_text(["The pieces appear here."])
