"""The tab "Training": a run of training/pretrain.py while it runs, and a one-minute run on pasted text."""

import dataclasses

import gradio as gr

from demo import minute_section, run_curves
from demo.bars import note
from demo.questions import answer_to_program
from demo.training_run import read_run

SECONDS = 5  # Between two looks.

# A look reads small files; it does not wait for the questions to the model.
RUN_QUEUE = {"concurrency_id": "run", "concurrency_limit": 4}


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    if model.run:
        _build_watch(say, model.run)
    if model.minute_runs:
        minute_section.build_section(say, model.minute_runs, RUN_QUEUE)


def _build_watch(say, folder):
    def look():
        run = read_run(folder)
        examples = run_curves.examples_card(say, run.examples)
        # Without a save there is nothing to draw but empty axes.
        curves = gr.Column(visible=run.done > 0)
        return run.done, note(run_curves.status(say, run)), examples, curves, *run_curves.draw(say, run)

    def look_again(done):
        found = look()
        return found if found[0] != done else [gr.skip()] * len(found)  # A curve that is read stays as it is.

    done, status, examples, _, *charts = look()
    seen = gr.State(done)
    shown = gr.HTML(status, js_on_load=None)
    with gr.Column(visible=done > 0) as curves:
        plots = run_curves.lay_out(say, charts)
    answers = gr.HTML(examples, js_on_load=None)
    outputs = [seen, shown, answers, curves, *plots]
    gr.Timer(SECONDS).tick(look_again, seen, outputs, show_progress="hidden", api_visibility="private", **RUN_QUEUE)


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""
    if not model.run:
        return

    def answer() -> dict:
        """The run so far: updates done and in all, rows a second, its curves, and answers on some masked rows."""
        return dataclasses.asdict(read_run(model.run))

    answer_to_program(answer, "training_run")
