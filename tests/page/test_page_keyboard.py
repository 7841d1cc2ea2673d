"""The page by keyboard alone, and by the input method that Korean is written with."""

import unicodedata

from page.page_driver import candidates, expect_bars, text_box


def keystrokes(character):
    """What an input method shows of a Korean syllable, stroke by stroke: ㅎ, 하, 학. Nothing for other characters."""
    jamo = unicodedata.normalize("NFD", character)
    if len(jamo) == 1:
        return []
    letter = unicodedata.name(jamo[0]).replace("CHOSEONG", "LETTER")
    return [
        unicodedata.lookup(letter),
        *(unicodedata.normalize("NFC", jamo[:end]) for end in range(2, len(jamo) + 1)),
    ]


def test_korean_is_composed_stroke_by_stroke(page, fill_mask):
    from playwright.sync_api import expect

    assert keystrokes("학") == ["ㅎ", "하", "학"] and keystrokes("[") == []
    text = "나는 [MASK]에 가서 공부를 했다."
    text_box(page).fill("")
    input_method = page.context.new_cdp_session(page)
    for character in text:
        for shown in keystrokes(character):
            place = {"selectionStart": len(shown), "selectionEnd": len(shown)}
            input_method.send("Input.imeSetComposition", {"text": shown} | place)
        input_method.send("Input.insertText", {"text": character})
    expect(text_box(page)).to_have_value(text)
    page.keyboard.press("Enter")
    expect_bars(page, candidates(fill_mask(text, 5)))


def go_to(page, place):
    """Press the tabulator until `place` has the focus."""
    for _ in range(80):
        if place.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"The tabulator must lead to every part of the page. Received: it does not to {place}.")


def test_every_question_is_asked_by_keyboard_alone(page, fill_mask, sentence_pair):
    from playwright.sync_api import expect

    def write(label, text):
        go_to(page, page.get_by_label(label, exact=True))
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(text)

    def open_by_key(name):
        go_to(page, page.get_by_role("tab", name=name, exact=True))
        page.keyboard.press("Enter")
        expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")

    text = "He studied [MASK]."
    go_to(page, text_box(page))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
    go_to(page, page.get_by_role("button", name="Fill", exact=True))
    page.keyboard.press("Enter")
    expect_bars(page, candidates(fill_mask(text, 5)))
    open_by_key("Sentence pair")
    write("First sentence", "He studied law.")
    write("Second sentence", "The river flows.")
    page.keyboard.press("Enter")
    verdict = sentence_pair("He studied law.", "The river flows.")
    expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])
    open_by_key("Tokens")
    write("Text to split", "Café")
    expect(page.locator(".kb-card:visible p").first).to_have_text("normalised: cafe")
    for name in ("Inside", "Tasks", "Training", "About"):
        open_by_key(name)
    page.keyboard.press("Shift+Tab")  # Nothing holds the focus.
    expect(page.get_by_role("tab", name="About", exact=True)).not_to_be_focused()
