"""The tab "About": which model answers, on what, and its model card."""

import html
import importlib.metadata
import platform
import re

import gradio as gr
import keras

from demo.questions import PAGE_QUESTION, answer_to_program

PACKAGES = ("keras-kbert", "keras", "tensorflow", "jax", "torch", "tokenizers", "gradio")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_LINK_TO_FILE = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


def build_tab(say, model):
    """Lay out the tab inside the `gr.Blocks` being built.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.

    Returns:
        dict, what a Gradio event must do when the tab is opened: show the sizes of the models, which it loads.
    """
    names = [card["name"] for card in model.cards]

    def show():
        rows = zip(*(sizes.items() for sizes in model.sizes()), strict=True)
        return _table([(say(f"about.{row[0][0]}"), *(f"{value:,}" for _, value in row)) for row in rows], names)

    rows = [(say("about.runs_on"), describe_machine()), (say("about.versions"), _versions())]
    gr.HTML(_table(rows), js_on_load=None)
    sizes = gr.HTML(_table([], names), js_on_load=None, elem_classes="kb-section kb-numbers")
    for card in model.cards:
        if card["text"]:
            with gr.Accordion(say("about.card", name=card["name"]), open=False):
                gr.Markdown(readable_card(card["text"]))
    return PAGE_QUESTION | {"fn": show, "outputs": sizes}


def publish(model):
    """Publish the tab's endpoint of a `PageModel`."""

    def answer() -> dict:
        """The models with their sizes and cards, the backend and device, and the versions of the packages."""
        sizes = list(model.sizes()) or [{}] * len(model.cards)
        models = [card | {"sizes": found} for card, found in zip(model.cards, sizes, strict=True)]
        return {"models": models, "runs_on": describe_machine(), "versions": _versions()}

    answer_to_program(answer, "about")


def card_of(name, folder=None):
    """Return what the tab shows of a checkpoint without loading it, as a dict of plain values.

    Args:
        name: str.
        folder: `pathlib.Path` whose README.md is the model card, or None.
    """
    path = folder and folder / "README.md"
    return {"name": name, "text": path.read_text(encoding="utf-8") if path and path.is_file() else ""}


def sizes_of(checkpoint):
    """Return the sizes of a `kbert.convert.Checkpoint` as a dict of int."""
    config = checkpoint.model.backbone.config
    return {
        "parameters": checkpoint.model.count_params(),
        "layers": config.num_layers,
        "width": config.hidden_dim,
        "heads": config.num_heads,
        "vocabulary": config.vocabulary_size,
        "longest": config.max_sequence_length,
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
