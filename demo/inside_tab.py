"""The tab "Inside": the sum of embeddings and the attention of the typed text, live."""

import functools
import html

import gradio as gr
import numpy as np

from demo import masking_game
from demo.bars import answer_card, bar_list, empty_card, note, refusal_card
from demo.charts import attention_chart, attention_lines, embedding_chart
from demo.questions import PAGE_QUESTION, answer_to_program, check_texts

EXAMPLES = {
    "en": {
        "What is tired?": ["The animal did not cross the street because it was tired.", ""],
        "A pair": ["My dog is cute.", "He likes playing."],
    },
    "ko": {
        "한 문장": ["나는 학교에 가서 공부를 했다.", ""],
        "두 문장": ["우리 강아지는 귀엽다.", "공놀이를 좋아한다."],
    },
}
LOOKS = {"en": (9, 2), "ko": (8, 1)}  # "it" at "animal", "했다" at "나".
MAX_TOKENS = 64  # More would not be legible.
NUM_HEADS = 5  # Listed for two tokens.
AVERAGE = "average"
BOTH, LEFT_TO_RIGHT = "both", "left"
DRAWINGS = {"matrix": attention_chart, "lines": attention_lines}


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.

    Returns:
        dict, what a Gradio event must do when the tab is opened: look into the first example.
    """
    named = {name: pair for language in say.mine_first(model.languages) for name, pair in EXAMPLES[language].items()}
    first = next(iter(named.values()))

    def show(text, text_pair, token, layer, head, view, drawing, one, other):
        try:
            found = _look(model.inspect, text, text_pair)
        except ValueError as error:
            return refusal_card(say, error), None, None, *[gr.skip()] * 3, ""
        token, one, other = places = [min(place, len(found.tokens) - 1) for place in (token, one, other)]
        rows = {say(f"inside.{name}_row"): row for name, row in rows_of(found, token).items()}
        matrix = attention_of(found, layer, head, view == LEFT_TO_RIGHT)
        return (
            answer_card(pieces_table(say, found)),
            embedding_chart(say, found.tokens[token], rows),
            DRAWINGS[drawing](say, found.tokens, matrix),
            *(gr.update(choices=_numbered(found.tokens), value=place) for place in places),
            heads_list(say, found, one, other),
        )

    def show_again(*values):
        # Leaves what is chosen alone, unless a shorter text has it no more: a person may have changed it while this
        # answer was on its way.
        card, sums, attention, *boxes, heads = show(*values)
        for box, place in zip(boxes, (values[2], *values[7:]), strict=True):
            if box.get("value") == place:
                del box["value"]
        return card, sums, attention, *boxes, heads

    ask, inputs, outputs, chosen = _lay_out(say, named)
    text, text_pair, *settings = inputs
    question = dict(fn=show, inputs=inputs, outputs=outputs, **PAGE_QUESTION)
    gr.on([ask.click, text.submit, text_pair.submit], **question)
    gr.on([setting.input for setting in settings], **question | {"fn": show_again})
    game = masking_game.build_section(say, model, text)
    gr.on([ask.click, text.submit], **game)
    chosen.load_input_event.then(**question).then(**game)

    def open_tab(*values):
        counts = _look(model.inspect, *first).attention_maps.shape[:2]
        choices = [gr.update(choices=_choices(say, count)) for count in counts]
        return *choices, *show(*values[: len(inputs)]), game["fn"](values[0], values[-1])

    _, layer, head, *_ = settings
    opening = {"fn": open_tab, "inputs": [*inputs, game["inputs"][1]]}
    return PAGE_QUESTION | opening | {"outputs": [layer, head, *outputs, game["outputs"]]}


def _numbered(tokens):
    return [(f"{place} {token}", place) for place, token in enumerate(tokens)]


def _choices(say, count):
    return [(say("inside.average"), AVERAGE), *((str(number), str(number)) for number in range(1, count + 1))]


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer(text: str, text_pair: str = "", layer: int = 1, head: int = 1) -> dict:
        """The tokens of a text, or of a pair, and who looks at whom in one head: row t is what token t looks at."""
        found = _look(model.inspect, text, text_pair)
        num_layers, num_heads = found.attention_maps.shape[:2]
        if not (1 <= layer <= num_layers and 1 <= head <= num_heads):
            raise ValueError(
                f"`layer` must be between 1 and {num_layers} and `head` between 1 and {num_heads}. "
                f"Received: layer={layer}, head={head}."
            )
        return {"tokens": found.tokens, "attention": attention_of(found, layer, head).tolist()}

    answer_to_program(answer, "attention")
    masking_game.publish(model)


def _look(inspect, text, text_pair):
    check_texts(text, text_pair)
    return _look_once(inspect, text, text_pair if text_pair.strip() else None)


@functools.lru_cache(16)  # Another layer, head or token asks no new pass of the model.
def _look_once(inspect, text, text_pair):
    return inspect(text, text_pair)


def _lay_out(say, named):
    """Return the button, what the person sets, what shows the answer, and the examples."""
    examples = list(named.values())
    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            text = gr.Textbox(examples[0][0], label=say("inside.text"), max_lines=4)
            text_pair = gr.Textbox("", label=say("inside.second"), max_lines=4)
            ask = gr.Button(say("inside.ask"), variant="primary", elem_classes="kb-answers-itself")
        with gr.Column(elem_classes="kb-answer"):
            table = gr.HTML(empty_card(say("inside.hint")), js_on_load=None)
        with gr.Column(elem_classes="kb-examples"):
            chosen = gr.Examples(
                examples,
                [text, text_pair],
                label=say("page.examples"),
                cache_examples=False,
                example_labels=list(named),
            )
    with gr.Row(elem_classes="kb-pictures"):
        with gr.Column(min_width=300):
            token = _token_box(say("inside.token"), 1)
            sums = gr.Plot(show_label=False, container=False)
            gr.HTML(note(say("inside.sum_note")), js_on_load=None)
            gr.HTML(f"<h2>{html.escape(say('inside.which'))}</h2>", js_on_load=None, elem_classes="kb-section")
            with gr.Row(elem_classes="kb-buttons"):
                one, other = (
                    _token_box(say(f"inside.{name}"), place)
                    for name, place in zip(("one", "other"), LOOKS[say.language], strict=True)
                )
            heads = gr.HTML("", js_on_load=None)
        with gr.Column(min_width=300):
            with gr.Row(elem_classes="kb-buttons"):
                layer, head = (
                    gr.Dropdown(_choices(say, 1), value=value, label=say(f"inside.{name}"), min_width=0)
                    for name, value in {"layer": "1", "head": AVERAGE}.items()
                )
            views = [(say(f"inside.{view}"), view) for view in (BOTH, LEFT_TO_RIGHT)]
            view = gr.Radio(views, value=BOTH, label=say("inside.view"))
            drawings = [(say(f"inside.{name}"), name) for name in DRAWINGS]
            drawing = gr.Radio(drawings, value="matrix", label=say("inside.drawing"))
            attention = gr.Plot(show_label=False, container=False)
            gr.HTML(note(say("inside.attention_note")), js_on_load=None)
    inputs = [text, text_pair, token, layer, head, view, drawing, one, other]
    return ask, inputs, [table, sums, attention, token, one, other, heads], chosen


def _token_box(label, place):
    return gr.Dropdown([(str(place), place)], value=place, label=label, min_width=0)


def heads_list(say, inside, one, other):
    """Return the heads of an `Inside` in which a token looks most at another, as bars.

    Args:
        say: `demo.words.Words`.
        inside: `kbert.inference.inspect_text.Inside`.
        one, other: int, places of the tokens.
    """
    shares = inside.attention_maps[:, :, one, other]
    best = np.argsort(-shares, axis=None, kind="stable")[:NUM_HEADS]
    found = zip(*np.unravel_index(best, shares.shape), strict=True)
    return bar_list((say("inside.head_name", layer=n + 1, head=m + 1), float(shares[n, m])) for n, m in found)


def attention_of(inside, layer, head, left_to_right=False):
    """Return float `[T, T]` of one block and head of an `Inside`, counted from 1, or the mean over all.

    Args:
        inside: `kbert.inference.inspect_text.Inside`.
        layer, head: int, a str of one, or `AVERAGE`.
        left_to_right: bool. True: nan where a token would look to its right, and each row scaled to 1.
    """
    maps = inside.attention_maps
    maps = maps.mean(0) if layer == AVERAGE else maps[int(layer) - 1]
    matrix = maps.mean(0) if head == AVERAGE else maps[int(head) - 1]
    if left_to_right:
        seen = np.tril(np.ones_like(matrix))
        matrix = np.where(seen, matrix / (matrix * seen).sum(-1, keepdims=True), np.nan)
    return matrix


def rows_of(inside, place):
    """Return the three rows that are added for one token, and their sum, by name."""
    return {
        "token": inside.token_vectors[place],
        "segment": inside.segment_vectors[place],
        "position": inside.position_vectors[place],
        "sum": inside.embedding_sum[place],
    }


def pieces_table(say, inside):
    """Return figure 2 of the paper for an `Inside` as HTML: token, segment and position of each piece."""
    items = "".join(
        f"<li><b>{html.escape(token)}</b><span>{'AB'[segment]}</span><span>{place}</span></li>"
        for place, (token, segment) in enumerate(zip(inside.tokens, inside.segment_ids, strict=True))
    )
    return f'{note(say("inside.pieces"))}<ol class="kb-pieces">{items}</ol>'
