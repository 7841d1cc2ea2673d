"""Pretrain models that differ in one thing, and put their numbers beside the paper's.

    python -m training.ablate runs/shards --output runs/ablation --pretrain "--steps 2000 --learning_rate 5e-4"

Tables: what becomes of the selected tokens (the paper's table 8), sizes (table 6; with --tasks fine-tuned on them too),
and with --tasks, --unpaired and --table tasks pretraining tasks, left to right among them (table 5;
training/ablate_tasks.py). Each row is a run of
training/pretrain.py in a process of its own, all with the options in --pretrain, hence with one budget. Then every
model is asked about the same held-out places: all held-out rows, 15 % of their tokens selected by the same draws, and
replaced 80/10/10 whatever the model was trained on. Stopped or killed, the same command goes on: finished rows are
kept, and a run goes on from its last save. Writes masking.md, sizes.md and tasks.md into --output, after every row.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json
import pathlib
import shlex
import subprocess
import sys
from typing import NamedTuple

import keras

from kbert.config import BertConfig
from kbert.convert import load
from kbert.data.pipelines import pretraining_dataset
from training import ablate_tasks, ablation_table
from training.arguments import one_line_errors, parse, setting

RESULT_FILE = "ablation.json"
PAPERS_SHARES = (80, 10, 10)
BATCH_SIZE = 64
MEASURES = ("mlm_accuracy", "mlm_perplexity", "nsp_accuracy")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    data: tuple = setting(text="folders that training/prepare.py wrote, with one vocabulary")
    output: str = setting("runs/ablation", "folder of the runs and the tables; a folder a run")
    table: str = setting("all", "which; all: masking and sizes", choices=("masking", "sizes", "tasks", "all"))
    size: str = setting("mini", "of all models of the tables of masking and of tasks")
    sizes: str = setting("tiny,mini,small", "of the models of the size table")
    pretrain: str = setting("", 'options of training/pretrain.py for every row, in quotes: "--steps 2000"')
    mask_selection_length: int = setting(20, "mask slots a row: 20 for 128 tokens, 77 for 512")
    unpaired: tuple = setting(None, "folders that training/prepare.py --nsp none wrote, for the rows without NSP")
    tasks: tuple = setting(
        None, "TASK:FOLDER of training/finetune.py, such as mrpc:glue_data; for the tables of sizes and of tasks"
    )
    finetune: str = setting("", 'options of training/finetune.py for every row, in quotes: "--seeds 3"')


class Row(NamedTuple):
    """One model: a size of `BertConfig.named`, and of the selected tokens the shares in percent (MASK, SAME, RND)."""

    size: str
    shares: tuple


def main(argv=None):
    """Train and ask all models, and return {`Row`: its numbers}, or for tasks {row: {task: score}}."""
    settings = parse(Settings, argv, __doc__)
    if settings.table == "tasks":
        with one_line_errors():
            results, written = ablate_tasks.run(settings)
        print(written, end="")
        return results
    masking = [Row(settings.size, shares) for shares in ablation_table.MASKING]
    sizes = [Row(size, PAPERS_SHARES) for size in settings.sizes.split(",")]
    tables = {"masking": masking, "sizes": sizes}
    chosen = list(tables) if settings.table == "all" else [settings.table]
    with one_line_errors():
        for row in sizes + masking:
            BertConfig.named(row.size)
        folders = _read_tasks(settings, chosen)
    results = {}
    # The paper's way on `size` may be in both tables: it is trained once.
    for row in dict.fromkeys(row for table in chosen for row in tables[table]):
        results[row] = _result_of(row, settings)
        if row in sizes and folders:
            results[row]["tasks"] = _scores_of_tasks(row, folders, settings)
        written = [_write(table, tables[table], results, settings) for table in chosen]
    print("\n".join(written), end="")
    return results


def _read_tasks(settings, tables):
    if settings.tasks and "sizes" not in tables:
        raise ValueError("--tasks are of the tables of sizes and of tasks. Received: --table masking too.")
    return ablate_tasks.read_tasks(settings) if settings.tasks else []


def _scores_of_tasks(row, folders, settings):
    return {
        task: ablate_tasks.fine_tune(f"size {row.size}", task, folder, _folder_of(row, settings), (), settings)
        for task, folder in folders
    }


def _write(table, rows, results, settings):
    """Write the rows that are there so far, and return the text."""
    found = [(row, results[row]) for row in rows if row in results]
    text = f"Each row: `{settings.pretrain}`.\n\n{getattr(ablation_table, table)(found)}\n"
    (pathlib.Path(settings.output) / f"{table}.md").write_text(text, encoding="utf-8")
    return text


def _result_of(row, settings):
    """Return the numbers of a row, from its file if they were found before with the same command."""
    folder = _folder_of(row, settings)
    command = _command(row, settings, folder)
    path = folder / RESULT_FILE
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["command"] == command:
            return found["result"]
    print(f"{folder.name}: {shlex.join(command)}", flush=True)
    if subprocess.run([sys.executable, *command]).returncode:
        raise SystemExit(f"A row must be trained to its end. Received: {folder}, whose run says above why it stopped.")
    with one_line_errors():
        result = _ask(folder, settings)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps({"command": command, "result": result}, indent=2) + "\n", encoding="utf-8")
    partial.replace(path)
    return result


def _folder_of(row, settings):
    return pathlib.Path(settings.output) / f"{row.size}-{'-'.join(map(str, row.shares))}"


def _command(row, settings, folder):
    mask, _, random = row.shares
    own = {
        "output": folder,
        "size": row.size,
        "mask_token_rate": mask / 100,
        "random_token_rate": random / 100,
        "mask_selection_length": settings.mask_selection_length,
    }
    flags = [text for name, value in own.items() for text in (f"--{name}", str(value))]
    return ["-m", "training.pretrain", *settings.data, *shlex.split(settings.pretrain), *flags]


def _ask(folder, settings):
    """Return what a model knows of the held-out rows: 80/10/10, and with [MASK] at all of the same places."""
    keras.backend.clear_session()
    model = load(folder).model
    model.compile()
    numbers = {"parameters": model.count_params()}
    for prefix, (mask, _, random) in (("", PAPERS_SHARES), ("all_masked_", (100, 0, 0))):
        rows = pretraining_dataset(
            settings.data,
            batch_size=BATCH_SIZE,
            mask_selection_length=settings.mask_selection_length,
            mask_token_rate=mask / 100,
            random_token_rate=random / 100,
            split="held_out",
        )
        found = model.evaluate(rows, return_dict=True, verbose=0)
        numbers |= {prefix + name: found[name] for name in MEASURES}
    return numbers


if __name__ == "__main__":
    main()
