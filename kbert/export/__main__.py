"""The child process of an export: python -m kbert.export FUNCTION ARGUMENTS, a JSON list; see `kbert.export.child`."""

import json
import sys

from kbert.export import export_saved_model, export_token_ids

if __name__ == "__main__":
    name, arguments = sys.argv[1:]
    functions = {function.__name__: function for function in (export_saved_model, export_token_ids)}
    try:
        path = functions[name](*json.loads(arguments))
    except (ValueError, OSError, ImportError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"{path}\n")
