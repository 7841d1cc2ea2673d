"""The page, and the command that opens it.

python -m demo.app --port 7860
"""

import argparse
import dataclasses
import html

import gradio as gr
from starlette.middleware import Middleware

from demo import about_tab, fill_mask_tab, inside_tab, sentence_pair_tab, tasks_tab, tokens_tab, training_tab
from demo.language import SET_LANGUAGE, BrowserLanguage
from demo.offline import OfflinePage
from demo.page_model import open_page_model, open_tasks, preset_tokenizers
from demo.served_model import open_served_model
from demo.theme import CSS, THEME
from demo.words import LANGUAGES, Words

TABS = {
    "fill_mask": fill_mask_tab,
    "pair": sentence_pair_tab,
    "inside": inside_tab,
    "tokens": tokens_tab,
    "tasks": tasks_tab,
    "training": training_tab,
    "about": about_tab,
}


def launch_options(language=None):
    """Return what `launch` must be given: Gradio takes a page's looks there, not where the page is built.

    Args:
        language: "en" or "ko" for every browser; None for the one that a browser asks for.
    """
    return {
        "theme": THEME,
        "css": CSS,
        "js": SET_LANGUAGE,
        "app_kwargs": {"middleware": [Middleware(BrowserLanguage, language=language), Middleware(OfflinePage)]},
        "footer_links": [],
        "run_history": False,
        "share": False,
        "ssr_mode": False,
    }


def build_app(model, title="kbert"):
    """Build the page, in English at "/" and in Korean at "/ko". Launch it with `launch_options()`.

    Args:
        model: `demo.page_model.PageModel`.
        title: str, the page's heading and the browser tab's.

    Returns:
        `gr.Blocks` with the endpoints "fill_mask", "fill_jointly", "score", "sentence_pair", "joints", "attention",
        "masking_game", "tokenize", "training_run", "about" and those of `demo.tasks_tab`, as far as the model has them.
    """
    with gr.Blocks(title=title, analytics_enabled=False) as app:
        _build_page(Words("en"), model, title)
        for _, tab in _tabs(model):
            tab.publish(model)
    with app.route(LANGUAGES["ko"], "/ko", show_in_navbar=False):
        _build_page(Words("ko"), model, title)
    return app


def _build_page(say, model, title):
    gr.HTML(_header(say, title), js_on_load=None)
    for name, tab in _tabs(model):
        with gr.Tab(say(f"{name}.tab")):
            tab.build_tab(say, model)


def _tabs(model):
    """Yield the name and module of each tab that the model has something for."""
    has = {"tasks": model.tasks, "inside": model.inspect, "training": model.run, "about": model.cards}
    yield from ((name, tab) for name, tab in TABS.items() if has.get(name, True))


def _open_model(arguments):
    if arguments.serving is None:
        return open_page_model(arguments.model)
    return open_served_model(arguments.serving, preset_tokenizers())


def _header(say, title):
    links = "".join(
        f'<a href="{address}" lang="{language}"{" aria-current=page" * (language == say.language)}>{name}</a>'
        for (language, name), address in zip(LANGUAGES.items(), ("./?lang=en", "./ko"), strict=True)
    )
    return (
        f'<header class="kb-header"><div><h1>{html.escape(title)}</h1><p>{html.escape(say("page.subtitle"))}</p></div>'
        f'<nav aria-label="{say("page.languages")}">{links}</nav></header>'
    )


def main(argv=None):
    """Load a checkpoint and serve the page until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m demo.app", description="Open kbert in the browser.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--model", help="preset or checkpoint folder (the English and the Korean preset, by the text)")
    source.add_argument("--serving", metavar="URL", help="a served model, such as http://HOST:8501/v1/models/NAME")
    parser.add_argument(
        "--task", nargs="+", action="extend", default=[], metavar="FOLDER", help="fine-tuned checkpoint folders"
    )
    parser.add_argument("--run", metavar="FOLDER", help="a run of training/pretrain.py to watch")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is all (%(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="(%(default)s)")
    parser.add_argument("--lang", choices=LANGUAGES, help="language of the page (the one that the browser asks for)")
    arguments = parser.parse_args(argv)

    try:
        model = _open_model(arguments)
        app = build_app(dataclasses.replace(model, tasks=open_tasks(arguments.task), run=arguments.run))
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(f"The page has no model to show. {error}") from error
    host, port = arguments.host, arguments.port
    try:
        app.launch(
            server_name=host,
            server_port=port,
            prevent_thread_lock=True,
            quiet=True,
            **launch_options(arguments.lang),
        )
    except OSError as error:
        raise SystemExit(
            f"The port must be free, and the host an address of this machine. Received: {host}:{port}. "
            f"Stop the program that holds the port, or choose another with --port {port + 1}."
        ) from error
    print(f"kbert is open at {app.local_url} (Ctrl+C closes it).", flush=True)
    app.block_thread()


if __name__ == "__main__":
    main()
