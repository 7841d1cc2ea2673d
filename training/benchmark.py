"""Time kbert's pretraining step beside KerasHub's and transformers', one after the other on this machine.

    python -m training.benchmark
    python -m training.benchmark --work 12x768:8x128 --steps 10

Each runs in a process of its own with the same random batch. Every backend and precision takes part in the first piece
of work, in the others those that can be the best, and where a size of the model comes again, what was fastest of each
program. Prints tokens a second, the process' peak memory, the ratios to the
best configuration of each peer, and how much of the machine's fastest matrix product a step keeps busy; as the last
line one JSON object. Only ratios out of one run mean anything: machines differ, and so does what else they do.
"""

import dataclasses
import datetime
import json
import os
import shutil
import subprocess
import sys

from training.arguments import one_line_errors, parse, setting
from training.step_work import Work

BEST = (
    ("kbert", "tensorflow", "mixed_bfloat16"),
    ("keras-hub", "tensorflow", "mixed_bfloat16"),
    ("keras-hub", "tensorflow", "float32"),
    ("transformers", "torch", "mixed_bfloat16"),
)
OTHERS = (
    ("transformers", "torch", "float32"),
    ("kbert", "tensorflow", "float32"),
    ("kbert", "jax", "float32"),
    ("keras-hub", "jax", "float32"),
    ("kbert", "torch", "float32"),
    ("keras-hub", "torch", "float32"),
    ("kbert", "torch", "mixed_bfloat16"),
    ("keras-hub", "torch", "mixed_bfloat16"),
)
# A GPU computes bfloat16 on every backend.
ON_GPU = tuple((name, backend, "mixed_bfloat16") for backend in ("jax", "torch") for name in ("kbert", "keras-hub"))
PEAK = ("peak", "tensorflow", "mixed_bfloat16")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    work: tuple = setting(
        ("4x256:32x128", "6x384:16x128", "12x768:8x128", "4x256:8x512", "6x384:4x512", "12x768:2x512"),
        "LAYERSxWIDTH:ROWSxLENGTH, of the model and the batch",
    )
    steps: int = setting(3, "timed steps, after two that are not")


def main(argv=None):
    """Run every configuration, and print and return what was found."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        pieces = [Work.read(text) for text in settings.work]
    gpu = shutil.which("nvidia-smi") is not None
    best = BEST + (ON_GPU if gpu else ())
    peak = run_peer(*PEAK, pieces[0], settings.steps)
    if "error" not in peak:
        print(f"a matrix product in bfloat16: {peak['flops_per_second'] / 1e9:,.0f} GFLOP/s")
    found, fastest = [], {}
    for number, work in enumerate(pieces):
        rows = []
        size = (work.layers, work.width)
        print(f"\n{work}\n{'':14}{'backend':12}{'precision':16}{'tokens/s':>10}{'GiB':>7}{'of peak':>9}")
        for configuration in fastest.get(size, best if number else best + OTHERS):
            result = run_peer(*configuration, work, settings.steps)
            rows.append(dict(zip(("name", "backend", "precision"), configuration, strict=True)) | result)
            print(_describe(rows[-1], work, peak), flush=True)
        ratios = dict(_compare(rows))
        for name, ratio in ratios.items():
            print(f"{name}: {ratio:.2f}")
        fastest.setdefault(size, _fastest(rows))
        found.append({"work": str(work), "ratios": ratios, "rows": rows})
    summary = {"date": datetime.date.today().isoformat(), "steps": settings.steps, "peak": peak, "work": found}
    print(json.dumps(summary))
    return summary


def _fastest(rows):
    """Return the fastest configuration of each program that ran."""
    ran = sorted((row for row in rows if "error" not in row), key=lambda row: row["seconds_per_step"], reverse=True)
    return tuple({row["name"]: (row["name"], row["backend"], row["precision"]) for row in ran}.values())


def _compare(rows):
    """Yield (what is compared, ratio): the best of each peer, and KerasHub backend by backend."""
    speed = {(row["name"], row["backend"], row["precision"]): row.get("tokens_per_second") for row in rows}
    groups = [("best of each", lambda row: True)]
    for backend in ("jax", "torch"):
        groups.append((f"on {backend}", lambda row, backend=backend: row[1] == backend and row[0] != "transformers"))
    for title, belongs in groups:
        best = {}
        for row, value in speed.items():
            if value and belongs(row):
                best[row[0]] = max(value, best.get(row[0], 0.0))
        ours = best.pop("kbert", None)
        for name, value in best.items():
            if ours:
                yield f"kbert / {name}, {title}", ours / value


def _describe(row, work, peak):
    title = f"{row['name']:14}{row['backend']:12}{row['precision']:16}"
    if "error" in row:
        return f"{title}  failed: {row['error']}"
    share = work.flops / row["seconds_per_step"] / peak["flops_per_second"] if "error" not in peak else float("nan")
    return f"{title}{row['tokens_per_second']:10,.0f}{row['peak_gib']:7.1f}{share:9.0%}"


def run_peer(name, backend, precision, work, steps):
    """Return what training/peers.py printed, run in a process of its own; {"error": its last line} if it failed."""
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "training.peers", name, precision, str(work), str(steps)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    if finished.returncode:
        return {"error": (finished.stderr.strip().splitlines() or ["no output"])[-1]}
    return json.loads(finished.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
