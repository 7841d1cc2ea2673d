"""The page in the language of its reader."""

import re
import string
import tomllib
import urllib.parse

import pytest
import tiny_model

from demo import fill_mask_tab, joints
from demo.language import BrowserLanguage, preferred_language
from demo.minute_runs import MinuteRuns
from demo.page_model import PageModel
from demo.questions import check_texts
from demo.served_model import open_served_model
from demo.words import LANGUAGES, Words
from kbert import (
    Answer,
    BertBackbone,
    BertMultipleChoice,
    BertSpanFinder,
    Choose,
    FillMask,
    InspectText,
    PlayMasking,
    ScoreText,
    SentencePair,
)
from page.page_driver import PAIRS, ROOT, open_tab, text_box

TABLE = tomllib.loads((ROOT / "demo" / "words.toml").read_text(encoding="utf-8"))
HANGUL = re.compile("[가-힣]")


def test_a_korean_browser_reads_korean_until_it_chooses_english(browser, address):
    from playwright.sync_api import expect

    page = browser.new_page(locale="ko-KR")
    page.goto(address + "?__theme=light")
    assert urllib.parse.urlsplit(page.url)[2:4] == ("/ko", "__theme=light")
    tabs = ["빈칸 채우기", "두 문장", "모델 속", "토큰", "과제", "학습", "정보"]
    expect(page.get_by_role("tab")).to_have_text(tabs)
    assert page.evaluate("document.documentElement.lang") == "ko"
    page.get_by_label("빠진 낱말 자리").fill("빈칸이 없다.")
    page.get_by_role("button", name="채우기", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text(
        "글에는 [MASK]가 하나는 있어야 합니다. 받은 것: '빈칸이 없다.'. 빠진 낱말 자리에 [MASK]를 써 주세요."
    )
    for tab in tabs:
        open_tab(page, tab)
        spoken = page.locator(
            "label > span, [data-testid=block-info], .kb-note, button:not(.kb-examples *, .tab-container *)"
        )
        for words in spoken.filter(visible=True).all_inner_texts():
            assert HANGUL.search(words) or not re.search("[a-z]{2}", words), words
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("tab").first).to_have_text("Fill mask")
    assert page.evaluate("document.documentElement.lang") == "en"
    page.get_by_role("link", name="한국어").click()
    expect(page.get_by_role("tab").first).to_have_text("빈칸 채우기")
    page.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_switch_of_language_keeps_the_tab_and_what_was_typed(browser, address, width):
    from playwright.sync_api import expect

    page = browser.new_page(viewport={"width": width, "height": 844}, locale="en-US")
    page.goto(address)
    text_box(page).fill("Typed here [MASK].")
    page.get_by_label("All masks together").check()
    open_tab(page, "Tokens")
    page.get_by_label("Text to split").fill("또 여기 <b>")
    page.get_by_role("link", name="한국어").click()
    for _ in range(2):  # What waits for its tab is carried on by a second switch.
        expect(page.get_by_label("나눌 글")).to_have_value("또 여기 <b>")
        # Gradio may put the page's own example there a little later.
        page.get_by_label("나눌 글").evaluate(
            "box => { box.value = 'late'; box.dispatchEvent(new Event('input', { bubbles: true })); }"
        )
        expect(page.get_by_label("나눌 글")).to_have_value("또 여기 <b>")
        expect(page.locator(".kb-card:visible .kb-note").nth(1)).to_contain_text("< b >")
        page.get_by_role("link", name="English").click()
        expect(page.get_by_label("Text to split")).to_have_value("또 여기 <b>")
        page.get_by_role("link", name="한국어").click()
    open_tab(page, "빈칸 채우기")
    expect(text_box(page)).to_have_value("Typed here [MASK].")
    expect(page.get_by_label("빈칸을 모두 함께")).to_be_checked()
    open_tab(page, "두 문장")
    expect(page.get_by_label("첫째 문장")).to_have_value(PAIRS[0][0])  # Nobody typed there.
    page.close()


# Types as soon as the box is there: Gradio runs a page's own script a little later.
TYPE_AT_ONCE = """
const typeOnce = () => {
  const box = document.querySelector("#fill-mask-text textarea");
  if (!box?.offsetParent) return requestAnimationFrame(typeOnce);
  box.select();
  document.execCommand("insertText", false, "Typed early [MASK].");
};
if (location.pathname === "/") typeOnce();
"""


def test_a_switch_of_language_keeps_what_was_typed_at_once(browser, address):
    from playwright.sync_api import expect

    page = browser.new_page(locale="en-US")
    page.add_init_script(TYPE_AT_ONCE)
    page.goto(address)
    expect(text_box(page)).to_have_value("Typed early [MASK].")
    page.wait_for_timeout(3000)  # The link's own listener comes with that script.
    page.get_by_role("link", name="한국어").click()
    expect(page.get_by_role("tab").first).to_have_text("빈칸 채우기")
    expect(text_box(page)).to_have_value("Typed early [MASK].")
    page.close()


def test_a_tab_that_answers_when_it_is_opened_answers_what_was_typed(browser, address, checkpoint):
    from playwright.sync_api import expect

    page = browser.new_page(locale="en-US")
    page.goto(address)
    open_tab(page, "Inside")
    page.get_by_label("Text to look into").fill("He studied law.")
    page.get_by_role("link", name="한국어").click()
    expect(page.get_by_label("들여다볼 글")).to_have_value("He studied law.")
    pieces = page.locator(".kb-answer .kb-pieces:visible b")
    expect(pieces).to_have_text(InspectText(checkpoint)("He studied law.").tokens)
    page.close()


def test_browsers_are_led_to_their_language_unless_one_was_chosen():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    page = Starlette(routes=[Route(path, lambda request: PlainTextResponse(request.url.path)) for path in ("/", "/ko")])

    def shown(path, accepted, language=None):
        return TestClient(BrowserLanguage(page, language)).get(path, headers={"accept-language": accepted}).text

    assert shown("/", "ko-KR,ko;q=0.9,en;q=0.8") == "/ko"
    assert shown("/", "en-GB,en;q=0.9,ko;q=0.8") == "/"
    assert shown("/?lang=en", "ko") == shown("/?lang=en", "ko", "ko") == "/"
    assert shown("/", "en", "ko") == shown("/ko", "en", "en") == "/ko"
    assert shown("/", "ko", "en") == "/"
    headers = {"": "en", "fr, ko;q=0.2": "ko", "ko-KR": "ko", "de": "en", "ko;q=x": "en"}
    assert {header: preferred_language(header) for header in headers} == headers


@pytest.mark.parametrize("section", TABLE)
def test_every_word_is_in_both_languages_with_the_same_blanks(section):
    for name, entry in TABLE[section].items():
        assert set(entry) == set(LANGUAGES), name
        if section == "refusals":
            groups = re.compile(entry["en"]).groups
            assert set(fields(entry["ko"])) == {str(n + 1) for n in range(groups)} or name == "other"
            assert HANGUL.search(entry["ko"])
        else:
            assert fields(entry["en"]) == fields(entry["ko"]), name


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_an_unknown_refusal_is_quoted_with_its_braces():
    assert Words("ko").refusal(ValueError("Odd {0}.")) == "답할 수 없습니다. 이유(영어): Odd {0}."
    assert Words("en").refusal(ValueError("Odd {0}.")) == "Odd {0}."


def test_what_people_meet_as_a_refusal_is_said_in_korean():
    tokenizer, model = tiny_model.make_tokenizer(), tiny_model.make_model(num_layers=1)
    backbone = BertBackbone(tiny_model.CONFIG.replace(num_layers=1))
    fill_mask = FillMask(model, tokenizer)
    tabs = PageModel(fill_mask, SentencePair(model, tokenizer), {}, fill_jointly=fill_mask.jointly)
    refused = {
        "10,000자": lambda: check_texts("a" * 10_001),
        "20개": lambda: fill_mask_tab._ask(tabs, "[MASK]" * 21, 5, None),
        "51개": lambda: fill_mask_tab._ask(tabs, "[MASK]", 5, ["a"] * 51),
        "'the'": lambda: fill_mask("the"),
        "글이 비어": lambda: fill_mask(" "),
        "'\u2603'": lambda: fill_mask("[MASK]", targets=["\u2603"]),
        "'[MASK] a'": lambda: ScoreText(model, tokenizer)("[MASK] a"),
        "토큰 40개": lambda: PlayMasking(model, tokenizer)("cat " * 40, 1),
        "1개": lambda: joints._ask(tabs, "the cat."),
        "물음이 비어": lambda: Answer(BertSpanFinder(backbone), tokenizer)(" ", "the cat"),
        "30개": lambda: MinuteRuns().start("One. Two."),
        "둘 이상": lambda: Choose(BertMultipleChoice(backbone), tokenizer)("the", ["cat"]),
        "http://127.0.0.1:9/x": lambda: open_served_model("http://127.0.0.1:9/x", {}),
    }
    for part, ask in refused.items():
        with pytest.raises(ValueError) as refusal:
            ask()
        said = Words("ko").refusal(refusal.value)
        assert part in said and "이유(영어)" not in said
