"""The tab "Training": the curves of a run of training/pretrain.py, while it runs."""

import dataclasses

import gradio as gr

from demo.bars import note
from demo.charts import line_chart
from demo.questions import answer_to_program
from demo.training_run import read_run

SECONDS = 5  # Between two looks.
PANELS = ("mlm_loss", "mlm_accuracy", "nsp_accuracy", "learning_rate")

# A look reads two small files; it does not wait for the questions to the model.
RUN_QUEUE = {"concurrency_id": "run", "concurrency_limit": 4}


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """

    def look():
        run = read_run(model.run)
        return run.done, _status(say, run), *(_chart(say, run, name) for name in PANELS)

    def look_again(done):
        found = look()
        return found if found[0] != done else [gr.skip()] * len(found)  # A curve that is read stays as it is.

    done, status, *charts = look()
    seen = gr.State(done)
    shown = gr.HTML(status, js_on_load=None)
    plots = []
    for place in range(0, len(PANELS), 2):
        with gr.Row(elem_classes="kb-pictures"):
            for name, chart in zip(PANELS[place : place + 2], charts[place : place + 2], strict=True):
                with gr.Column(min_width=300):
                    gr.HTML(f"<h3>{say(f'training.{name}')}</h3>", js_on_load=None)
                    plots.append(gr.Plot(chart, show_label=False, container=False))
    clock = gr.Timer(SECONDS)
    clock.tick(look_again, seen, [seen, shown, *plots], show_progress="hidden", api_visibility="private", **RUN_QUEUE)


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer() -> dict:
        """The run so far: updates done and in all, rows a second, and its curves over the updates."""
        return dataclasses.asdict(read_run(model.run))

    answer_to_program(answer, "training_run")


def _status(say, run):
    speed = say("training.no_speed") if run.rows_per_second is None else say("training.speed", rows=run.rows_per_second)
    return note(say("training.status", done=run.done, total=run.total, speed=speed))


def _chart(say, run, name):
    lines = {"training": run.curves.get(name), "held_out": run.curves.get(f"val_{name}")}
    if name == "learning_rate":
        lines = {"learning_rate": run.curves[name]}
    found = {say(f"training.{line}"): values for line, values in lines.items() if values}
    return line_chart(run.steps, found, say("training.steps"), is_share=name.endswith("accuracy"))
