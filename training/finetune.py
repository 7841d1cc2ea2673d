"""Fine-tune a BERT on a task, print the official score, and write the file that the leaderboard takes.

    python -m training.finetune rte --data glue_data --init kbert-small-en

Reads the task's files as they are downloaded. Runs on the backend that KERAS_BACKEND names. Writes to --output: the
checkpoint folder itself (kbert and transformers open it, labels included), answers/ for dev and test, result.json. Of
several settings (--grid) those with the best mean on dev are chosen, and of their runs (--seeds) the best is kept; the
mean and the spread (standard deviation of the sample) over the seeds are printed. Scores are in percent. The last line
is one JSON object.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json
import math
import pathlib
import shutil
import time

import keras

from kbert.convert import load, save_checkpoint
from training.arguments import one_line_errors, parse
from training.environment import describe_environment, leave_gpus_to_backend
from training.finetune_plan import complete, make_rows, plans_of, summary_of
from training.finetune_run import Scorer, new_model, show, train
from training.finetune_settings import Settings
from training.finetune_tasks import open_task
from training.peak_memory import peak_gib

CANDIDATE = "candidate"


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
        asked, settings = settings, complete(settings, task, checkpoint.config.max_sequence_length)
        print(json.dumps(dataclasses.asdict(settings)))
        rows = make_rows(task, tokenizer, settings)
        results = []
        for plans in plans_of(settings, asked):
            # The first settings write where the best is to lie, others beside it until their mean is known.
            folder = pathlib.Path(settings.output) / (CANDIDATE if results else "")
            runs = []
            for plan in plans:
                best = max((run["main"] for run in runs), default=-math.inf)
                runs.append(_run(task, tokenizer, rows, plan, settings, best, folder))
            results.append(summary_of(plans[0], runs))
            _keep_best(results, folder, settings)
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
    if settings.bilstm and settings.layer_decay != 1.0:
        raise ValueError("--layer_decay knows the layers of the encoder. Received: --bilstm too.")
    if not 0 <= settings.warmup < 1:
        raise ValueError(f"--warmup must be at least 0 and below 1. Received: --warmup {settings.warmup}.")


def _run(task, tokenizer, rows, plan, settings, best, folder):
    """Train once; write the model into a folder where it is better than those with the same settings so far."""
    print(f"batch {plan.batch_size}, learning rate {plan.learning_rate:g}, epochs {plan.epochs}, seed {plan.seed}")
    keras.utils.clear_session()
    keras.utils.set_random_seed(plan.seed)
    model = new_model(task, settings)
    result, answers = train(model, tokenizer, task, rows, plan, settings)
    result["seed"] = plan.seed
    is_best = result["main"] > best
    answers_folder = folder / "answers" if is_best else None
    if is_best:
        if not settings.bilstm:  # Hugging Face's layout has no place for one.
            save_checkpoint(model, tokenizer, folder)
        for name, (examples, _) in rows.scored.items():
            task.write_answers(name, examples, answers[name], answers_folder)
    result["tests"] = _answer_tests(Scorer(model, tokenizer, task, rows), settings, answers_folder)
    return result


def _answer_tests(scorer, settings, folder):
    """Return the scores of the test sets whose answers are known; with a folder, write the answers to all of them."""
    task, tests = scorer.task, {}
    for name, examples in task.test.items():
        is_scored = task.has_answers(examples)
        if not is_scored and folder is None:
            continue
        rows = task.rows(scorer.source.tokenizer, examples, settings.max_sequence_length)
        answers = scorer.answer(examples, rows)
        if folder is not None:
            task.write_answers(name, examples, answers, folder)
        if is_scored:
            tests[name] = task.score(examples, answers)
    return tests


def _keep_best(results, folder, settings):
    """Put what the last settings wrote into its folder in the place of the best, if their mean is the best."""
    output = pathlib.Path(settings.output)
    if folder == output:
        return
    if results[-1] is _chosen(results):
        shutil.copytree(folder, output, dirs_exist_ok=True)
    shutil.rmtree(folder)


def _chosen(results):
    return max(results, key=lambda result: result["main"])


def _finish(settings, environment, results):
    output = pathlib.Path(settings.output)
    chosen = _chosen(results)
    kept = max(chosen["runs"], key=lambda run: run["main"])
    for run in (run for result in results for run in result["runs"]):
        run["is_kept"] = run is kept
    if len(results) > 1:
        names = ("batch_size", "learning_rate", "epochs")
        print("best on dev: " + ", ".join(f"{name} {chosen[name]:g}" for name in names))
    if kept["tests"]:
        print(f"test, by the model that is kept: {show(kept['tests'])}")
    result = {"task": settings.task, "best": chosen, "peak_gib": round(peak_gib(), 3)}
    everything = result | {"settings": dataclasses.asdict(settings), "environment": environment, "all": results}
    (output / "result.json").write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    print(f"{output}: {'no checkpoint' if settings.bilstm else 'the checkpoint'}; {output / 'answers'}: its answers")
    return result


if __name__ == "__main__":
    main()
