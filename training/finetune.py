"""Fine-tune a BERT on a task, print the official score, and write the file that the leaderboard takes.

    python -m training.finetune rte --data glue_data --init kbert-small-en

Reads the task's files as they are downloaded. Runs on the backend that KERAS_BACKEND names. Writes to --output: the
checkpoint folder itself (kbert and transformers open it, labels included), answers/ for dev and test, result.json. Of
several runs (--seeds, --grid) the one with the best dev score is kept; the mean and the spread (standard deviation of
the sample) over the seeds are printed. Scores are in percent. The last line is one JSON object.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import itertools
import json
import pathlib
import resource
import statistics
import sys
import time

import keras
import numpy as np

from kbert.convert import load, save_checkpoint
from kbert.tasks.recipe import GRID
from training.arguments import one_line_errors, parse
from training.environment import describe_environment, leave_gpus_to_backend
from training.finetune_run import Plan, Scorer, TaskRows, new_model, show, train
from training.finetune_settings import Settings
from training.finetune_tasks import open_task


def main(argv=None):
    """Fine-tune, save, and return the results."""
    settings = parse(Settings, argv, __doc__)
    leave_gpus_to_backend()
    environment = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z")} | describe_environment()
    print(f"backend {environment['backend']} on {environment['device']}")
    with one_line_errors():
        _check(settings)
        task = open_task(settings)
        for note in task.notes:
            print(f"note: {note}")
        checkpoint = load(settings.init)
        tokenizer = checkpoint.tokenizer
        settings = _complete(settings, task, checkpoint.config.max_sequence_length)
        print(json.dumps(dataclasses.asdict(settings)))
        rows = _make_rows(task, tokenizer, settings)
        best, results = None, []
        for plans in _plans(settings):
            runs = []
            for plan in plans:
                runs.append(_run(task, tokenizer, rows, plan, settings, best))
                best = max(best or -float("inf"), runs[-1]["main"])
            results.append(_summary(plans[0], runs))
    result = _finish(settings, environment, results)
    print(json.dumps(result))
    return result


def _check(settings):
    if settings.init is None:
        raise ValueError("--init must be given: a checkpoint folder or a preset, such as kbert-small-en.")
    for name in ("batch_size", "epochs", "seeds", "patience", "max_train_rows"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} must be at least 1. Received: --{name} {value}.")
    if not 0 <= settings.warmup < 1:
        raise ValueError(f"--warmup must be at least 0 and below 1. Received: --warmup {settings.warmup}.")


def _complete(settings, task, longest):
    """Fill in the task's recipe where nothing is set; a model that reads less than its rows gets shorter ones."""
    if settings.max_sequence_length is not None and settings.max_sequence_length > longest:
        raise ValueError(
            f"--max_sequence_length must be at most what the model reads, {longest}. "
            f"Received: --max_sequence_length {settings.max_sequence_length}."
        )
    given = {name: getattr(settings, name) for name in dataclasses.asdict(task.recipe)}
    recipe = {name: getattr(task.recipe, name) for name, value in given.items() if value is None}
    if "max_sequence_length" in recipe:
        recipe["max_sequence_length"] = min(recipe["max_sequence_length"], longest)
    return dataclasses.replace(settings, output=settings.output or f"runs/{settings.task}", **recipe)


def _make_rows(task, tokenizer, settings):
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


def _plans(settings):
    """Yield the runs of each combination of settings, a list with one a seed."""
    names = ("batch_size", "learning_rate", "epochs")
    values = [GRID[name] if settings.grid else (getattr(settings, name),) for name in names]
    for combination in itertools.product(*values):
        yield [Plan(*combination, seed) for seed in range(settings.seed, settings.seed + settings.seeds)]


def _run(task, tokenizer, rows, plan, settings, best):
    """Train once; keep the model where it is the best so far."""
    print(f"batch {plan.batch_size}, learning rate {plan.learning_rate:g}, epochs {plan.epochs}, seed {plan.seed}")
    keras.utils.clear_session()
    keras.utils.set_random_seed(plan.seed)
    model = new_model(task, settings)
    result, answers = train(model, tokenizer, task, rows, plan, settings)
    result["seed"] = plan.seed
    if best is None or result["main"] > best:
        output = pathlib.Path(settings.output)
        save_checkpoint(model, tokenizer, output)
        for name, (examples, _) in rows.scored.items():
            task.write_answers(name, examples, answers[name], output / "answers")
        result["tests"] = _answer_tests(Scorer(model, tokenizer, task, rows), settings, output / "answers")
    return result


def _answer_tests(scorer, settings, folder):
    """Write the answers to the test sets; return the scores of those whose answers are known."""
    task, tests = scorer.task, {}
    for name, examples in task.test.items():
        rows = task.rows(scorer.source.tokenizer, examples, settings.max_sequence_length)
        answers = scorer.answer(examples, rows)
        task.write_answers(name, examples, answers, folder)
        if task.has_answers(examples):
            tests[name] = task.score(examples, answers)
    return tests


def _summary(plan, runs):
    """Return mean and spread of each score over the seeds, and print them."""
    settings = {name: getattr(plan, name) for name in ("batch_size", "learning_rate", "epochs")}
    spreads = {}
    for set_name, scores in runs[0]["scores"].items():
        for metric in scores:
            values = [run["scores"][set_name][metric] for run in runs]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            spreads[f"{set_name} {metric}"] = {"mean": statistics.mean(values), "spread": spread}
    shown = "  ".join(f"{name} {values['mean']:.2f} ± {values['spread']:.2f}" for name, values in spreads.items())
    print(f"{len(runs)} seed(s): {shown}")
    return settings | {"main": statistics.mean(run["main"] for run in runs), "dev": spreads, "runs": runs}


def _finish(settings, environment, results):
    output = pathlib.Path(settings.output)
    chosen = max(results, key=lambda result: result["main"])
    if len(results) > 1:
        names = ("batch_size", "learning_rate", "epochs")
        print("best on dev: " + ", ".join(f"{name} {chosen[name]:g}" for name in names))
    tests = [run["tests"] for result in results for run in result["runs"] if run.get("tests")]
    if tests:
        print(f"test, by the model that is kept: {show(tests[-1])}")
    # Linux counts in KiB, macOS in bytes.
    unit = 2**30 if sys.platform == "darwin" else 2**20
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    result = {"task": settings.task, "best": chosen, "peak_gib": round(peak_gib, 3)}
    everything = result | {"settings": dataclasses.asdict(settings), "environment": environment, "all": results}
    (output / "result.json").write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    print(f"{output}: the checkpoint; {output / 'answers'}: its answers")
    return result


if __name__ == "__main__":
    main()
