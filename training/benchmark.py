"""Time kbert's pretraining step beside KerasHub's and transformers', one after the other on this machine.

    python -m training.benchmark --size 4x256 --batch_size 32 --length 128 --steps 10

Each runs in a process of its own with the same random batch. Prints a table, the ratios to the best configuration of
each peer, and as the last line one JSON object. Only ratios out of one run mean anything: machines differ, and so does
what else they do.
"""

import dataclasses
import datetime
import json
import os
import subprocess
import sys

from training.arguments import parse, setting

CONFIGURATIONS = (
    ("kbert", "tensorflow", "mixed_bfloat16"),
    ("keras-hub", "tensorflow", "mixed_bfloat16"),
    ("transformers", "torch", "mixed_bfloat16"),
    ("kbert", "tensorflow", "float32"),
    ("keras-hub", "tensorflow", "float32"),
    ("transformers", "torch", "float32"),
    ("kbert", "jax", "float32"),
    ("keras-hub", "jax", "float32"),
    ("kbert", "torch", "float32"),
    ("keras-hub", "torch", "float32"),
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    size: str = setting("4x256", "LAYERSxWIDTH of the model")
    batch_size: int = setting(32, "rows a step")
    length: int = setting(128, "tokens a row")
    steps: int = setting(5, "timed steps, after two that are not")


def main(argv=None):
    """Run every configuration and print the table and the JSON line."""
    settings = parse(Settings, argv, __doc__)
    layers, width = settings.size.split("x")
    work = [layers, width, str(settings.batch_size), str(settings.length), str(settings.steps)]
    rows = []
    print(f"{settings.size}, {settings.batch_size} x {settings.length} tokens a step\n")
    print(f"{'':14}{'backend':12}{'precision':16}{'tokens/s':>10}{'GiB':>7}")
    for name, backend, precision in CONFIGURATIONS:
        result = _run(name, backend, precision, work)
        rows.append({"name": name, "backend": backend, "precision": precision} | result)
        shown = (
            f"{result['tokens_per_second']:10,.0f}{result['peak_gib']:7.1f}" if "error" not in result else "  failed"
        )
        print(f"{name:14}{backend:12}{precision:16}{shown}", flush=True)
    best = {
        name: max(row.get("tokens_per_second", 0) for row in rows if row["name"] == name) for name, *_ in CONFIGURATIONS
    }
    ratios = {f"kbert / {name}": best["kbert"] / best[name] for name in best if name != "kbert" and best[name]}
    for name, ratio in ratios.items():
        print(f"{name}, best of each: {ratio:.2f}")
    summary = {"date": datetime.date.today().isoformat(), "settings": dataclasses.asdict(settings), "ratios": ratios}
    print(json.dumps(summary | {"rows": rows}))


def _run(name, backend, precision, work):
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "training.peers", name, precision, *work]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    if finished.returncode:
        return {"error": (finished.stderr.strip().splitlines() or ["no output"])[-1]}
    return json.loads(finished.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
