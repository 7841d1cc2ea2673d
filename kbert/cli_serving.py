"""The `kbert` commands that put a model behind a server."""

import contextlib
import os

from kbert.quiet_start import load_keras

# What an export does not take, by its format.
NOT_OF_FORMAT = {"saved_model": ("length",), "onnx": ("length", "top_k", "weights"), "litert": ("top_k", "weights")}


def add_serving(commands, add):
    """Add the commands to the parser; `add` is `kbert.cli`'s."""
    command = add(
        commands, "export", _export, "write a model as a SavedModel that takes strings, or for ONNX or LiteRT"
    )
    command.add_argument("model", help="preset or folder")
    command.add_argument(
        "output",
        help="folder of the versions; the SavedModel is OUTPUT/1, the next one OUTPUT/2. For onnx and litert a file",
    )
    command.add_argument(
        "--format",
        default="saved_model",
        choices=("saved_model", "onnx", "litert"),
        help="what to write; onnx and litert take token ids (default: saved_model)",
    )
    command.add_argument("--length", type=int, help="tokens of the row of litert (default: 128)")
    command.add_argument("--top-k", type=int, help="of a SavedModel, words a mask (default: 10)")
    command.add_argument(
        "--weights",
        choices=("float32", "float16", "int8"),
        help="how a SavedModel holds the weights; the server computes in float32 (default: float32)",
    )

    command = add(commands, "serve", _serve, "answer TensorFlow Serving's REST requests on this machine")
    command.add_argument("folder", help="folder of the versions, as `kbert export` writes them; the highest is served")
    command.add_argument("--name", default="kbert", help="of the model in the address (default: kbert)")
    command.add_argument("--host", default="127.0.0.1", help="address to serve on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8501, help="port to serve on, 0 for a free one (default: 8501)")


def _export(arguments):
    for name in NOT_OF_FORMAT[arguments.format]:
        if getattr(arguments, name) is not None:
            raise ValueError(
                f"Each format takes its own options only. Received: --{name.replace('_', '-')} with "
                f"--format {arguments.format}."
            )
    load_keras()
    from kbert.export import export_saved_model, export_token_ids

    if arguments.format != "saved_model":
        print(export_token_ids(arguments.model, arguments.output, arguments.format, arguments.length))
        return
    given = {name: getattr(arguments, name) for name in ("top_k", "weights") if getattr(arguments, name) is not None}
    print(export_saved_model(arguments.model, arguments.output, **given))


def _serve(arguments):
    # Only C++ notes of TensorFlow come here, as it loads the model.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from kbert.serving.c_library import keep_one_heap
    from kbert.serving.rest import RestServer

    keep_one_heap()
    with RestServer(arguments.folder, arguments.name, arguments.host, arguments.port) as server:
        print(f"kbert is served at {server.url} (Ctrl+C closes it).", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
