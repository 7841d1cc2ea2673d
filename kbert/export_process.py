"""The child process of an export: python -m kbert.export_process FUNCTION ARGUMENTS, a JSON list.

See `kbert.export.child`. It stands outside of `kbert.export`, which loads Keras when it is imported.
"""

import json
import sys

from kbert.quiet_start import load_keras

if __name__ == "__main__":
    load_keras()
    from kbert.export import export_saved_model, export_token_ids

    name, arguments = sys.argv[1:]
    functions = {function.__name__: function for function in (export_saved_model, export_token_ids)}
    try:
        path = functions[name](*json.loads(arguments))
    except (ValueError, OSError, ImportError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"{path}\n")
