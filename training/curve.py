"""Draw the curves of a pretraining run: loss, masked-word accuracy and next-sentence accuracy over rows.

    python -m training.curve runs/bert --output curve.png

Reads the run's history.csv and run.json. Solid lines are held-out numbers where the run has them.
"""

import csv
import dataclasses
import json
import pathlib

import matplotlib

from training.arguments import parse, setting

PANELS = (
    ("mlm_loss", "masked-word loss (nats)"),
    ("mlm_accuracy", "masked-word accuracy"),
    ("nsp_accuracy", "next-sentence accuracy"),
)
TRAINING, HELD_OUT = "#94a3b8", "#0f766e"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    run: str = setting(text="folder that training/pretrain.py wrote")
    output: str = setting("curve.png", "picture to write")


def main(argv=None):
    """Write the picture."""
    settings = parse(Settings, argv, __doc__)
    run = pathlib.Path(settings.run)
    with (run / "history.csv").open(newline="") as file:
        history = list(csv.DictReader(file))
    if not history:
        raise SystemExit(f"A run must have saved once. Received: {run / 'history.csv'} without a line.")
    saves = json.loads((run / "run.json").read_text(encoding="utf-8")).get("saves")
    if saves is None:
        raise SystemExit(
            f"A run must say where it saved. Received: {run / 'run.json'} of an older kbert, without saves."
        )
    rows = [saves[int(line["epoch"])][1] / 1000 for line in history]

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(PANELS), figsize=(12, 3.4), layout="constrained")
    for panel, (name, title) in zip(panels, PANELS, strict=True):
        for key, label, colour in ((name, "training", TRAINING), (f"val_{name}", "held out", HELD_OUT)):
            if key in history[0]:
                panel.plot(rows, [float(line[key]) for line in history], color=colour, label=label, linewidth=2)
        panel.set(title=title, xlabel="thousand rows")
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.savefig(settings.output, dpi=110)


if __name__ == "__main__":
    main()
