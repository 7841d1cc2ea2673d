"""Fine-tune a task with kbert and with transformers, one after the other on this machine, and compare.

    python -m training.benchmark_finetune mrpc --data glue_data --init kbert-small-en --seeds 3

Same encoder, rows, recipe, precision and number of seeds on both sides; training/finetune_peer.py says what is
transformers' own. The flags are those of training/finetune.py and go to both. kbert runs on the backend that
KERAS_BACKEND names, transformers on PyTorch. Prints a markdown row of scores (mean and standard deviation over the
seeds), seconds of training of a seed and peak memory, and as the last line one JSON object. Only the ratio of the
seconds means anything: machines differ, and so does what else they do.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys

SIDES = {"kbert": "training.finetune", "transformers": "training.finetune_peer"}
HEAD = "| task | epochs | score | kbert | transformers | seconds | transformers | ratio | GiB | transformers |"


def main(argv=None):
    """Run both sides, and print and return the comparison."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or {"-h", "--help"} & {*arguments}:
        print(f"{__doc__}\nFlags: python -m training.finetune --help")
        return None
    found = {name: _run(name, module, arguments) for name, module in SIDES.items()}
    summary = {"date": datetime.date.today().isoformat(), "arguments": arguments, **found}
    print("\n".join([HEAD, "|" + " --- |" * (HEAD.count("|") - 1), *_rows(found)]))
    print(json.dumps(summary))
    return summary


def _run(name, module, arguments):
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    if name == "transformers":
        environment["KERAS_BACKEND"] = "torch"
    # What a side says goes to the error stream: the table and the JSON line stand alone.
    finished = subprocess.run([sys.executable, "-m", module, *arguments], env=environment, stdout=subprocess.PIPE)
    sys.stderr.buffer.write(finished.stdout)
    if finished.returncode:
        raise SystemExit(f"Both sides must run to their end. Received: status {finished.returncode} of {module}.")
    return json.loads(finished.stdout.splitlines()[-1])


def _rows(found):
    """Return a markdown row a score; seconds and memory stand in the first."""
    ours, theirs = (found[name]["best"] for name in SIDES)
    seconds = [statistics.mean(run["seconds"] for run in side["runs"]) for side in (ours, theirs)]
    costs = [f"{seconds[0]:.0f}", f"{seconds[1]:.0f}", f"{seconds[0] / seconds[1]:.2f}"]
    costs += [f"{found[name]['peak_gib']:.2f}" for name in SIDES]
    scores = {name: (ours[part][name], theirs[part][name]) for part in ("dev", "test") for name in ours[part]}
    for number, (name, both) in enumerate(scores.items()):
        shown = [f"{values['mean']:.2f} ± {values['spread']:.2f}" for values in both]
        first = [found["kbert"]["task"], f"{ours['epochs']}"] if number == 0 else ["", ""]
        yield "| " + " | ".join([*first, name, *shown, *(costs if number == 0 else [""] * len(costs))]) + " |"


if __name__ == "__main__":
    main()
