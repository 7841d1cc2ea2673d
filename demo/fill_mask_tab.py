"""The tab "Fill mask": which word stands at [MASK]?"""

import dataclasses

import gradio as gr

from demo.bars import answer_card, bar_list, empty_card, marked_excerpt, window_note
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_texts

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

# Bounds the work of one question: each mask of a text that is longer than the model takes a pass of its own.
MAX_MASKS = 20

# Replaces what is selected in the box, or inserts at the cursor.
INSERT_MASK = """(text) => {
  const box = document.querySelector("#fill-mask-text textarea");
  return text.slice(0, box.selectionStart) + "[MASK]" + text.slice(box.selectionEnd);
}"""


def build_tab(fill_mask, languages):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        fill_mask: `kbert.inference.FillMask`, or any callable with its signature.
        languages: keys of `EXAMPLES`.
    """
    sentences = [sentence for language in languages for sentence in EXAMPLES[language]]

    def ask_model(text, top_k):
        check_texts(text)
        if text.count("[MASK]") > MAX_MASKS:
            raise ValueError(
                f"A text must have at most {MAX_MASKS} masks. Received: {text.count('[MASK]')} masks. Ask part by part."
            )
        return fill_mask(text, top_k)

    @answer_on_page
    def show(text, top_k):
        return answer_card(
            *(
                marked_excerpt(text, mask.start, mask.end)
                + window_note(text, *mask.window)
                + bar_list((candidate.word, candidate.probability) for candidate in mask.candidates)
                for mask in ask_model(text, top_k)
            )
        )

    def answer(text: str, top_k: int = 5) -> list[dict]:
        """The most probable words for each [MASK] of a text."""
        return [dataclasses.asdict(mask) for mask in ask_model(text, top_k)]

    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            text = gr.Textbox(
                sentences[0], label="Text with [MASK] where a word is missing", max_lines=8, elem_id="fill-mask-text"
            )
            with gr.Row(elem_classes="kb-buttons"):
                insert = gr.Button("Insert [MASK]", min_width=0)
                ask = gr.Button("Fill", variant="primary", min_width=0)
            top_k = gr.Slider(1, 20, value=5, step=1, label="Words for each mask", buttons=[])
        with gr.Column(elem_classes="kb-answer"):
            shown = gr.HTML(empty_card("The most probable words appear here."), js_on_load=None)
        with gr.Column(elem_classes="kb-examples"):
            examples = gr.Examples(
                [[sentence] for sentence in sentences], text, cache_examples=False, examples_per_page=20
            )

    question = dict(fn=show, inputs=[text, top_k], outputs=shown, **PAGE_QUESTION)
    gr.on([ask.click, text.submit, top_k.release], **question)
    examples.load_input_event.then(**question)
    insert.click(None, text, text, js=INSERT_MASK)
    answer_to_program(answer, "fill_mask")
