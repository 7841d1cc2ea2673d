"""One fine-tuning run: a new head on an encoder, trained with one seed."""

import dataclasses
import itertools
import math
import time

import keras
import numpy as np

from kbert.convert import load
from kbert.inference.source import Source
from kbert.layerwise import LayerwiseAdamW
from kbert.models import BertClassifier, BertMultipleChoice, BertSpanFinder, BertTagger
from kbert.models.bilstm import BiLSTMBackbone
from kbert.optimization import BertAdamW, WarmupLinearDecay
from kbert.tasks.batches import collate, padded_length, predict_rows, shuffled_batches

# Each head's output names, in the order that a task's `decode` takes them.
OUTPUTS = {"classifier": ("logits",), "span": ("start", "end"), "tagger": ("logits",), "choice": ("logits",)}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What differs from run to run.

    Attributes:
        batch_size, learning_rate, epochs: of the recipe.
        seed: int.
    """

    batch_size: int
    learning_rate: float
    epochs: int
    seed: int


@dataclasses.dataclass(frozen=True)
class TaskRows:
    """The rows of each set, made once for all runs.

    Attributes:
        train: list of `Row`.
        scored: dict of set name to (examples, rows).
        max_sequence_length: int, of the longest row allowed.
    """

    train: list
    scored: dict
    max_sequence_length: int


def new_model(task, settings):
    """Return a model for a task: a new head on the encoder of --init."""
    backbone = load(settings.init, dtype=settings.precision).model.backbone
    body = BiLSTMBackbone(backbone) if settings.bilstm else backbone
    model = {
        "classifier": lambda: BertClassifier(body, len(task.label_names), task.problem, task.label_names),
        "span": lambda: BertSpanFinder(body),
        "tagger": lambda: BertTagger(body, len(task.label_names), task.label_names, tags_pieces=task.tags_pieces),
        "choice": lambda: BertMultipleChoice(body),
    }[task.head]()
    _freeze(backbone, settings.freeze)
    if task.head in ("span", "tagger") or settings.bilstm:
        backbone.pooler.trainable = False  # These heads do not read it.
    return model


def _freeze(backbone, num_layers):
    layers = [backbone.embeddings, *backbone.blocks]
    if not 0 <= num_layers <= len(layers):
        raise ValueError(f"--freeze must be between 0 and {len(layers)}. Received: --freeze {num_layers}.")
    for layer in layers[:num_layers]:
        layer.trainable = False


def train(model, tokenizer, task, rows, plan, settings):
    """Fine-tune a model, and score it on dev: after the last epoch, or with --patience after each.

    Args:
        model: from `new_model`.
        tokenizer: `WordPieceTokenizer`.
        task: such as `ClassificationTask`.
        rows: `TaskRows`.
        plan: `Plan`.
        settings: `training.finetune_settings.Settings`.

    Returns:
        (dict of `scores` by set and metric, `main`, `epochs` and `seconds` of training, without the scoring; dict of
        set name to the answers that were scored).
    """
    steps_per_epoch = math.ceil(len(rows.train) / plan.batch_size)
    model.compile(_optimizer(model, plan, steps_per_epoch * plan.epochs, settings))
    scorer = _ScoreDev(Scorer(model, tokenizer, task, rows), plan.epochs, settings.patience)
    model.fit(
        training_batches(rows, tokenizer, plan),
        epochs=plan.epochs,
        steps_per_epoch=steps_per_epoch,
        shuffle=False,
        callbacks=[keras.callbacks.TerminateOnNaN(), scorer],
        verbose=0,
    )
    if scorer.best is None:
        raise ValueError(f"The loss must stay a finite number. Received: NaN or infinity with {plan}.")
    scores, main, answers = scorer.best
    result = {"scores": scores, "main": main, "epochs": len(scorer.seconds), "seconds": sum(scorer.seconds)}
    return result, answers


def _optimizer(model, plan, total_steps, settings):
    schedule = WarmupLinearDecay(plan.learning_rate, total_steps, int(settings.warmup * total_steps))
    common = {"weight_decay": settings.weight_decay, "bias_correction": not settings.no_bias_correction}
    if settings.layer_decay == 1.0:
        return BertAdamW(schedule, **common)
    num_layers = model.backbone.config.num_layers
    return LayerwiseAdamW(schedule, num_layers=num_layers, layer_decay=settings.layer_decay, **common)


def length_step():
    """Return what lengths are rounded up to: JAX compiles a step for each, TensorFlow a few loops, PyTorch nothing."""
    return {"jax": 32, "tensorflow": 8}.get(keras.backend.backend(), 1)


def training_batches(rows, tokenizer, plan):
    """Return a `tf.data.Dataset` of all batches of all epochs, as `collate` makes them."""
    import tensorflow as tf

    pad_token_id = tokenizer.special_token_ids["[PAD]"]
    lengths = np.array([row.length for row in rows.train])

    def batches():
        for epoch in range(plan.epochs):
            for chosen in shuffled_batches(lengths, plan.batch_size, plan.seed, epoch):
                length = padded_length(lengths[chosen].max(), length_step(), rows.max_sequence_length)
                inputs, targets, weights = collate([rows.train[index] for index in chosen], pad_token_id, length)
                yield (inputs, targets, weights) if weights else (inputs, targets)

    first = next(batches())
    signature = tf.nest.map_structure(lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), first)
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(2)


class Scorer:
    """Ask a model about the sets of a task.

    Args:
        model: Keras model.
        tokenizer: `WordPieceTokenizer`.
        task: such as `ClassificationTask`.
        rows: `TaskRows`.
    """

    def __init__(self, model, tokenizer, task, rows):
        self.task = task
        self.rows = rows
        self.source = Source(model, tokenizer, rows.max_sequence_length)

    def answer(self, examples, rows):
        """Return the model's answers to a set, as the task's `decode` makes them."""
        outputs = predict_rows(
            lambda inputs: self.source.predict(inputs, *OUTPUTS[self.task.head]),
            rows,
            self.source.tokenizer.special_token_ids["[PAD]"],
            self.source.max_sequence_length,
            length_step(),
        )
        return self.task.decode(examples, rows, outputs)

    def score(self):
        """Return (scores by set and metric, main score, answers by set) on dev."""
        answers = {name: self.answer(*of) for name, of in self.rows.scored.items()}
        scores = {name: self.task.score(self.rows.scored[name][0], answers[name]) for name in answers}
        return scores, self.task.main_score(scores), answers


class _ScoreDev(keras.callbacks.Callback):
    """Score after the last epoch; with `patience` after each, and end with the weights of the best."""

    def __init__(self, scorer, epochs, patience):
        super().__init__()
        self.scorer = scorer
        self.epochs = epochs
        self.patience = patience
        self.seconds, self.best, self.best_epoch, self.best_weights = [], None, 0, None

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self.started)
        line = f"  epoch {epoch + 1}  loss {logs['loss']:.4f}  {self.seconds[-1]:.1f} s"
        if not math.isfinite(logs["loss"]):
            self.best, self.model.stop_training = None, True
        elif self.patience or epoch + 1 == self.epochs:
            scored = self.scorer.score()
            line += f"  {show(scored[0])}"
            if not self.patience or self.best is None or scored[1] > self.best[1]:
                self.best, self.best_epoch = scored, epoch
                self.best_weights = self.model.get_weights() if self.patience else None
            elif epoch - self.best_epoch >= self.patience:
                self.model.stop_training = True
        print(line, flush=True)

    def on_train_end(self, logs=None):
        if self.best_weights is not None:
            self.model.set_weights(self.best_weights)


def show(scores):
    """Return scores by set and metric as one line."""
    named = itertools.chain.from_iterable(
        ((f"{set_name} {metric}", value) for metric, value in values.items()) for set_name, values in scores.items()
    )
    return "  ".join(f"{name} {value:.2f}" for name, value in named)
