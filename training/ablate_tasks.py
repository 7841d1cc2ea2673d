"""The table of pretraining tasks for training/ablate.py: four models, each fine-tuned on some tasks.

Masked words with and without next-sentence prediction, the left-to-right model, and that with a BiLSTM on top; the
paper's table 5.
"""

import hashlib
import json
import pathlib
import shlex
import subprocess
import sys

from training.ablation_table import TASK_SCORES, tasks

LEFT_TO_RIGHT = "LTR & No NSP"
# Row of the table -> is it pretrained on sentence pairs, flags of its pretraining, flags of its fine-tuning.
MODELS = {
    "BERT": (True, (), ()),
    "No NSP": (False, (), ()),
    LEFT_TO_RIGHT: (False, ("--left_to_right",), ()),
    "+ BiLSTM": (False, ("--left_to_right",), ("--bilstm",)),
}


def run(settings):
    """Pretrain, fine-tune, and write tasks.md after every row.

    Args:
        settings: `training.ablate.Settings`.

    Returns:
        (dict of row name to dict of task to mean dev score in percent, text of the table).

    Raises:
        ValueError: there are no tasks, or no rows without sentence pairs, or a task is none of the table's.
    """
    folders = read_tasks(settings)
    if not settings.unpaired:
        raise ValueError("--unpaired must be given: folders of training/prepare.py --nsp none. Received: none.")
    found, text = {}, ""
    for name, (is_paired, pretraining, finetuning) in MODELS.items():
        model = _pretrain(name, is_paired, pretraining, settings)
        found[name] = {task: fine_tune(name, task, folder, model, finetuning, settings) for task, folder in folders}
        commands = f"Each row: `{settings.pretrain}`, then `{settings.finetune}`."
        text = f"{commands}\n\n{tasks(found)}\n"
        (pathlib.Path(settings.output) / "tasks.md").write_text(text, encoding="utf-8")
    return found, text


def read_tasks(settings):
    """Return (task, folder) of each of --tasks.

    Raises:
        ValueError: there are none, or one is none of the table's.
    """
    pairs = [text.partition(":")[::2] for text in settings.tasks or ()]
    wrong = [task for task, folder in pairs if task not in TASK_SCORES or not folder]
    if wrong or not pairs:
        raise ValueError(
            f"--tasks must be TASK:FOLDER, the task one of {', '.join(TASK_SCORES)}. Received: {settings.tasks}."
        )
    return pairs


def _pretrain(name, is_paired, flags, settings):
    """Return the folder of a pretrained model; the last two rows share one."""
    folder = pathlib.Path(settings.output) / f"tasks-{_slug(LEFT_TO_RIGHT if flags else name)}"
    data = settings.data if is_paired else settings.unpaired
    own = ["--output", str(folder), "--size", settings.size]
    own += ["--mask_selection_length", str(settings.mask_selection_length)]
    _run_module("training.pretrain", *data, *shlex.split(settings.pretrain), *own, *flags)
    return folder


def fine_tune(name, task, folder, model, flags, settings):
    """Return the dev score of a task in percent, from its file if it was found before with command and encoder.

    Args:
        name: str, the row of the table.
        task, folder: str, of `read_tasks`.
        model: pathlib.Path, the pretrained checkpoint; the output lies beside it.
        flags: tuple of str, to training/finetune.py.
        settings: `training.ablate.Settings`.
    """
    output = model.with_name(f"tasks-{_slug(name)}-{task}")
    own = ["--data", folder, "--init", str(model), "--output", str(output), *flags]
    command = [task, *shlex.split(settings.finetune), *own]
    run = {"command": command, "encoder": _digest(model / "model.safetensors")}
    path = output / "ablation.json"
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if {name: kept.get(name) for name in run} == run:
            return kept["score"]
    result = json.loads(_run_module("training.finetune", *command).splitlines()[-1])
    score = result["best"]["dev"][TASK_SCORES[task]]["mean"]
    path.write_text(json.dumps(run | {"score": score}) + "\n", encoding="utf-8")
    return score


def _digest(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run_module(module, *arguments):
    command = ["-m", module, *arguments]
    print(shlex.join(command), flush=True)
    finished = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    if finished.returncode:
        print(finished.stdout)
        raise SystemExit(f"A row must be trained to its end. Received: status {finished.returncode} of {module}.")
    return finished.stdout


def _slug(name):
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())
