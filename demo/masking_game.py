"""The masking game on the tab "Inside": 15 % of the tokens drawn, what the model answers there, and its loss."""

import dataclasses
import html

import gradio as gr

from demo.bars import answer_card, bar_list, note, percent
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_texts

NUM_ANSWERS = 4


def build_section(say, model, text):
    """Lay out the game under the pictures.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
        text: `gr.Textbox`, the text to play with.

    Returns:
        dict, what a Gradio event with another text must do.
    """

    @answer_on_page(say)
    def show(text, draw):
        return game_card(say, _play(model, text, draw))

    with gr.Column(elem_classes="kb-game"):
        gr.HTML(f"<h2>{html.escape(say('game.title'))}</h2>{note(say('game.note'))}", js_on_load=None)
        with gr.Row(elem_classes="kb-buttons"):
            draw = gr.Number(1, label=say("game.draw"), precision=0, minimum=1, min_width=0)
            again = gr.Button(say("game.again"), min_width=0)
        shown = gr.HTML("", js_on_load=None)

    question = dict(fn=show, inputs=[text, draw], outputs=shown, **PAGE_QUESTION)
    drawn = again.click(None, draw, draw, js="(draw) => draw + 1")
    drawn.then(**question)
    draw.submit(**question)
    return question


def publish(model):
    """Publish the game's endpoint of a `PageModel`."""

    def answer(text: str, draw: int = 1) -> dict:
        """One draw of the masking game: the tokens, those drawn with the model's answers and losses, and their mean."""
        return dataclasses.asdict(_play(model, text, draw))

    answer_to_program(answer, "masking_game")


def _play(model, text, draw):
    check_texts(text)
    return model.play_masking(text, int(draw or 0), NUM_ANSWERS)


def game_card(say, played):
    """Return a `kbert.inference.masking_game.MaskingRound` as HTML."""
    drawn = {one.position: one for one in played.drawn}
    items = "".join(
        _drawn_item(drawn[place]) if place in drawn else f"<li><b>{html.escape(token)}</b><span>&nbsp;</span></li>"
        for place, token in enumerate(played.tokens)
    )
    answers = "".join(_answers(say, one) for one in played.drawn)
    return answer_card(
        note(say("game.count", drawn=len(drawn), count=len(played.tokens))),
        f'<ol class="kb-pieces">{items}</ol><div class="kb-answers">{answers}</div>',
        f'<p class="kb-excerpt">{html.escape(say("game.mean", loss=played.loss))}</p>',
    )


def _drawn_item(one):
    return f'<li class="kb-drawn"><b>{html.escape(one.shown)}</b><span>{html.escape(one.token)}</span></li>'


def _answers(say, one):
    percentage = html.unescape(percent(one.probability))
    loss = say("game.loss", token=one.token, probability=percentage, loss=one.loss)
    return (
        f'<section><p class="kb-excerpt"><mark>{html.escape(one.token)}</mark> {html.escape(say(f"game.{one.fate}"))}'
        f"</p>{bar_list(one.candidates)}{note(loss)}</section>"
    )
