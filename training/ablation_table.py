"""The tables of training/ablate.py as markdown, with the paper's numbers beside ours.

Source of the paper's numbers: arXiv 1810.04805v2, tables 5, 6 and 8.
"""

from kbert.config import BertConfig

OURS = ("MLM accuracy", "MLM perplexity", "NSP accuracy", "MLM accuracy, all [MASK]")
# (MASK, SAME, RND) in percent -> dev results of BERT-base: MNLI, NER fine-tuned, NER with frozen features.
MASKING = {
    (80, 10, 10): (84.2, 95.4, 94.9),
    (100, 0, 0): (84.3, 94.9, 94.0),
    (80, 0, 20): (84.1, 95.2, 94.6),
    (80, 20, 0): (84.4, 95.2, 94.7),
    (0, 20, 80): (83.7, 94.8, 94.6),
    (0, 0, 100): (83.6, 94.9, 94.6),
}
SIZE_TASKS = {"mnli": "MNLI", "mrpc": "MRPC", "sst2": "SST-2"}
# (layers, hidden_dim, heads) -> perplexity of the masked words on held-out rows, then the tasks above.
SIZES = {
    (3, 768, 12): (5.84, 77.9, 79.8, 88.4),
    (6, 768, 3): (5.24, 80.6, 82.2, 90.7),
    (6, 768, 12): (4.68, 81.9, 84.8, 91.3),
    (12, 768, 12): (3.99, 84.4, 86.7, 92.9),
    (12, 1024, 16): (3.54, 85.7, 86.9, 93.3),
    (24, 1024, 16): (3.23, 86.6, 87.8, 93.7),
}
# Task of training/finetune.py -> the dev score that the table shows.
TASK_SCORES = {
    "mnli": "matched accuracy",
    "qnli": "dev accuracy",
    "mrpc": "dev accuracy",
    "sst2": "dev accuracy",
    "squad": "dev f1",
}
# Row -> BERT-base on dev, in the order of `TASK_SCORES`.
TASKS = {
    "BERT": (84.4, 88.4, 86.7, 92.7, 88.5),
    "No NSP": (83.9, 84.9, 86.5, 92.6, 87.9),
    "LTR & No NSP": (82.1, 84.3, 77.5, 92.1, 77.8),
    "+ BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9),
}


def masking(rows):
    """Return the table of what becomes of the selected tokens.

    Args:
        rows: list of (`training.ablate.Row`, its numbers).
    Returns:
        str; empty without rows.
    """
    head = ("MASK/SAME/RND", *OURS, "paper: MNLI", "NER", "NER, features")
    cells = [("/".join(map(str, row.shares)), *_ours(numbers), *MASKING[row.shares]) for row, numbers in rows]
    return _markdown(head, cells)


def sizes(rows):
    """Return the table of sizes: ours, then the paper's.

    Args:
        rows: list of (`training.ablate.Row`, its numbers).
    Returns:
        str; empty without rows.
    """
    head = ("model", "L/H/A", "parameters", *OURS, *SIZE_TASKS.values())
    cells = []
    for row, numbers in rows:
        config = BertConfig.named(row.size)
        shape = f"{config.num_layers}/{config.hidden_dim}/{config.num_heads}"
        scores = [numbers.get("tasks", {}).get(task) for task in SIZE_TASKS]
        shown = ("" if score is None else f"{score:.1f}" for score in scores)
        cells.append((row.size, shape, f"{numbers['parameters']:,}", *_ours(numbers), *shown))
    if cells:
        for shape, (perplexity, *tasks) in SIZES.items():
            cells.append(("paper", "/".join(map(str, shape)), "", "", perplexity, "", "", *tasks))
    return _markdown(head, cells)


def tasks(rows):
    """Return the table of pretraining tasks: a row a model, and for each task our dev score and the paper's.

    Args:
        rows: dict of row name to dict of task to score in percent.
    Returns:
        str; empty without rows.
    """
    names = list(next(iter(rows.values()), {}))
    head = ["", *(cell for name in names for cell in (f"{name}, {TASK_SCORES[name].split()[-1]}", "paper"))]
    cells = []
    for row, scores in rows.items():
        paper = dict(zip(TASK_SCORES, TASKS[row], strict=True))
        cells.append([row, *(cell for name in names for cell in (f"{scores[name]:.1f}", paper[name]))])
    return _markdown(head, cells)


def _ours(numbers):
    return (
        f"{numbers['mlm_accuracy']:.1%}",
        f"{numbers['mlm_perplexity']:.2f}",
        f"{numbers['nsp_accuracy']:.1%}",
        f"{numbers['all_masked_mlm_accuracy']:.1%}",
    )


def _markdown(head, rows):
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) if rows else ""
