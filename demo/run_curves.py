"""How a training run is shown: one line of numbers, four curves, and what the model answers at its last save."""

import html

import gradio as gr

from demo.bars import note, percent
from demo.charts import line_chart

PANELS = ("mlm_loss", "mlm_accuracy", "nsp_accuracy", "learning_rate")


def lay_out(say, charts):
    """Lay out four charts, or None for each, inside the `gr.Blocks` being built; return their `gr.Plot`s."""
    plots = []
    for place in range(0, len(PANELS), 2):
        with gr.Row(elem_classes="kb-pictures"):
            for name, chart in zip(PANELS[place : place + 2], charts[place : place + 2], strict=True):
                with gr.Column(min_width=300):
                    gr.HTML(f"<h3>{html.escape(say(f'training.{name}'))}</h3>", js_on_load=None)
                    plots.append(gr.Plot(chart, show_label=False, container=False))
    return plots


def draw(say, run):
    """Return the four charts of a `demo.training_run.TrainingRun`."""
    return [_chart(say, run, name) for name in PANELS]


def status(say, run):
    """Return how far a `demo.training_run.TrainingRun` is, as a sentence."""
    speed = say("training.no_speed") if run.rows_per_second is None else say("training.speed", rows=run.rows_per_second)
    return say("training.status", done=run.done, total=run.total, speed=speed)


def examples_card(say, rows):
    """Return the masked rows of a `demo.training_run.TrainingRun` with the model's answers as HTML, "" for none."""
    if not rows:
        return ""
    shown = "".join(_row(say, row) for row in rows)
    title = html.escape(say("training.examples"))
    return f'<div class="kb-card kb-learnt"><h3>{title}</h3>{note(say("training.examples_note"))}{shown}</div>'


def _row(say, row):
    masked = {one["position"]: one for one in row["masked"]}
    pieces = "".join(
        _masked_piece(say, token, masked[place]) if place in masked else f"<li><b>{html.escape(token)}</b></li>"
        for place, token in enumerate(row["tokens"])
    )
    verdict = ""
    if row["follows"] is not None:
        truth = say("training.is_random" if row["is_random_next"] else "training.is_next")
        verdict = note(say("training.pair", follows=html.unescape(percent(row["follows"])), truth=truth))
    return f'<ol class="kb-pieces">{pieces}</ol>{verdict}'


def _masked_piece(say, shown, one):
    """Return a drawn token: what the model reads, what stood there, and the best answer with its probability."""
    answers = [(token, html.unescape(percent(probability))) for token, probability in one["candidates"]]
    kind = "kb-drawn kb-right" if answers[0][0] == one["token"] else "kb-drawn"
    every = ", ".join(f"{token} {share}" for token, share in answers)
    return (
        f'<li class="{kind}" title="{html.escape(every)}"><b>{html.escape(shown)}</b>'
        f"<span>{html.escape(say('training.stood', token=one['token']))}</span>"
        f"<span>{html.escape(say('training.says', token=answers[0][0], share=answers[0][1]))}</span></li>"
    )


def _chart(say, run, name):
    lines = {"training": run.curves.get(name), "held_out": run.curves.get(f"val_{name}")}
    if name == "learning_rate":
        lines = {"learning_rate": run.curves[name]}
    found = {say(f"training.{line}"): values for line, values in lines.items() if values}
    # From 0, one save is a point on a readable axis; a loss would lose its detail.
    is_share, from_zero = name.endswith("accuracy"), not name.endswith("loss")
    return line_chart(run.steps, found, say("training.steps"), is_share, from_zero)
