"""The tab "Tasks": what fine-tuned checkpoints answer. The head of each says what is asked."""

import dataclasses

import gradio as gr

from demo.bars import answer_card, bar_list, empty_card, note, number_list, refusal_card
from demo.questions import PAGE_QUESTION, answer_to_program, check_texts
from kbert.inference import Answer, Choose, Classify, Tag

NUM_ANSWERS = 3
# Of tagged spans, in the order of a model's labels. Gradio writes in them on a paler ground of the same colour.
COLORS = ("#0f766e", "#b45309", "#4338ca", "#be123c", "#4d7c0f", "#7e22ce", "#0369a1", "#a16207")


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built, a tab of its own for each of the tasks.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    with gr.Tabs():
        for name, question in model.tasks.items():
            with gr.Tab(name):
                _PARTS[type(question)](say, question)


def _build_classify(say, classify):
    def ask(text, second):
        labels = classify((text, second) if second.strip() else text)
        if classify.problem == "regression":
            return number_list((label.name, label.value) for label in labels), []
        return bar_list((label.name, label.probability) for label in labels), []

    _lay_out(say, {"tasks.text": 3, "tasks.second": 1}, ask)


def _build_tag(say, tag):
    kinds = dict.fromkeys(name.split("-", 1)[-1] for name in tag.label_names if name != "O")
    colors = {kind: COLORS[place % len(COLORS)] for place, kind in enumerate(kinds)}

    def ask(text):
        spans = tag(text)
        found = note(say("tasks.spans", count=len(spans)))
        return found + bar_list((f"{span.text} · {span.label}", span.probability) for span in spans), mark(text, spans)

    _lay_out(say, {"tasks.text": 4}, ask, colors)


def _build_answer(say, answer):
    def ask(question, context):
        found = answer(question, context, NUM_ANSWERS, may_be_absent=True)
        bars = [(one.text or say("tasks.no_answer"), one.probability) for one in found]
        best = [one for one in found[:1] if one.text]
        return bar_list(bars), mark(context, best, say("tasks.answer"))

    _lay_out(say, {"tasks.question": 1, "tasks.context": 8}, ask, {say("tasks.answer"): COLORS[0]})


def _build_choose(say, choose):
    def ask(context, endings):
        found = choose(context, [line for line in endings.splitlines() if line.strip()])
        return bar_list((ending.text, ending.probability) for ending in found), []

    _lay_out(say, {"tasks.beginning": 2, "tasks.endings": 4}, ask)


_PARTS = {Classify: _build_classify, Tag: _build_tag, Answer: _build_answer, Choose: _build_choose}


def _lay_out(say, boxes, ask, colors=None):
    """Lay out text boxes and a button on the left, the answer on the right.

    Args:
        say: `demo.words.Words`.
        boxes: dict of a label in the table of words to the number of lines of its text box.
        ask: function of the texts that returns the answer as HTML, and what `gr.HighlightedText` shows above it.
        colors: dict of label to colour for that, or None for an answer without.
    """
    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            texts = [gr.Textbox("", label=say(label), lines=lines, max_lines=8) for label, lines in boxes.items()]
            button = gr.Button(say("tasks.ask"), variant="primary")
        with gr.Column(elem_classes="kb-answer"):
            marked = gr.HighlightedText(
                [], color_map=colors, show_legend=True, show_label=False, container=False, visible=False
            )
            shown = gr.HTML(empty_card(say("tasks.hint")), js_on_load=None)

    def show(*values):
        try:
            check_texts(*values)
            found, spans = ask(*values)
        except ValueError as error:
            return refusal_card(say, error), gr.update(visible=False)
        return answer_card(found), gr.update(value=spans, visible=bool(spans))

    gr.on([button.click, *(text.submit for text in texts)], show, texts, [shown, marked], **PAGE_QUESTION)


def mark(text, spans, label=None):
    """Return a text in pieces for `gr.HighlightedText`: (piece, label), None for what is in no span.

    Args:
        text: str.
        spans: list of objects with `start`, `end` and, without `label`, their own `label`; in reading order.
        label: str for all of them, or None.
    """
    pieces, done = [], 0
    for span in spans:
        pieces += [(text[done : span.start], None), (text[span.start : span.end], label or span.label)]
        done = span.end
    return [piece for piece in [*pieces, (text[done:], None)] if piece[0]]


def publish(model):
    """Publish the endpoints of the tasks a `PageModel` has: "classify", "tag", "answer" and "choose"."""
    for kind, make in {Classify: _classify_api, Tag: _tag_api, Answer: _answer_api, Choose: _choose_api}.items():
        questions = {name: question for name, question in model.tasks.items() if type(question) is kind}
        if questions:
            make(questions, next(iter(questions)))


def _pick(questions, task):
    if task not in questions:
        raise ValueError(f"`task` must be one of {', '.join(questions)}. Received: task={task!r}.")
    return questions[task]


def _classify_api(questions, first):
    def classify(text: str, second: str = "", task: str = first) -> list[dict]:
        """The labels of a text or pair, most probable first: name, probability, and for a number its value."""
        check_texts(text, second)
        labels = _pick(questions, task)((text, second) if second.strip() else text)
        return [dataclasses.asdict(label) for label in labels]

    answer_to_program(classify, "classify")


def _tag_api(questions, first):
    def tag(text: str, task: str = first) -> list[dict]:
        """The tagged spans of a text, in reading order: label, text, the characters [start, end), probability."""
        check_texts(text)
        return [dataclasses.asdict(span) for span in _pick(questions, task)(text)]

    answer_to_program(tag, "tag")


def _answer_api(questions, first):
    def answer(question: str, context: str, task: str = first) -> list[dict]:
        """The best answers out of a text, best first: text, the characters [start, end), probability; "" for none."""
        check_texts(question, context)
        found = _pick(questions, task)(question, context, NUM_ANSWERS, may_be_absent=True)
        return [dataclasses.asdict(one) for one in found]

    answer_to_program(answer, "answer")


def _choose_api(questions, first):
    def choose(context: str, endings: list[str], task: str = first) -> list[dict]:
        """The endings, most probable first: text, number among those given, probability."""
        check_texts(context, *endings)
        return [dataclasses.asdict(ending) for ending in _pick(questions, task)(context, endings)]

    answer_to_program(choose, "choose")
