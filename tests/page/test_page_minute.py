"""The one-minute run on the tab "Training", driven in a real browser by two people."""

import pathlib
import tempfile

import pytest

from demo.minute_runs import KEPT, MinuteRuns, check_installed
from demo.minute_text import QUESTIONS, example_text
from demo.words import Words
from kbert import FillMask
from page.page_driver import candidates, expect_bars, open_tab


def test_a_text_is_learnt_watched_stopped_and_asked(browser, address):
    from playwright.sync_api import expect

    before = set(pathlib.Path(tempfile.gettempdir()).glob("kbert-minute-*"))
    first, second = (browser.new_page(viewport={"width": width, "height": 844}) for width in (1440, 390))
    for page in (first, second):
        page.goto(address)
        open_tab(page, "Training")
    box, train = first.get_by_label("Text to learn"), first.get_by_role("button", name="Train", exact=True)
    box.fill("The same again. " * 40)
    train.click()
    expect(first.get_by_role("alert")).to_contain_text("at least 30 different sentences. Received: 1.")
    box.fill(example_text("en"))
    train.click()
    card = first.get_by_role("status").filter(has_text="96 sentences.")
    expect(card).to_contain_text("Starting")
    second.get_by_role("button", name="Train", exact=True).click()
    expect(second.get_by_role("alert")).to_contain_text("One run must be over before another starts.")
    ask = first.get_by_role("button", name="Ask", exact=True)
    expect(ask).to_be_visible(timeout=240_000)  # It has saved.
    expect(card).to_contain_text("rows a second")
    first.get_by_role("link", name="한국어").click()  # The other page finds the run, and leads back to it.
    expect(first.get_by_role("status").filter(has_text="문장 96개.")).to_be_visible()
    expect(first.get_by_role("button", name="묻기", exact=True)).to_be_visible()
    first.get_by_role("link", name="English").click()
    expect(ask).to_be_visible()
    first.reload()
    open_tab(first, "Training")
    expect(ask).to_be_visible()
    expect(first.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    expect(first.get_by_role("heading", name="What it answers now").last).to_be_visible()
    first.get_by_role("button", name="Stop", exact=True).click()
    expect(card).to_contain_text("Stopped: the last save stays.")
    ask.click()
    (folder,) = set(pathlib.Path(tempfile.gettempdir()).glob("kbert-minute-*")) - before
    assert not (folder / "run" / "result.json").exists()  # What a run writes last.
    expect_bars(first, candidates(FillMask(folder / "run")(QUESTIONS["en"], 5)))
    for page in (first, second):
        page.close()


def test_runs_are_kept_until_others_came(tmp_path):
    runs = MinuteRuns()
    for _ in range(KEPT + 1):
        run = runs.start(example_text("en"))
        with pytest.raises(ValueError) as no_save:
            run.fill_mask(QUESTIONS["en"], 1)
        with pytest.raises(ValueError) as goes_on:
            runs.start(example_text("en"))
        assert runs.find(run.name).stage == "starting"
        run.stop()
        assert run.stage == "ended"
    assert len(runs.runs) == KEPT and run.folder.is_dir()
    assert "아직 저장된 모델이 없습니다" in Words("ko").refusal(no_save.value)
    assert "한 번에 하나씩만" in Words("ko").refusal(goes_on.value)
    runs.close()
    assert not any(one.folder.exists() for one in runs.runs.values())


def test_what_is_missing_is_named_in_both_languages():
    with pytest.raises(ValueError, match="Received: no kbert_nowhere. Type `pip install") as refusal:
        check_installed(["json", "kbert_nowhere"])
    assert Words("ko").refusal(refusal.value).startswith("학습에 필요한 패키지가 없습니다(kbert_nowhere).")
