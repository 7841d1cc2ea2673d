"""The tab "Fill mask": which word stands at [MASK]?"""

import dataclasses
import html
import math

import gradio as gr

from demo import surprise
from demo.bars import answer_card, bar_list, empty_card, marked_excerpt, note, window_note
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_masks, check_texts

# Gradio shows 60 characters of an example.
EXAMPLES = {
    "en": [
        "The capital of France is [MASK].",
        "She opened the [MASK] and read the first page.",
        "The river flows into the [MASK] near the [MASK] of the city.",
        "He was born in [MASK] and studied law at Oxford.",
    ],
    "ko": [
        "나는 [MASK]에 가서 공부를 했다.",
        "대한민국의 수도는 [MASK]이다.",
        "그는 축구 [MASK]이다.",
        "그 영화는 정말 [MASK].",
    ],
}

MAX_TARGETS = 50
MAX_JOINT = 16  # Fillings that `FillMask.jointly` keeps.

# Replaces what is selected in the box, or inserts at the cursor.
INSERT_MASK = """(text) => {
  const box = document.querySelector("#fill-mask-text textarea");
  return text.slice(0, box.selectionStart) + "[MASK]" + text.slice(box.selectionEnd);
}"""


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    sentences = [sentence for language in say.mine_first(model.languages) for sentence in EXAMPLES[language]]

    @answer_on_page(say)
    def show(text, top_k, only, jointly):
        targets = read_list(only)
        if jointly:
            found = _ask_jointly(model, text, top_k, targets)
            bars = bar_list((" · ".join(one.words), math.exp(one.log_probability)) for one in found)
            return answer_card(f'<p class="kb-excerpt">{html.escape(text)}</p>', bars)
        return answer_card(
            *(
                marked_excerpt(text, mask.start, mask.end)
                + window_note(say, text, *mask.window)
                + bar_list((candidate.word, candidate.probability) for candidate in mask.candidates)
                for mask in _ask(model, text, None if targets else top_k, targets)
            ),
            note(say("fill_mask.targets_note")) if targets else "",
        )

    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            text = gr.Textbox(sentences[0], label=say("fill_mask.text"), max_lines=8, elem_id="fill-mask-text")
            with gr.Row(elem_classes="kb-buttons"):
                insert = gr.Button(say("fill_mask.insert"), min_width=0)
                ask = gr.Button(say("fill_mask.ask"), variant="primary", min_width=0)
            top_k = gr.Slider(1, 20, value=5, step=1, label=say("fill_mask.top_k"), buttons=[])
            has_model = model.fill_jointly is not None  # A server takes no words to choose from.
            only = gr.Textbox("", label=say("fill_mask.targets"), visible=has_model)
            jointly = gr.Checkbox(False, label=say("fill_mask.jointly"), visible=has_model)
        with gr.Column(elem_classes="kb-answer"):
            shown = gr.HTML(empty_card(say("fill_mask.hint")), js_on_load=None)
            coloured = surprise.build_section(say, model, text) if model.score else None
        with gr.Column(elem_classes="kb-examples"):
            examples = gr.Examples(
                [[sentence] for sentence in sentences],
                text,
                label=say("page.examples"),
                cache_examples=False,
                examples_per_page=20,
            )

    question = dict(fn=show, inputs=[text, top_k, only, jointly], outputs=shown, **PAGE_QUESTION)
    gr.on([ask.click, text.submit, top_k.release, only.submit, jointly.input], **question)
    examples.load_input_event.then(**question)
    if coloured:
        coloured.then(**question)
    insert.click(None, text, text, js=INSERT_MASK)


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer(text: str, top_k: int = 5, targets: list[str] | None = None) -> list[dict]:
        """The most probable words for each [MASK] of a text, or with targets the most probable of these."""
        return [dataclasses.asdict(mask) for mask in _ask(model, text, top_k, targets)]

    def answer_jointly(text: str, top_k: int = 5, targets: list[str] | None = None) -> list[dict]:
        """The most probable words for all [MASK] of a text together."""
        return [dataclasses.asdict(one) for one in _ask_jointly(model, text, top_k, targets)]

    answer_to_program(answer, "fill_mask")
    if model.fill_jointly:
        answer_to_program(answer_jointly, "fill_jointly")
    if model.score:
        surprise.publish(model)


def read_list(words):
    """Return the words of a str with commas between them, None for none."""
    return [word.strip() for word in words.split(",") if word.strip()] or None


def _ask(model, text, top_k, targets):
    _check(text, targets)
    return model.fill_mask(text, top_k, targets) if targets else model.fill_mask(text, top_k)


def _ask_jointly(model, text, top_k, targets):
    _check(text, targets)
    return model.fill_jointly(text, min(top_k, MAX_JOINT), targets)


def _check(text, targets):
    check_texts(text, *(targets or ()))
    if targets and len(targets) > MAX_TARGETS:
        raise ValueError(f"There must be at most {MAX_TARGETS} words to choose from. Received: {len(targets)}.")
    check_masks(text)
