"""The pictures of the tab "Inside". The browser draws them, so every script that it has letters for is legible."""

import itertools

import numpy as np
import plotly.graph_objects as go

# Legible on the page's light and dark grounds alike.
_TEXT = "#64748b"
_TEAL = [[0, "rgba(13, 148, 136, 0)"], [1, "rgb(13, 148, 136)"]]
_BELOW_AND_ABOVE = [[0, "rgb(180, 83, 9)"], [0.5, "rgba(148, 163, 184, 0.15)"], [1, "rgb(15, 118, 110)"]]
_CELL = 26  # Pixels a token.
SMALLEST_LINE = 0.02
_LINE_STEPS = (SMALLEST_LINE, 0.05, 0.1, 0.2, 0.4, 1.0)


def attention_chart(say, tokens, attention):
    """Draw who looks at whom.

    Args:
        say: `demo.words.Words`.
        tokens: list of str, T.
        attention: NumPy float `[T, T]`, row t is what token t looks at; nan is left empty.
    """
    places = list(range(len(tokens)))
    chart = go.Figure(
        go.Heatmap(
            z=attention.tolist(),
            x=places,
            y=places,
            colorscale=_TEAL,
            zmin=0,
            zmax=1,
            xgap=1,
            ygap=1,
            customdata=[[say("inside.looks_at", one=one, other=other) for other in tokens] for one in tokens],
            hovertemplate="%{customdata}: %{z:.1%}<extra></extra>",
            colorbar={"tickformat": ".0%", "thickness": 10, "outlinewidth": 0},
        )
    )
    labels = {"tickvals": places, "ticktext": tokens, "showgrid": False, "zeroline": False}
    chart.update_xaxes(side="top", tickangle=-60, title=say("inside.to_axis"), **labels)
    chart.update_yaxes(autorange="reversed", title=say("inside.from_axis"), **labels)
    return _styled(chart, height=170 + _CELL * len(tokens))


def attention_lines(say, tokens, attention):
    """Draw who looks at whom as lines from each token, at the left, to those it looks at, at the right.

    Args:
        say, tokens, attention: as in `attention_chart`. What is not above `SMALLEST_LINE` has no line.
    """
    chart = go.Figure()
    attention = np.minimum(attention, 1)  # What the model rounded up.
    for least, most in itertools.pairwise(_LINE_STEPS):
        ones, others = np.nonzero((attention > least) & (attention <= most))  # Not for nan.
        places = [
            place for one, other in zip(ones.tolist(), others.tolist(), strict=True) for place in (one, other, None)
        ]
        line = {"color": f"rgba(13, 148, 136, {most})", "width": 1 + 4 * most}
        chart.add_trace(go.Scatter(x=[0, 1, None] * len(ones), y=places, mode="lines", line=line, hoverinfo="skip"))
    for x, side in ((0, "left"), (1, "right")):
        chart.add_trace(
            go.Scatter(
                x=[x] * len(tokens),
                y=list(range(len(tokens))),
                text=tokens,
                mode="text",
                textposition=f"middle {side}",
                hoverinfo="skip",
            )
        )
    titles = {"tickvals": [0, 1], "ticktext": [say("inside.from_axis"), say("inside.to_axis")], "side": "top"}
    chart.update_xaxes(range=[-0.5, 1.5], showgrid=False, zeroline=False, **titles)
    chart.update_yaxes(autorange="reversed", visible=False)
    chart.update_layout(showlegend=False)
    return _styled(chart, height=80 + _CELL * len(tokens))


def embedding_chart(say, token, vectors):
    """Draw the rows that are added for one token, and their sum.

    Args:
        say: `demo.words.Words`.
        token: str.
        vectors: dict of row name to NumPy float `[D]`, top to bottom.
    """
    largest = np.percentile(np.abs(list(vectors.values())), 99)  # A few places are so far out that the rest would fade.
    chart = go.Figure(
        go.Heatmap(
            z=[vector.tolist() for vector in vectors.values()],
            y=list(vectors),
            colorscale=_BELOW_AND_ABOVE,
            zmin=-largest,
            zmax=largest,
            ygap=6,
            hovertemplate=say("inside.vector_value") + "<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0},
        )
    )
    chart.update_xaxes(title=say("inside.vector_axis", token=token), showgrid=False, zeroline=False)
    chart.update_yaxes(autorange="reversed", showgrid=False)
    return _styled(chart, height=240)


def line_chart(steps, lines, steps_title, is_share, from_zero):
    """Draw numbers over the updates of a training run.

    Args:
        steps: list of int.
        lines: dict of name to list of float, one a step. The last is in the page's accent.
        steps_title: str, under the axis.
        is_share: bool. True = the numbers are shown as percentages.
        from_zero: bool. True = the axis of the numbers begins at 0.
    """
    chart = go.Figure()
    for place, (name, values) in enumerate(lines.items()):
        color = "rgb(13, 148, 136)" if place + 1 == len(lines) else "rgb(148, 163, 184)"
        chart.add_trace(
            go.Scatter(x=steps, y=values, name=name, mode="lines+markers", line={"color": color}, marker={"size": 4})
        )
    chart.update_xaxes(title=steps_title, rangemode="tozero", gridcolor="rgba(148, 163, 184, 0.25)", zeroline=False)
    chart.update_yaxes(
        rangemode="tozero" if from_zero else "normal",
        tickformat=".0%" if is_share else None,
        exponentformat="power",
        gridcolor="rgba(148, 163, 184, 0.25)",
        zeroline=False,
    )
    chart.update_layout(hovermode="x unified", showlegend=len(lines) > 1, legend={"orientation": "h", "y": 1.12})
    return _styled(chart, height=280)


def _styled(chart, height):
    chart.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _TEXT, "size": 13, "family": "inherit"},
        dragmode=False,
    )
    return chart
