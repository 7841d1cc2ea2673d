"""The page, and the command that opens it.

python -m demo.app --port 7860
"""

import argparse
import functools
import html
import pathlib

import gradio as gr
from starlette.middleware import Middleware

from demo import fill_mask_tab, inside_tab, sentence_pair_tab, tokens_tab
from demo.offline import OfflinePage
from demo.theme import CSS, THEME

SUBTITLE = "BERT for Keras 3. Ask which word is missing, or whether one sentence follows another."

# What `launch` must be given: Gradio takes a page's looks there, not where the page is built.
LAUNCH_OPTIONS = {
    "theme": THEME,
    "css": CSS,
    "app_kwargs": {"middleware": [Middleware(OfflinePage)]},
    "footer_links": [],
    "run_history": False,
    "share": False,
    "ssr_mode": False,
}


def build_app(fill_mask, sentence_pair, inspect, tokenizers, languages=("en", "ko"), title="kbert"):
    """Build the page. Launch it with `LAUNCH_OPTIONS`.

    Args:
        fill_mask: `kbert.inference.FillMask`, or any callable with its signature.
        sentence_pair: `kbert.inference.SentencePair`, or any callable with its signature.
        inspect: `kbert.InspectText`, or any callable with its signature.
        tokenizers: dict of name to `WordPieceTokenizer`, shown side by side.
        languages: of "en" and "ko", those to show examples in.
        title: str, the page's heading and the browser tab's.

    Returns:
        `gr.Blocks` with the endpoints "fill_mask", "sentence_pair", "attention" and "tokenize".
    """
    with gr.Blocks(title=title, analytics_enabled=False) as app:
        gr.HTML(f'<header class="kb-header"><h1>{html.escape(title)}</h1><p>{SUBTITLE}</p></header>', js_on_load=None)
        with gr.Tab("Fill mask"):
            fill_mask_tab.build_tab(fill_mask, languages)
        with gr.Tab("Sentence pair"):
            sentence_pair_tab.build_tab(sentence_pair, languages)
        with gr.Tab("Inside"):
            inside_tab.build_tab(inspect, languages)
        with gr.Tab("Tokens"):
            tokens_tab.build_tab(tokenizers, languages)
    return app


def main(argv=None):
    """Load a checkpoint and serve the page until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m demo.app", description="Open kbert in the browser.")
    parser.add_argument("--model", help="preset or checkpoint folder (the English and the Korean preset, by the text)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is all (%(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="(%(default)s)")
    arguments = parser.parse_args(argv)

    try:
        app = build_app(*_open_model(arguments.model))
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(f"The page has no model to show. {error}") from error
    host, port = arguments.host, arguments.port
    try:
        app.launch(server_name=host, server_port=port, prevent_thread_lock=True, quiet=True, **LAUNCH_OPTIONS)
    except OSError as error:
        raise SystemExit(
            f"The port must be free, and the host an address of this machine. Received: {host}:{port}. "
            f"Stop the program that holds the port, or choose another with --port {port + 1}."
        ) from error
    print(f"kbert is open at {app.local_url} (Ctrl+C closes it).", flush=True)
    app.block_thread()


def _open_model(name):
    """Return what `build_app` takes of a model; of the two presets for None."""
    # Seconds of imports that --help does without.
    from kbert import FillMask, InspectText, SentencePair, WordPieceTokenizer, load
    from kbert.convert.sources import find_checkpoint
    from kbert.inference.languages import ENGLISH, KOREAN, by_language, reads

    def inspect(checkpoint):
        longest = checkpoint.model.backbone.config.max_sequence_length
        return InspectText(checkpoint, max_sequence_length=min(longest, inside_tab.MAX_TOKENS))

    kinds = (FillMask, SentencePair, inspect)
    presets = {preset: WordPieceTokenizer.from_folder(find_checkpoint(preset)) for preset in (ENGLISH, KOREAN)}
    if name is None:
        load_once = functools.cache(load)  # The questions of a language share its model.
        asked = [by_language(lambda preset, kind=kind: kind(load_once(preset))) for kind in kinds]
        return *asked, presets, ("en", "ko")
    checkpoint = load(name)
    tokenizers = {pathlib.Path(name).name: checkpoint.tokenizer} | presets
    return *(kind(checkpoint) for kind in kinds), tokenizers, reads(checkpoint.tokenizer) or ("en",)


if __name__ == "__main__":
    main()
