"""The tab "About": which model answers, on what, and its model card."""

import html
import importlib.metadata
import platform
import re

import gradio as gr
import keras

from demo.questions import answer_to_program

PACKAGES = ("keras-kbert", "keras", "tensorflow", "jax", "torch", "tokenizers", "gradio")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_LINK_TO_FILE = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
    """
    rows = [(say("about.runs_on"), describe_machine()), (say("about.versions"), _versions())]
    gr.HTML(_table(rows), js_on_load=None)
    sizes = [
        (say(f"about.{size}"), *(f"{card['sizes'][size]:,}" for card in model.cards))
        for size in model.cards[0]["sizes"]
    ]
    gr.HTML(_table(sizes, [card["name"] for card in model.cards]), js_on_load=None, elem_classes="kb-section")
    for card in model.cards:
        if card["text"]:
            with gr.Accordion(say("about.card", name=card["name"]), open=False):
                gr.Markdown(readable_card(card["text"]))


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer() -> dict:
        """The models with their sizes and cards, the backend and device, and the versions of the packages."""
        return {"models": model.cards, "runs_on": describe_machine(), "versions": _versions()}

    answer_to_program(answer, "about")


def card_of(name, checkpoint, folder=None):
    """Return what the tab shows of a checkpoint, as a dict of plain values.

    Args:
        name: str.
        checkpoint: `kbert.convert.Checkpoint`.
        folder: `pathlib.Path` whose README.md is the model card, or None.
    """
    config = checkpoint.model.backbone.config
    path = folder and folder / "README.md"
    return {
        "name": name,
        "sizes": {
            "parameters": checkpoint.model.count_params(),
            "layers": config.num_layers,
            "width": config.hidden_dim,
            "heads": config.num_heads,
            "vocabulary": config.vocabulary_size,
            "longest": config.max_sequence_length,
        },
        "text": path.read_text(encoding="utf-8") if path and path.is_file() else "",
    }


def readable_card(text):
    """Return a model card without what a page cannot show: its front matter, pictures and links to files."""
    return _LINK_TO_FILE.sub(r"\1", _IMAGE.sub("", _FRONT_MATTER.sub("", text)))


def describe_machine():
    """Return the backend, its device and the system in one line."""
    # TensorFlow puts "/job:.../device:" before the name.
    device = str(keras.ops.zeros(1).device).rsplit("device:", maxsplit=1)[-1]
    return f"{keras.backend.backend()}, {device}; Python {platform.python_version()}, {platform.system()}"


def _versions():
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def _table(rows, heads=()):
    """Return rows of (name, value, ...) as HTML, under the heads of their values."""
    head = "".join(f"<th scope=col>{html.escape(name)}</th>" for name in heads)
    body = ""
    for name, *values in rows:
        cells = "".join(f"<td>{html.escape(value)}</td>" for value in values)
        body += f"<tr><th scope=row>{html.escape(name)}</th>{cells}</tr>"
    return f'<table class="kb-table"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
