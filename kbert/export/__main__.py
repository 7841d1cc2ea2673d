"""The child process of an export: python -m kbert.export SOURCE FOLDER TOP_K WEIGHTS, on the TensorFlow backend."""

import sys

from kbert.export import export_saved_model

if __name__ == "__main__":
    source, folder, top_k, weights = sys.argv[1:]
    try:
        path = export_saved_model(source, folder, int(top_k), weights)
    except (ValueError, OSError, ImportError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"{path}\n")
