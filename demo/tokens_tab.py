"""The tab "Tokens": into which pieces a vocabulary splits a text, and where each stands in it."""

import html
import itertools
import re

import gradio as gr

from demo.bars import answer_card, empty_card, note
from demo.questions import answer_on_page, answer_to_program, check_texts
from kbert.text.vocabulary import SPECIAL_TOKENS

EXAMPLES = {
    "en": ["Unbelievably, Zoë's café sells 3.50€ crêpes!", "The [MASK] sat on the electroencephalograph."],
    "ko": ["나는 학교에 가서 공부를 했다.", "Seoul(서울)은 大韓民國의 수도입니다 😀"],
}

SPECIAL_TOKEN = rf"({'|'.join(map(re.escape, SPECIAL_TOKENS))})"

# The pieces change while a person types: no pass of a model, so it need not wait for the questions to one.
TOKENS_QUEUE = {"concurrency_id": "tokens", "concurrency_limit": 4}


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built. The first two vocabularies are shown at first.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    names = list(model.tokenizers)
    texts = [text for language in say.mine_first(model.languages) for text in EXAMPLES[language]]

    @answer_on_page(say)
    def show(text, *chosen):
        check_texts(text)
        if not text.strip():
            return empty_card(say("tokens.hint"))
        cards = (pieces_card(say, name, model.tokenizers[name], text) for name in dict.fromkeys(chosen))
        return "".join(map(answer_card, cards))

    with gr.Row(elem_classes="kb-tab"):
        with gr.Column(elem_classes="kb-question"):
            text = gr.Textbox(texts[0], label=say("tokens.text"), max_lines=8)
            with gr.Row(elem_classes="kb-buttons"):
                chosen = [
                    gr.Dropdown(names, value=names[min(place, len(names) - 1)], label=say(label), min_width=180)
                    for place, label in enumerate(("tokens.vocabulary", "tokens.beside"))
                ]
        with gr.Column(elem_classes="kb-answer"):
            shown = gr.HTML(show(texts[0], *(box.value for box in chosen)), js_on_load=None)
            gr.HTML(note(say("tokens.note")), js_on_load=None)
        with gr.Column(elem_classes="kb-examples"):
            gr.Examples(
                [[text] for text in texts],
                text,
                label=say("page.examples"),
                cache_examples=False,
                examples_per_page=20,
            )

    gr.on(
        [text.change, *(box.change for box in chosen)],
        show,
        [text, *chosen],
        shown,
        show_progress="hidden",
        trigger_mode="always_last",
        api_visibility="private",
        **TOKENS_QUEUE,
    )


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""
    tokenizers = model.tokenizers
    names = list(tokenizers)

    def answer(text: str, vocabulary: str = names[0]) -> list[dict]:
        """The pieces of a text: token, id, and the characters [start, end) that it covers."""
        check_texts(text)
        if vocabulary not in tokenizers:
            raise ValueError(f"`vocabulary` must be one of {', '.join(names)}. Received: vocabulary={vocabulary!r}.")
        return pieces(tokenizers[vocabulary], text)

    answer_to_program(answer, "tokenize")


def pieces(tokenizer, text):
    """Return the pieces of a text as dicts: `token`, `id`, and the characters [`start`, `end`)."""
    packed = tokenizer.pack(text)
    inner = zip(packed.token_ids[1:-1], packed.offsets[1:-1], strict=True)
    return [{"token": tokenizer.id_to_token(i), "id": i, "start": start, "end": end} for i, (start, end) in inner]


def pieces_card(say, name, tokenizer, text):
    """Return the heading, the normal form where it differs from the text, and the pieces as HTML."""
    found = pieces(tokenizer, text)
    num_unknown = sum(piece["token"] == "[UNK]" for piece in found)
    counts = say("tokens.count", count=len(found))
    counts += say("tokens.unknown", count=num_unknown) if num_unknown else ""
    counts += say("tokens.size", count=tokenizer.vocabulary_size)
    parts = re.split(SPECIAL_TOKEN, text)  # Every second one is a special token, which stays as it is.
    words = [[part] if place % 2 else tokenizer.split_words(part) for place, part in enumerate(parts)]
    normal = " ".join(itertools.chain.from_iterable(words))
    items = "".join(_item(piece, text) for piece in found)
    return (
        f'<div class="kb-pieces-head"><strong>{html.escape(name)}</strong><span class="kb-note">{counts}</span></div>'
        f'{note(say("tokens.normal", text=normal))}<ol class="kb-pieces">{items}</ol>'
    )


def _item(piece, text):
    kind = "kb-unknown" if piece["token"] == "[UNK]" else "kb-continued" if piece["token"].startswith("##") else ""
    covered = html.escape(text[piece["start"] : piece["end"]], quote=True)
    return (
        f'<li class="{kind}" title="{covered}"><b>{html.escape(piece["token"])}</b>'
        f"<span>{piece['id']}</span><span>{piece['start']}–{piece['end']}</span></li>"
    )
