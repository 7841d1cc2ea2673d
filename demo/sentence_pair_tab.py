"""The tab "Sentence pair": does the second sentence follow the first?"""

import dataclasses
import html

import gradio as gr

from demo import joints
from demo.bars import answer_card, bar_list, empty_card, note
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_texts

EXAMPLES = {
    "en": {
        "A storm, then the damage": [
            "The storm reached the coast at night.",
            "By morning, hundreds of houses had lost their roofs.",
        ],
        "A storm, then a novel": ["The storm reached the coast at night.", "Her first novel was published in 1961."],
        "A career": ["He studied law in Vienna.", "After graduating, he worked as a judge for ten years."],
        "A contradiction": ["The museum opened in 1902.", "The museum has never opened."],
    },
    "ko": {
        "태풍과 피해": ["밤사이 태풍이 남해안에 상륙했다.", "이 태풍으로 많은 집이 물에 잠기고 도로가 끊겼다."],
        "태풍과 소설": ["밤사이 태풍이 남해안에 상륙했다.", "그의 첫 소설은 1961년에 출판되었다."],
        "대학과 직업": ["그는 서울대학교에서 법학을 전공했다.", "졸업 후에는 변호사로 활동하였다."],
    },
}


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    named = {name: pair for language in say.mine_first(model.languages) for name, pair in EXAMPLES[language].items()}
    pairs = list(named.values())

    @answer_on_page(say)
    def show(first, second):
        verdict = _ask(model, first, second)
        bars = [(say("pair.follows"), verdict.follows), (say("pair.random"), verdict.random)]
        return answer_card(f'<p class="kb-excerpt">{html.escape(say("pair.question"))}</p>', bar_list(bars))

    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            first = gr.Textbox(pairs[0][0], label=say("pair.first"), max_lines=8)
            second = gr.Textbox(pairs[0][1], label=say("pair.second"), max_lines=8)
            with gr.Row(elem_classes="kb-buttons"):
                swap = gr.Button(say("pair.swap"), min_width=0)
                ask = gr.Button(say("pair.ask"), variant="primary", min_width=0)
        with gr.Column(elem_classes="kb-answer"):
            shown = gr.HTML(empty_card(say("pair.hint")), js_on_load=None)
            gr.HTML(note(say("pair.caution")), js_on_load=None)
        with gr.Column(elem_classes="kb-examples"):
            examples = gr.Examples(
                pairs,
                [first, second],
                label=say("page.examples"),
                cache_examples=False,
                example_labels=list(named),
            )

    question = dict(fn=show, inputs=[first, second], outputs=shown, **PAGE_QUESTION)
    gr.on([ask.click, first.submit, second.submit], **question)
    swapped = swap.click(None, [first, second], [first, second], js="(first, second) => [second, first]")
    for changed in (swapped, examples.load_input_event):
        changed.then(**question)
    joints.build_section(say, model)


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer(first: str, second: str) -> dict:
        """The probabilities that the second text follows the first, and that it comes from elsewhere."""
        return dataclasses.asdict(_ask(model, first, second))

    answer_to_program(answer, "sentence_pair")
    joints.publish(model)


def _ask(model, first, second):
    check_texts(first, second)
    return model.sentence_pair(first, second)
