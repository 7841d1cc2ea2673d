"""What a fine-tuning run starts from and how several are summed up: settings, rows, seeds."""

import dataclasses
import itertools
import statistics

import numpy as np

from kbert.tasks.recipe import GRID
from training.finetune_run import Plan, TaskRows


def complete(settings, task, longest):
    """Fill in the task's recipe where nothing is set.

    A model that reads less than the recipe's rows gets shorter ones. With --document_context they are its longest.

    Args:
        settings: `training.finetune_settings.Settings`.
        task: such as `ClassificationTask`.
        longest: int, the tokens that the model reads.
    """
    if settings.max_sequence_length is not None and settings.max_sequence_length > longest:
        raise ValueError(
            f"--max_sequence_length must be at most what the model reads, {longest}. "
            f"Received: --max_sequence_length {settings.max_sequence_length}."
        )
    given = {name: getattr(settings, name) for name in dataclasses.asdict(task.recipe)}
    recipe = {name: getattr(task.recipe, name) for name, value in given.items() if value is None}
    if "max_sequence_length" in recipe:
        recipe["max_sequence_length"] = (
            longest if settings.document_context else min(recipe["max_sequence_length"], longest)
        )
    return dataclasses.replace(settings, output=settings.output or f"runs/{settings.task}", **recipe)


def make_rows(task, tokenizer, settings):
    """Return the `TaskRows` of a task, as --max_train_rows and --class_weights ask."""
    longest = settings.max_sequence_length
    rows = task.rows(tokenizer, task.train, longest)
    if settings.max_train_rows:
        kept = np.random.default_rng(0).permutation(len(rows))[: settings.max_train_rows]
        rows = [rows[index] for index in kept]
    if settings.class_weights:
        rows = _weigh(task, rows)
    scored = {name: (examples, task.rows(tokenizer, examples, longest)) for name, examples in task.dev.items()}
    return TaskRows(rows, scored, longest)


def _weigh(task, rows):
    """Give each row the weight n / (C n_class), scikit-learn's "balanced"."""
    if getattr(task, "problem", None) != "one_class":
        raise ValueError("--class_weights needs a task with one class a row.")
    counts = np.bincount([row.targets["logits"] for row in rows], minlength=len(task.label_names))
    weights = len(rows) / (len(counts) * np.maximum(counts, 1))
    return [dataclasses.replace(row, weights={"logits": weights[row.targets["logits"]]}) for row in rows]


def plans_of(settings, asked):
    """Yield the runs of each combination of settings, a list with one a seed.

    Args:
        settings: what `complete` returned.
        asked: `training.finetune_settings.Settings` as given: --grid leaves alone what is set there.
    """
    values = [
        grid if settings.grid and getattr(asked, name) is None else (getattr(settings, name),)
        for name, grid in GRID.items()
    ]
    for combination in itertools.product(*values):
        yield [Plan(*combination, seed) for seed in range(settings.seed, settings.seed + settings.seeds)]


def summary_of(plan, runs):
    """Print and return mean and spread over the seeds.

    Args:
        plan: `Plan` of one of the runs.
        runs: list of dicts with `scores`, `tests` (dicts of set to metric to score) and `main`.
    Returns:
        dict: the settings in `plan`, `main`, `dev` and `test` (dict of "SET METRIC" to `mean` and `spread`), `runs`.
    """
    settings = {name: getattr(plan, name) for name in ("batch_size", "learning_rate", "epochs")}
    spreads = {"dev": _spreads([run["scores"] for run in runs]), "test": _spreads([run["tests"] for run in runs])}
    named = itertools.chain.from_iterable(spreads[part].items() for part in spreads)
    shown = "  ".join(f"{name} {values['mean']:.2f} ± {values['spread']:.2f}" for name, values in named)
    print(f"{len(runs)} seed(s): {shown}")
    return settings | {"main": statistics.mean(run["main"] for run in runs), **spreads, "runs": runs}


def _spreads(scores):
    spreads = {}
    for set_name, metrics in scores[0].items():
        for metric in metrics:
            values = [of_run[set_name][metric] for of_run in scores]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            spreads[f"{set_name} {metric}"] = {"mean": statistics.mean(values), "spread": spread}
    return spreads
