"""A server in a process of its own, as a person starts it."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def serve(folder, *options):
    """Yield the address of the model in a folder of versions; yield (address, process)."""
    command = [sys.executable, "-m", "kbert.cli", "serve", folder, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("kbert is served at http://127.0.0.1:"), process.stderr.read()
        yield line.split()[4], process
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
        process.stderr.close()
