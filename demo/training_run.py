"""What a run of training/pretrain.py has written so far."""

import csv
import dataclasses
import datetime
import json
import pathlib

from kbert.optimization import WarmupLinearDecay


@dataclasses.dataclass(frozen=True)
class TrainingRun:
    """A run, as its folder shows it.

    Attributes:
        done, total: int, updates of the last line of history.csv and in all.
        rows_per_second: float, since the last start of the run; None before its first line.
        steps: list of int, updates at each line.
        curves: dict of column to list of float, one a line: losses and accuracies, with "val_" those of held-out
            text; and "learning_rate", at the line.
        examples: list of dict, what `training.examples.describe_rows` returned at the last line.
    """

    done: int
    total: int
    rows_per_second: float | None
    steps: list
    curves: dict
    examples: list


def read_run(folder):
    """Return the `TrainingRun` of a folder that training/pretrain.py writes, or has written.

    Raises:
        FileNotFoundError: the folder has no run.json.
        ValueError: the run is of an older kbert, which did not write where it saves.
    """
    folder = pathlib.Path(folder)
    path, history = folder / "run.json", folder / "history.csv"
    if not path.is_file():
        raise FileNotFoundError(
            f"A run must be a folder that training/pretrain.py writes. Received: {folder} without run.json. "
            "Start the run first."
        )
    run = json.loads(path.read_text(encoding="utf-8"))
    settings = run["settings"]
    lines = _read_lines(history)
    total = settings["steps"]
    if "saves" not in run:
        raise ValueError(
            f"A run must say where it saved. Received: {path} of an older kbert, without. Go on with the run once."
        )
    saves = [run["saves"][int(line["epoch"])] for line in lines]
    steps = [step for step, _ in saves]
    # Keras writes NA in the columns of held-out text where there is none.
    names = [name for name in (lines[0] if lines else ()) if name != "epoch" and lines[0][name] != "NA"]
    curves = {name: [float(line[name]) for line in lines] for name in names}
    warmup_steps = total // 10 if settings["warmup_steps"] is None else settings["warmup_steps"]
    schedule = WarmupLinearDecay(settings["learning_rate"], total, warmup_steps)
    curves["learning_rate"] = [float(schedule(step)) for step in steps]
    examples = folder / "examples.json"
    rows = json.loads(examples.read_text(encoding="utf-8")) if examples.is_file() else []
    return TrainingRun(steps[-1] if steps else 0, total, _speed(run, saves, history), steps, curves, rows)


def _read_lines(path):
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        # A line that is just being written lacks its last fields.
        return [line for line in csv.DictReader(file) if all(line.values())]


def _speed(run, saves, history):
    start = run["starts"][-1]
    if not saves or saves[-1][0] <= start["first_step"]:
        return None
    rows_before = ({0: 0} | dict(run["saves"]))[start["first_step"]]
    seconds = history.stat().st_mtime - datetime.datetime.fromisoformat(start["time"]).timestamp()
    return (saves[-1][1] - rows_before) / seconds if seconds > 0 else None
