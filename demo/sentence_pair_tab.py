"""The tab "Sentence pair": does the second sentence follow the first?"""

import dataclasses

import gradio as gr

from demo.bars import answer_card, bar_list, empty_card
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
QUESTION = '<p class="kb-excerpt">The second sentence …</p>'
CAUTION = (
    "Next-sentence prediction judges topic more than logic: a sentence on the same topic often passes as "
    "“follows”, even when it contradicts the first."
)


def build_tab(sentence_pair, languages):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        sentence_pair: `kbert.inference.SentencePair`, or any callable with its signature.
        languages: keys of `EXAMPLES`.
    """
    named = {name: pair for language in languages for name, pair in EXAMPLES[language].items()}
    pairs = list(named.values())

    @answer_on_page
    def show(first, second):
        check_texts(first, second)
        verdict = sentence_pair(first, second)
        return answer_card(QUESTION, bar_list([("follows", verdict.follows), ("random", verdict.random)]))

    def answer(first: str, second: str) -> dict:
        """The probabilities that the second text follows the first, and that it comes from elsewhere."""
        check_texts(first, second)
        return dataclasses.asdict(sentence_pair(first, second))

    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            first = gr.Textbox(pairs[0][0], label="First sentence", max_lines=8)
            second = gr.Textbox(pairs[0][1], label="Second sentence", max_lines=8)
            with gr.Row(elem_classes="kb-buttons"):
                swap = gr.Button("Swap", min_width=0)
                ask = gr.Button("Compare", variant="primary", min_width=0)
        with gr.Column(elem_classes="kb-answer"):
            shown = gr.HTML(empty_card("The two probabilities appear here."), js_on_load=None)
            gr.HTML(f'<p class="kb-note">{CAUTION}</p>', js_on_load=None)
        with gr.Column(elem_classes="kb-examples"):
            examples = gr.Examples(pairs, [first, second], cache_examples=False, example_labels=list(named))

    question = dict(fn=show, inputs=[first, second], outputs=shown, **PAGE_QUESTION)
    gr.on([ask.click, first.submit, second.submit], **question)
    swapped = swap.click(None, [first, second], [first, second], js="(first, second) => [second, first]")
    for changed in (swapped, examples.load_input_event):
        changed.then(**question)
    answer_to_program(answer, "sentence_pair")
