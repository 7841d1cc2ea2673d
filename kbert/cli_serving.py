"""The `kbert` commands that put a model behind a server."""

from kbert.quiet_start import load_keras


def add_serving(commands, add):
    """Add the commands to the parser; `add` is `kbert.cli`'s."""
    command = add(commands, "export", _export, "write a model as a SavedModel that takes strings")
    command.add_argument("model", help="preset or folder")
    command.add_argument("output", help="folder of the versions; the SavedModel is OUTPUT/1, the next one OUTPUT/2")
    command.add_argument("--top-k", type=int, default=10, help="words a mask (default: 10)")


def _export(arguments):
    load_keras()
    from kbert.export import export_saved_model

    print(export_saved_model(arguments.model, arguments.output, arguments.top_k))
