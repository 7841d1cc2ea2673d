"""The page, and the command that opens it.

python -m demo.app --port 7860
"""

import argparse
import contextlib
import dataclasses
import html
import os
import signal

import gradio as gr
from starlette.middleware import Middleware

from demo import about_tab, fill_mask_tab, inside_tab, sentence_pair_tab, tasks_tab, tokens_tab, training_tab
from demo.kept_text import KEEP_TYPED, NOTE_TYPED
from demo.language import SET_LANGUAGE, BrowserLanguage
from demo.minute_runs import MinuteRuns
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
        "head": NOTE_TYPED,
        "js": f"() => {{ {SET_LANGUAGE}\n{KEEP_TYPED} }}",
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
    for place, (name, tab) in enumerate(_tabs(model)):
        with gr.Tab(say(f"{name}.tab"), elem_id=f"tab-{place}") as opened:
            opening = tab.build_tab(say, model)
        if opening:
            _do_once(opened.select, **opening)


def _do_once(event, fn, outputs, inputs=(), **settings):
    """Let an event do something the first time that it happens on a page."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    is_done = gr.State(False)

    def do_or_skip(done_before, *values):
        if done_before:
            return True, *[gr.skip()] * len(outputs)
        found = fn(*values)
        return True, *(found if isinstance(found, tuple) else [found])

    event(do_or_skip, [is_done, *inputs], [is_done, *outputs], **settings)


def _tabs(model):
    """Yield the name and module of each tab that the model has something for."""
    has = {
        "fill_mask": model.fill_mask,
        "pair": model.sentence_pair,
        "tasks": model.tasks,
        "inside": model.inspect,
        "training": model.run or model.minute_runs,
        "about": model.cards,
    }
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
    arguments = _parser().parse_args(argv)
    with contextlib.closing(MinuteRuns()) as minute_runs:
        try:
            shown = {"tasks": open_tasks(arguments.task), "run": arguments.run}
            if arguments.serving is None:
                shown["minute_runs"] = minute_runs
            app = build_app(dataclasses.replace(_open_model(arguments), **shown))
        except (FileNotFoundError, ValueError) as error:
            raise SystemExit(f"The page has no model to show. {error}") from error
        _launch(app, arguments.host, arguments.port, arguments.lang)
        print(f"kbert is open at {app.local_url} (Ctrl+C closes it).", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: _end(minute_runs))
        app.block_thread()


def _end(minute_runs):
    """End at once, as SIGTERM does by itself, but leave no run behind."""
    minute_runs.close()
    os._exit(0)


def _parser():
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
    return parser


def _launch(app, host, port, language):
    try:
        app.launch(server_name=host, server_port=port, prevent_thread_lock=True, quiet=True, **launch_options(language))
    except OSError as error:
        raise SystemExit(
            f"The port must be free, and the host an address of this machine. Received: {host}:{port}. "
            f"Stop the program that holds the port, or choose another with --port {port + 1}."
        ) from error


if __name__ == "__main__":
    main()
