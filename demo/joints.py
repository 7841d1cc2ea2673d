"""A text split into sentences on the tab "Sentence pair", with the probability that each follows the one before."""

import html

import gradio as gr

from demo.bars import answer_card, bar_list, empty_card, note
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_texts
from kbert.inference.languages import KOREAN, preset_for
from kbert.text.sentences import split_sentences

EXAMPLES = {
    "en": "The storm reached the coast at night. By morning, hundreds of houses had lost their roofs. "
    "Her first novel was published in 1961. It won a prize in the same year.",
    "ko": "밤사이 태풍이 남해안에 상륙했다. 이 태풍으로 많은 집이 물에 잠기고 도로가 끊겼다. "
    "그의 첫 소설은 1961년에 출판되었다. 이 소설로 그는 문학상을 받았다.",
}
MAX_SENTENCES = 40


def build_section(say, model):
    """Lay out the section under the pair.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """

    @answer_on_page(say)
    def show(text):
        sentences, verdicts = _ask(model, text)
        parts = [_sentence(sentences[0])]
        for sentence, verdict in zip(sentences[1:], verdicts, strict=True):
            parts += [bar_list([(say("pair.follows"), verdict.follows)]), _sentence(sentence)]
        return answer_card(f'<div class="kb-joints">{"".join(parts)}</div>')

    with gr.Column(elem_classes="kb-section"):
        gr.HTML(f"<h2>{html.escape(say('joints.title'))}</h2>{note(say('joints.note'))}", js_on_load=None)
        with gr.Row(elem_classes="kb-tab"):
            with gr.Column(elem_classes="kb-question"):
                example = EXAMPLES[say.mine_first(model.languages)[0]]
                text = gr.Textbox(example, label=say("joints.text"), lines=5, max_lines=12)
                ask = gr.Button(say("joints.ask"), variant="primary")
            with gr.Column(elem_classes="kb-answer"):
                shown = gr.HTML(empty_card(say("joints.hint")), js_on_load=None)
    gr.on([ask.click, text.submit], show, text, shown, **PAGE_QUESTION)


def publish(model):
    """Publish the section's endpoint of a `PageModel`."""

    def answer(text: str) -> dict:
        """The sentences of a text, and for each but the first the probability that it follows the one before."""
        sentences, verdicts = _ask(model, text)
        return {"sentences": sentences, "follows": [verdict.follows for verdict in verdicts]}

    answer_to_program(answer, "joints")


def _ask(model, text):
    check_texts(text)
    sentences = split_sentences(text, "ko" if preset_for(text) == KOREAN else "en")
    if not 2 <= len(sentences) <= MAX_SENTENCES:
        raise ValueError(
            f"A text must have 2 to {MAX_SENTENCES} sentences. Received: {len(sentences)} sentences. "
            "Write another, or ask part by part."
        )
    return sentences, model.sentence_pair(sentences[:-1], sentences[1:], truncate=True)


def _sentence(sentence):
    return f"<p>{html.escape(sentence)}</p>"
