"""Pretrain BERT with masked words and next-sentence prediction on prepared shards.

    python -m training.pretrain runs/shards --output runs/bert --size tiny --steps 2000

Runs on the backend that KERAS_BACKEND names, the same command on each. Stop or kill it at any time: the same command
goes on from the last save, with optimizer, learning rate, dropout and the place in the data. Writes to --output:
the checkpoint folder itself (kbert and transformers open it), history.csv, run.json, state/ and tensorboard/.
The last line it prints is one JSON object with the held-out numbers.
"""

import dataclasses
import json
import math
import pathlib
import sys
import time

import keras

from kbert.config import BertConfig
from kbert.convert import load_checkpoint, save_checkpoint
from kbert.data.pipelines import pretraining_dataset
from kbert.models import BertBackbone, BertPretrainer
from kbert.optimization import BertAdamW, WarmupLinearDecay
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import parse, setting
from training.environment import describe_environment
from training.state import SaveState, restore_state

DROPOUTS = ("dropout", "attention_dropout")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    data: str = setting(text="folder that training/prepare.py wrote")
    output: str = setting("runs/pretrain", "folder of the checkpoint and of everything about the run")
    size: str = setting("tiny", "tiny, mini, small, medium, base, large or LAYERSxWIDTH; ignored with --init")
    init: str = setting(None, "checkpoint folder or preset to start from; missing heads start random")
    precision: str = setting("float32", "mixed_bfloat16 where the processor has it", choices=PRECISIONS)
    batch_size: int = setting(32, "rows a step")
    steps: int = setting(10000, "updates in all")
    learning_rate: float = setting(1e-4, "highest learning rate")
    warmup_steps: int = setting(None, "updates up to the highest rate; a tenth of --steps if not given")
    weight_decay: float = setting(0.01, "of all weights but LayerNorms and biases")
    no_dropout: bool = setting(False, "train without dropout (one pass over the text); config.json keeps its rates")
    mask_selection_length: int = setting(20, "mask slots a row: 20 for 128 tokens, 77 for 512")
    save_every: int = setting(500, "updates between two saves; also what one line of history.csv averages over")
    held_out_batches: int = setting(50, "held-out batches for the check after each save; 0 for none")
    seed: int = setting(0, "of weights, dropout, order and masks")


def main(argv=None):
    """Train, save, and return the final numbers."""
    settings = parse(Settings, argv, __doc__)
    environment = describe_environment()
    print(f"backend {environment['backend']}, {environment['devices']}")
    output = pathlib.Path(settings.output)
    _start_or_continue(settings, environment, output)

    keras.utils.set_random_seed(settings.seed)
    tokenizer = WordPieceTokenizer.from_folder(settings.data)
    model = _build_model(settings, tokenizer)
    epochs = max(1, round(settings.steps / settings.save_every))
    steps_per_epoch = math.ceil(settings.steps / epochs)
    _compile(model, settings, total_steps=epochs * steps_per_epoch)
    kept_rates = {name: 0.1 for name in DROPOUTS} if settings.no_dropout else {}
    first_step = restore_state(model, output / "state")
    print(f"{model.count_params():,} parameters, {epochs * steps_per_epoch:,} steps, starting at step {first_step:,}")

    batches = {"batch_size": settings.batch_size, "mask_selection_length": settings.mask_selection_length}
    training = pretraining_dataset(settings.data, **batches, seed=settings.seed, start_step=first_step)
    held_out = pretraining_dataset(settings.data, **batches, split="held_out")
    checks = held_out.take(settings.held_out_batches).cache() if settings.held_out_batches else None
    started = time.perf_counter()
    model.fit(
        training,
        epochs=epochs,
        steps_per_epoch=steps_per_epoch,
        initial_epoch=first_step // steps_per_epoch,
        validation_data=checks,
        shuffle=False,
        callbacks=[
            SaveState(output / "state", after_save=lambda: save_checkpoint(model, tokenizer, output, **kept_rates)),
            keras.callbacks.TerminateOnNaN(),
            keras.callbacks.CSVLogger(output / "history.csv", append=True),
            keras.callbacks.TensorBoard(output / "tensorboard", update_freq="epoch"),
        ],
        verbose=1 if sys.stdout.isatty() else 2,
    )
    seconds = time.perf_counter() - started
    steps = int(model.optimizer.iterations) - first_step
    print("held-out rows ...")
    result = model.evaluate(held_out, return_dict=True, verbose=0)
    rows_a_second = steps * settings.batch_size / seconds
    result |= {"steps": int(model.optimizer.iterations), "seconds": seconds, "rows_per_second": rows_a_second}
    (output / "result.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result))
    return result


def _start_or_continue(settings, environment, output):
    output.mkdir(parents=True, exist_ok=True)
    path = output / "run.json"
    values = dataclasses.asdict(settings)
    print(json.dumps(values))
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))["settings"]
        changed = sorted(key for key in values | before if values.get(key) != before.get(key))
        if changed:
            raise SystemExit(
                f"A run must go on with the settings it began with. Received: other values of {changed} than in {path}. "
                "Choose another --output for a new run."
            )
    path.write_text(json.dumps({"settings": values} | environment, indent=2) + "\n", encoding="utf-8")


def _build_model(settings, tokenizer):
    changes = dict.fromkeys(DROPOUTS, 0.0) if settings.no_dropout else {}
    if settings.init is None:
        config = BertConfig.named(settings.size, vocabulary_size=tokenizer.vocabulary_size)
        config = config.replace(**changes)
        return BertPretrainer(BertBackbone(config, dtype=settings.precision))
    checkpoint = load_checkpoint(settings.init, dtype=settings.precision, **changes)
    if checkpoint.tokenizer.vocabulary != tokenizer.vocabulary:
        raise SystemExit(
            "--init must have the vocabulary of the shards. "
            f"Received: {settings.init} and {settings.data}, whose vocabularies differ. Prepare the text with its own."
        )
    if checkpoint.missing_parts:
        print(f"{settings.init} has no {', '.join(checkpoint.missing_parts)}: starting from random weights there")
    return checkpoint.model


def _compile(model, settings, total_steps):
    warmup_steps = total_steps // 10 if settings.warmup_steps is None else settings.warmup_steps
    schedule = WarmupLinearDecay(settings.learning_rate, total_steps, warmup_steps)
    model.compile(BertAdamW(schedule, weight_decay=settings.weight_decay))


if __name__ == "__main__":
    main()
