"""The tab "Tasks", driven in a real browser on (tiny, untrained) fine-tuned checkpoints."""

import pytest

from demo.app import main
from demo.tasks_tab import mark
from kbert import Answer, Choose, Classify, Tag
from page.page_driver import both_widths, expect_bars, open_tab

TEXT = "the cat sat on a mat . the dog ran home"


@both_widths
def test_each_head_is_asked_its_question(page, tasks):
    from playwright.sync_api import expect

    open_tab(page, "Tasks")
    box = lambda label: page.get_by_label(label, exact=True).filter(visible=True)  # noqa: E731
    ask = lambda: page.get_by_role("button", name="Ask").filter(visible=True).click()  # noqa: E731

    box("Text").fill(TEXT)
    ask()
    expect_bars(page, [(label.name, label.probability) for label in Classify(tasks["mood"])(TEXT)])
    box("Second text (only for pairs)").fill("a dog")
    ask()
    expect_bars(page, [(label.name, label.probability) for label in Classify(tasks["mood"])((TEXT, "a dog"))])

    open_tab(page, "stars")
    box("Text").fill(TEXT)
    ask()
    (stars,) = Classify(tasks["stars"])(TEXT)
    expect(page.locator(".kb-percent:visible")).to_have_text([f"{stars.value:.3f}"])

    open_tab(page, "names")
    box("Text").fill(TEXT)
    ask()
    spans = Tag(tasks["names"])(TEXT)
    assert spans
    expect_bars(page, [(f"{span.text} · {span.label}", span.probability) for span in spans])
    expect(page.locator(".textfield .highlighted:visible")).to_have_text([span.text for span in spans])

    open_tab(page, "squad")
    box("Question").fill("a cat ?")
    box("Text that may hold the answer").fill(TEXT)
    ask()
    found = Answer(tasks["squad"])("a cat ?", TEXT, 3, may_be_absent=True)
    expect_bars(page, [(one.text or "no answer in the text", one.probability) for one in found])
    expect(page.locator(".textfield .highlighted:visible")).to_have_text([one.text for one in found[:1] if one.text])

    open_tab(page, "swag")
    box("Beginning").fill("the cat")
    box("Endings, one a line").fill("sat on a mat .\n\nran home\n")
    ask()
    endings = Choose(tasks["swag"])("the cat", ["sat on a mat .", "ran home"])
    expect_bars(page, [(ending.text, ending.probability) for ending in endings])
    box("Endings, one a line").fill("ran")
    ask()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("two or more texts")


def test_endpoints_of_the_tasks(address, tasks):
    import gradio_client

    client = gradio_client.Client(address, verbose=False, analytics_enabled=False)
    ask = client.predict
    assert ask(TEXT, api_name="/classify")[0]["name"] == Classify(tasks["mood"])(TEXT)[0].name
    stars = ask(TEXT, "", "stars", api_name="/classify")
    assert stars[0]["value"] == pytest.approx(Classify(tasks["stars"])(TEXT)[0].value, rel=1e-4)
    spans = Tag(tasks["names"])(TEXT)
    assert [(one["start"], one["end"], one["label"]) for one in ask(TEXT, api_name="/tag")] == [
        (span.start, span.end, span.label) for span in spans
    ]
    found = Answer(tasks["squad"])("a cat ?", TEXT, 3, may_be_absent=True)
    assert [one["text"] for one in ask("a cat ?", TEXT, api_name="/answer")] == [one.text for one in found]
    endings = ["sat on a mat .", "ran home"]
    assert [one["number"] for one in ask("the cat", endings, api_name="/choose")] == [
        ending.number for ending in Choose(tasks["swag"])("the cat", endings)
    ]
    with pytest.raises(gradio_client.exceptions.AppError, match="`task` must be one of mood, stars. Received"):
        ask(TEXT, "", "other", api_name="/classify")


def test_a_task_must_be_fine_tuned_and_have_a_name_of_its_own(checkpoint, tasks):
    with pytest.raises(SystemExit, match="must be a fine-tuned checkpoint. Received: .*, a BertPretrainer"):
        main(["--model", checkpoint, "--task", checkpoint])
    with pytest.raises(SystemExit, match="must differ in the name of their folder. Received: mood, mood"):
        main(["--model", checkpoint, "--task", tasks["mood"], "--task", tasks["mood"]])


def test_marks_leave_the_text_whole():
    from kbert.inference.tag import TaggedSpan

    spans = [TaggedSpan("PER", "b", 1, 2, 0.5), TaggedSpan("LOC", "c", 2, 3, 0.5)]
    assert mark("abcd", spans) == [("a", None), ("b", "PER"), ("c", "LOC"), ("d", None)]
    assert mark("abcd", spans[:1], "x") == [("a", None), ("b", "x"), ("cd", None)]
