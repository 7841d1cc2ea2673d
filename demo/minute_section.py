"""The one-minute run on the tab "Training": paste a text, watch the tiny size learn it, stop it, ask it."""

import html
import secrets

import gradio as gr

from demo import run_curves
from demo.bars import answer_card, bar_list, empty_card, marked_excerpt, note, progress_bar, refusal_card
from demo.minute_text import QUESTIONS, example_text
from demo.questions import PAGE_QUESTION, answer_on_page, check_texts

SECONDS = 2  # Between two looks.
TOP_K = 5
SECRET = secrets.token_hex()  # A run does not outlive this process, nor does its name.
GONE = "A run is kept until a few others were started. Received: one that is gone. Start another."


def build_section(say, runs, queue):
    """Lay out the section inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        runs: `demo.minute_runs.MinuteRuns`.
        queue: dict, the queue of events that ask no model.
    """
    parts = _lay_out(say)
    name, done = parts["name"], parts["done"]
    outputs = [name, done, *(parts[key] for key in ("shown", "start", "stop", "clock", "curves", "answers", "asking"))]
    outputs += parts["plots"]
    quiet = dict(show_progress="hidden", api_visibility="private", **queue)

    def start(text):
        try:
            run = runs.start(text)
        except ValueError as error:
            return {parts["shown"]: refusal_card(say, error)}
        return {name: run.name} | _look(say, parts, run, None)

    def stop(run_name, done_before):
        if run := runs.find(run_name):
            run.stop()
        return look(run_name, done_before)

    def look(run_name, done_before):
        if run := runs.find(run_name):
            return _look(say, parts, run, done_before)
        told = {parts["shown"]: refusal_card(say, ValueError(GONE)), name: None} if run_name else {}
        return told | _controls(parts, False, False)

    parts["start"].click(start, parts["text"], outputs, **quiet)
    parts["stop"].click(stop, [name, done], outputs, **quiet)
    parts["clock"].tick(look, [name, done], outputs, **quiet)

    @answer_on_page(say)
    def ask(run_name, question):
        check_texts(question)
        run = runs.find(run_name)
        if run is None:
            raise ValueError(GONE)
        return answer_card(
            *(
                marked_excerpt(question, mask.start, mask.end)
                + bar_list((candidate.word, candidate.probability) for candidate in mask.candidates)
                for mask in run.fill_mask(question, TOP_K)
            )
        )

    question = dict(fn=ask, inputs=[name, parts["question"]], outputs=parts["answer"], **PAGE_QUESTION)
    gr.on([parts["ask"].click, parts["question"].submit], **question)


def _lay_out(say):
    # The browser remembers the run, so that another language of the page, or the page loaded again, finds it: the clock
    # goes until a first look has told whether there is one.
    name = gr.BrowserState(None, storage_key="kbert-minute-run", secret=SECRET)
    parts = {"name": name, "done": gr.State(None), "clock": gr.Timer(SECONDS)}
    with gr.Column(elem_classes="kb-section"):
        gr.HTML(f"<h2>{html.escape(say('minute.title'))}</h2>{note(say('minute.note'))}", js_on_load=None)
        with gr.Row(elem_classes="kb-tab"):
            with gr.Column(elem_classes="kb-question"):
                example = example_text(say.language)
                parts["text"] = gr.Textbox(example, label=say("minute.text"), lines=8, max_lines=12)
                with gr.Row(elem_classes="kb-buttons"):
                    parts["stop"] = gr.Button(say("minute.stop"), min_width=0, interactive=False)
                    parts["start"] = gr.Button(say("minute.start"), variant="primary", min_width=0)
            with gr.Column(elem_classes="kb-answer"):
                parts["shown"] = gr.HTML(empty_card(say("minute.hint")), js_on_load=None)
                with gr.Column(visible=False) as parts["asking"]:
                    parts["question"] = gr.Textbox(QUESTIONS[say.language], label=say("minute.question"), max_lines=4)
                    parts["ask"] = gr.Button(say("minute.ask"), variant="primary")
                    parts["answer"] = gr.HTML("", js_on_load=None)
        with gr.Column(visible=False) as parts["curves"]:
            parts["plots"] = run_curves.lay_out(say, [None] * len(run_curves.PANELS))
            parts["answers"] = gr.HTML("", js_on_load=None)
    return parts


def _look(say, parts, run, done_before):
    """Return what the section shows of a `MinuteRun`; curves that are read stay as they are."""
    found = run.read()
    done = found.done if found else 0
    shown = {parts["shown"]: _card(say, run, found), parts["done"]: done}
    shown |= _controls(parts, run.is_going_on, run.has_model)
    if done and done != done_before:
        shown |= dict(zip(parts["plots"], run_curves.draw(say, found), strict=True))
        shown[parts["answers"]] = run_curves.examples_card(say, found.examples)
    return shown | {parts["curves"]: gr.update(visible=done > 0)}


def _controls(parts, is_going_on, has_model):
    return {
        parts["start"]: gr.update(interactive=not is_going_on),
        parts["stop"]: gr.update(interactive=is_going_on),
        parts["clock"]: gr.update(active=is_going_on),
        parts["asking"]: gr.update(visible=has_model),
    }


def _card(say, run, found):
    stage = run.stage
    body = f'<p class="kb-excerpt">{html.escape(say(f"minute.{stage}", sentences=run.num_sentences))}</p>'
    if stage == "failed":
        body += note(run.last_words())
    if found:
        body += note(run_curves.status(say, found))
        body += progress_bar(found.done / found.total, say("training.steps"))
        body += note(say("minute.honest")) if stage in ("done", "stopped") else ""
    return answer_card(body)
