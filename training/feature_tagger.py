"""Tag names with a frozen encoder: its hidden states, layer by layer, under two BiLSTMs (Table 7 of the paper).

    python -m training.feature_tagger conll2003 --data conll --init kbert-small-en --document_context

The encoder reads each set once; its states go to --output/states and are used by every run, of this start and of later
ones. Each choice of layers is trained with each seed, and the epoch that is best on dev counts. Prints the table with
the paper's numbers of BERT-base beside it, and writes result.json and the answers of the best run. The last line is one
JSON object.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json
import pathlib
import statistics
import time

import keras

from kbert.convert import load
from kbert.inference.hidden_states import choose_layers
from kbert.inference.source import open_source
from kbert.models.feature_tagger import FeatureTagger
from kbert.tasks.ner import LAYOUTS, open_tagging
from kbert.tasks.tags import SCHEMES
from training.arguments import one_line_errors, parse, setting
from training.environment import describe_environment, leave_gpus_to_backend
from training.feature_batches import FeatureSet, predict, training_batches
from training.finetune_run import show
from training.token_features import compute_features

# Name -> (layers, 0 the embeddings and -1 the last; how they become one vector; F1 on dev of the paper's BERT-base).
LAYERS = {
    "embeddings": ((0,), "concat", 91.0),
    "second_to_last": ((-2,), "concat", 95.6),
    "last": ((-1,), "concat", 94.9),
    "last_four_weighted": ((-4, -3, -2, -1), "weighted", 95.9),
    "last_four_concat": ((-4, -3, -2, -1), "concat", 96.1),
    "all_weighted": (None, "weighted", 95.5),  # All blocks.
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    task: str = setting(text=", ".join(LAYOUTS))
    data: str = setting(".", "folder with the task's files")
    init: str = setting(None, "checkpoint folder or preset whose encoder is read")
    output: str = setting(None, "folder for states, answers and results (default: runs/TASK-features)")
    layers: str = setting(",".join(LAYERS), "choices of layers, with commas")
    units: int = setting(768, "of each direction of an LSTM")
    depth: int = setting(2, "BiLSTMs")
    dropout: float = setting(0.3, "on what each BiLSTM and the classifier read; the paper does not say")
    learning_rate: float = setting(1e-3, "of Adam; the paper does not say")
    batch_size: int = setting(32, "rows an update")
    epochs: int = setting(20, "passes at most")
    patience: int = setting(3, "stop after this many epochs with a lower dev score than the best")
    seeds: int = setting(1, "runs of each choice, each with another seed")
    seed: int = setting(0, "first seed")
    max_sequence_length: int = setting(
        None, "tokens of a row; 128 if not given, or what the model reads if that is less, or with --document_context"
    )
    stride: int = setting(None, "tokens from window to window of a longer text; 128, or half a row if that is less")
    document_context: bool = setting(False, "read each sentence with those round it (-DOCSTART- lines)")
    scheme: str = setting("IOB2", "tags the model learns; files may have any", choices=SCHEMES)
    encoding: str = setting("utf-8", "of the files")


def main(argv=None):
    """Compute the states, train every choice of layers, and return the results."""
    settings = parse(Settings, argv, __doc__)
    leave_gpus_to_backend()
    environment = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z")} | describe_environment()
    print(f"backend {environment['backend']} on {environment['device']}")
    with one_line_errors():
        _check(settings)
        settings = dataclasses.replace(settings, output=settings.output or f"runs/{settings.task}-features")
        task = open_tagging(
            settings.task,
            settings.data,
            settings.scheme,
            settings.document_context,
            settings.stride,
            settings.encoding,
        )
        for note in task.notes:
            print(f"note: {note}")
        checkpoint = load(settings.init)
        if settings.max_sequence_length is None:
            longest = checkpoint.config.max_sequence_length
            longest = longest if settings.document_context else min(task.recipe.max_sequence_length, longest)
            settings = dataclasses.replace(settings, max_sequence_length=longest)
        choices = _choices(settings.layers, checkpoint.config.num_layers)
        sets = _read_sets(task, checkpoint, settings)
        results, best = {}, None
        for name, (layers, mixing) in choices.items():
            results[name] = []
            for seed in range(settings.seed, settings.seed + settings.seeds):
                model, scores = _train(task, sets, layers, mixing, seed, settings)
                print(f"{name}, seed {seed}: {show({'dev': scores})}", flush=True)
                results[name].append(task.main_score({"dev": scores}))
                if best is None or results[name][-1] > best[0]:
                    best = results[name][-1], name, _answer(task, sets, model, layers, settings)
    return _finish(settings, environment, results, best)


def _check(settings):
    if settings.init is None:
        raise ValueError("--init must be given: a checkpoint folder or a preset, such as kbert-small-en.")
    for name in ("units", "depth", "batch_size", "epochs", "patience", "seeds"):
        if getattr(settings, name) < 1:
            raise ValueError(f"--{name} must be at least 1. Received: --{name} {getattr(settings, name)}.")


def _choices(names, num_layers):
    """Return (layers, mixing) by name, of those that an encoder has."""
    chosen = {}
    for name in names.split(","):
        if name not in LAYERS:
            raise ValueError(f"--layers must be of {', '.join(LAYERS)}. Received: {name}.")
        layers, mixing, _ = LAYERS[name]
        layers = tuple(range(1, num_layers + 1)) if layers is None else layers
        if -min(layers) > num_layers:
            print(f"note: {name} is left out, the encoder has {num_layers} layers")
        else:
            chosen[name] = layers, mixing
    if not chosen:
        raise ValueError(f"--layers must name layers of an encoder with {num_layers}. Received: {names}.")
    return chosen


def _read_sets(task, checkpoint, settings):
    """Return a `FeatureSet` by name: train, dev and test."""
    source = open_source(checkpoint, None, (), settings.max_sequence_length)
    source = choose_layers(source, tuple(range(checkpoint.config.num_layers + 1)))
    sets = {}
    for name, sentences in {"train": task.train, **task.dev, **task.test}.items():
        started = time.perf_counter()
        rows = task.rows(checkpoint.tokenizer, sentences, settings.max_sequence_length)
        features = compute_features(source, rows, pathlib.Path(settings.output, "states"))
        sets[name] = FeatureSet(sentences, rows, features)
        print(f"{name}: {len(features.states):,} tokens, {time.perf_counter() - started:.1f} s", flush=True)
    return sets


def _train(task, sets, layers, mixing, seed, settings):
    """Return a trained tagger, with the weights of its best epoch, and that epoch's scores on dev."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = FeatureTagger(
        len(layers),
        sets["train"].features.states.shape[-1],
        len(task.label_names),
        task.label_names,
        mixing,
        settings.units,
        settings.depth,
        settings.dropout,
    )
    model.compile(keras.optimizers.Adam(settings.learning_rate, global_clipnorm=1.0))
    best, best_epoch, best_weights = None, 0, None
    for epoch in range(settings.epochs):
        model.fit(training_batches(sets["train"], layers, settings.batch_size, seed, epoch), shuffle=False, verbose=0)
        answers = _decode(task, sets["dev"], model, layers)
        scores = task.score(sets["dev"].sentences, answers)
        # As good is better: at first a tagger may find nothing for some epochs.
        if best is None or task.main_score({"dev": scores}) >= task.main_score({"dev": best}):
            best, best_epoch, best_weights = scores, epoch, model.get_weights()
        elif epoch - best_epoch >= settings.patience:
            break
    model.set_weights(best_weights)
    return model, best


def _decode(task, feature_set, model, layers):
    return task.decode(feature_set.sentences, feature_set.rows, predict(model, feature_set, layers))


def _answer(task, sets, model, layers, settings):
    """Write the answers to dev and test; return the scores."""
    scores = {}
    for name in {**task.dev, **task.test}:
        answers = _decode(task, sets[name], model, layers)
        task.write_answers(name, sets[name].sentences, answers, pathlib.Path(settings.output, "answers"))
        if task.has_answers(sets[name].sentences):
            scores[name] = task.score(sets[name].sentences, answers)
    return scores


def _finish(settings, environment, results, best):
    print("\n| layers | F1 on dev | paper, BERT-base |\n|---|---|---|")
    for name, values in results.items():
        spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        print(f"| {name} | {statistics.mean(values):.2f}{spread} | {LAYERS[name][2]} |")
    _, name, scores = best
    print(f"best: {name}  {show(scores)}")
    result = {"task": settings.task, "best": name, "scores": scores, "dev": results}
    everything = result | {"settings": dataclasses.asdict(settings), "environment": environment}
    path = pathlib.Path(settings.output, "result.json")
    path.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result))
    return result


if __name__ == "__main__":
    main()
