"""The tasks that training/finetune.py knows, by name."""

from kbert.tasks.choice import open_codah, open_swag
from kbert.tasks.glue import LAYOUTS as GLUE_LAYOUTS
from kbert.tasks.glue import read_glue
from kbert.tasks.ner import LAYOUTS as TAG_LAYOUTS
from kbert.tasks.ner import open_tagging
from kbert.tasks.own_table import read_own_table
from kbert.tasks.squad import LAYOUTS as SQUAD_LAYOUTS
from kbert.tasks.squad import open_squad


def _own_table(settings):
    texts = (settings.text,) if settings.text2 is None else (settings.text, settings.text2)
    return read_own_table(settings.data, texts, settings.label, settings.problem, settings.encoding)


def _glue(settings):
    return read_glue(settings.task, settings.data, settings.encoding)


def _squad(settings):
    return open_squad(settings.task, settings.data, settings.stride, settings.encoding)


def _tags(settings):
    return open_tagging(
        settings.task,
        settings.data,
        settings.scheme,
        settings.document_context,
        settings.stride,
        settings.encoding,
        settings.column,
    )


# Name -> function of the settings that reads the task.
TASKS = {
    **dict.fromkeys(GLUE_LAYOUTS, _glue),
    **dict.fromkeys(SQUAD_LAYOUTS, _squad),
    **dict.fromkeys(TAG_LAYOUTS, _tags),
    "swag": lambda settings: open_swag(settings.data, settings.encoding),
    "codah": lambda settings: open_codah(settings.data, settings.fold, settings.encoding),
    "table": _own_table,
}


def open_task(settings):
    """Read the files of a task.

    Args:
        settings: `training.finetune_settings.Settings`.

    Raises:
        ValueError: there is no such task, or its files are not as they should be.
        FileNotFoundError: a file is missing.
    """
    if settings.task not in TASKS:
        raise ValueError(f"TASK must be one of {', '.join(TASKS)}. Received: {settings.task}.")
    return TASKS[settings.task](settings)
