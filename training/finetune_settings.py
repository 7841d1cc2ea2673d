"""What can be set in a fine-tuning run."""

import dataclasses

from kbert.tasks.tagged_files import CONLLU_COLUMNS
from kbert.tasks.tags import SCHEMES
from training.arguments import setting
from training.finetune_tasks import TASKS
from training.pretrain_settings import PRECISIONS

BY_TASK = "; the paper's for the task if not given"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of training/finetune.py."""

    task: str = setting(text=", ".join(TASKS))
    data: str = setting(".", "folder with the task's files as they are downloaded, compressed or not")
    init: str = setting(None, "checkpoint folder or preset to start from")
    output: str = setting(None, "folder for the checkpoint, answers and results (default: runs/TASK)")
    batch_size: int = setting(None, "rows an update" + BY_TASK)
    learning_rate: float = setting(None, "highest learning rate" + BY_TASK)
    epochs: int = setting(None, "passes over the training rows" + BY_TASK)
    grid: bool = setting(
        False,
        "try those of the paper's batch sizes, learning rates and epochs that are not given, and keep the best on dev",
    )
    seeds: int = setting(1, "runs, each with another seed; their mean and spread are printed")
    seed: int = setting(0, "first seed: of the head, the order and dropout")
    max_sequence_length: int = setting(None, "tokens of a row" + BY_TASK)
    stride: int = setting(None, "tokens from window to window of a longer text; 128, or half a row if that is less")
    patience: int = setting(None, "stop after this many epochs without a better dev score, and take the best epoch")
    warmup: float = setting(0.1, "share of the updates before the highest learning rate")
    weight_decay: float = setting(0.01, "of all weights but LayerNorms and biases")
    no_bias_correction: bool = setting(False, "Adam's first steps as in Google's code; unstable on small data")
    layer_decay: float = setting(1.0, "learning rate of a layer as a share of the one above")
    freeze: int = setting(0, "layers that stay as they are, from below: 1 = embeddings, 2 = and the first block, ...")
    class_weights: bool = setting(False, "weigh each class by the inverse of its frequency")
    max_train_rows: int = setting(None, "train on this many rows only, the first of a shuffle by seed 0")
    bilstm: bool = setting(False, "a BiLSTM between encoder and head, as in the paper's ablation; no checkpoint then")
    precision: str = setting("float32", "mixed_bfloat16 where the processor has it", choices=PRECISIONS)
    encoding: str = setting("utf-8", "of the files, e.g. cp949")
    text: str = setting("text", "column of a table of your own with the text")
    text2: str = setting(None, "column with the second text of a pair")
    label: str = setting("label", "column with the answer")
    scheme: str = setting("IOB2", "tags the model learns; files may have any", choices=SCHEMES)
    document_context: bool = setting(False, "read each sentence with those round it (-DOCSTART- lines)")
    column: str = setting("upos", "tags of a .conllu file", choices=tuple(CONLLU_COLUMNS))
    fold: int = setting(0, "of CODAH, the one in five to score on")
    problem: str = setting("one_class", "what the answer is", choices=("one_class", "several_labels", "regression"))
