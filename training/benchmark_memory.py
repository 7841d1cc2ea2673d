"""Measure how the memory of a training step grows with rows and length, with and without --remat, and draw it.

    python -m training.benchmark_memory --output memory.png

Each point is a process of its own that makes training steps (training/peers.py): the most memory it has held, in GiB.
Prints a table, and as the last line one JSON object. Memory does not depend on what else the machine does.
"""

import dataclasses
import datetime
import json

import matplotlib

from training.arguments import one_line_errors, parse, setting
from training.benchmark import run_peer
from training.step_work import Work

NAMES = {"kbert": "kbert", "kbert-remat": "kbert, remat", "transformers": "transformers"}
COLOURS = {"kbert": "#0f766e", "kbert-remat": "#b45309", "transformers": "#94a3b8"}
STEPS = 1  # After two that build and compile; the third takes no other memory.


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    size: str = setting("6x384", "LAYERSxWIDTH")
    rows: tuple = setting(("4", "16", "32", "64"), "of a batch, at the length of --length")
    length: int = setting(128, "tokens of a row, while the rows grow")
    lengths: tuple = setting(("64", "128", "256", "512"), "tokens of a row, for batches of --batch_size")
    batch_size: int = setting(8, "rows of a batch, while the length grows")
    only: tuple = setting(None, "whole pieces of work instead, such as 24x1024:8x128")
    names: tuple = setting(tuple(NAMES), ", ".join(NAMES))
    precision: str = setting("mixed_bfloat16", "of all")
    output: str = setting(None, "picture to write")


def main(argv=None):
    """Measure every point, and print and return what was found."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        panels = _panels(settings)
    print(f"{'':20}" + "".join(f"{NAMES[name]:>16}" for name in settings.names))
    found = {}
    for work in dict.fromkeys(work for works in panels.values() for work in works):
        found[str(work)] = {name: _gib(name, settings.precision, work) for name in settings.names}
        shown = ("failed" if gib is None else f"{gib:.2f}" for gib in found[str(work)].values())
        print(f"{work!s:20}" + "".join(f"{text:>16}" for text in shown), flush=True)
    if settings.output:
        _draw(panels, found, settings)
    print(json.dumps({"date": datetime.date.today().isoformat(), "gib": found}))
    return found


def _panels(settings):
    """Return {title of a panel: its pieces of work}."""
    if settings.only:
        return {"": [Work.read(text) for text in settings.only]}
    return {
        f"rows of {settings.length} tokens": [
            Work.read(f"{settings.size}:{n}x{settings.length}") for n in settings.rows
        ],
        f"tokens of {settings.batch_size} rows": [
            Work.read(f"{settings.size}:{settings.batch_size}x{length}") for length in settings.lengths
        ],
    }


def _gib(name, precision, work):
    backend = "torch" if name == "transformers" else "tensorflow"
    return run_peer(name, backend, precision, work, STEPS).get("peak_gib")


def _draw(panels, found, settings):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(9, 3.4), layout="constrained", sharey=True, squeeze=False)
    for axis, (title, works) in zip(axes[0], panels.items(), strict=True):
        for name in settings.names:
            places = [work.rows if "rows of" in title else work.length for work in works]
            values = [found[str(work)][name] for work in works]
            axis.plot(places, values, marker="o", linewidth=2, label=NAMES[name], color=COLOURS[name])
        axis.set(xlabel=title, ylim=(0, None))
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("peak memory (GiB)")
    axes[0][0].legend(frameon=False)
    figure.savefig(settings.output, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
