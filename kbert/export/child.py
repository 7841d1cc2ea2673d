"""A process of its own for an export: its backend is TensorFlow, whatever this one's is."""

import json
import os
import pathlib
import subprocess
import sys


def run_in_child(function, *arguments):
    """Call a function of `kbert.export` on the TensorFlow backend: a backend cannot change inside a process.

    Args:
        function: str, its name. It returns a path.
        *arguments: str or int.

    Returns:
        the `pathlib.Path`.

    Raises:
        ValueError: what the function raises, whatever it is.
    """
    environment = os.environ | {"KERAS_BACKEND": "tensorflow"}
    command = [sys.executable, "-m", "kbert.export_process", function, json.dumps(arguments)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    last_lines = (finished.stdout if finished.returncode == 0 else finished.stderr).strip().splitlines()[-1:]
    if finished.returncode:
        raise ValueError("".join(last_lines) or f"The export ended with status {finished.returncode}.")
    return pathlib.Path(*last_lines)
