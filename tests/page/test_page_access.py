"""The page for people who use no mouse, or whose screen is read to them."""

import pytest

from demo.words import Words
from page.page_driver import open_tab, text_box

KINDS = [(1440, "light", "en-US"), (390, "dark", "ko-KR")]


@pytest.mark.parametrize(("width", "scheme", "locale"), KINDS, ids=["desktop", "phone"])
def test_axe_finds_nothing_on_any_tab(browser, address, width, scheme, locale):
    from playwright.sync_api import expect

    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    viewport = {"width": width, "height": 844}
    page = browser.new_page(viewport=viewport, color_scheme=scheme, locale=locale)
    page.goto(address)
    page.get_by_role("tab").first.wait_for()
    text_box(page).press("Enter")
    page.locator(".kb-bars").wait_for()
    found = []
    for name in ("fill_mask", "pair", "inside", "tokens", "tasks", "training", "about"):
        open_tab(page, Words(locale[:2])(f"{name}.tab"))
        charts = page.locator(".js-plotly-plot").filter(visible=True)
        expect(charts).to_have_count({"inside": 2, "training": 4}.get(name, 0), timeout=60_000)
        for violation in axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]}).response["violations"]:
            found += [(name, violation["id"], node["html"][:160]) for node in violation["nodes"]]
    page.close()
    assert not found


def test_the_first_question_is_asked_by_keyboard_alone(page):
    from playwright.sync_api import expect

    text_box(page).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Fill", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".kb-bars li")).to_have_count(5)
    page.get_by_role("tab").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("First sentence")).to_be_visible()
