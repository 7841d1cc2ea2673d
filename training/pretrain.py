"""Pretrain BERT with masked words and next-sentence prediction on prepared shards.

    python -m training.pretrain runs/shards --output runs/bert --size tiny --steps 2000

Runs on the backend that KERAS_BACKEND names, the same command on each. Stop or kill it at any time: the same command
goes on from the last save, with optimizer, learning rate, dropout and the place in the data. Writes to --output:
the checkpoint folder itself (kbert and transformers open it), history.csv, examples.json, run.json, result.json,
state/ and tensorboard/. The last line it prints is one JSON object with the held-out numbers.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import functools
import json
import pathlib
import time

import keras

from kbert.config import BertConfig
from kbert.convert import load, save_checkpoint
from kbert.convert.tokenizer_fit import check_case
from kbert.data.mixture import mixed_datasets
from kbert.data.next_words import next_words
from kbert.data.pipelines import pretraining_dataset
from kbert.models import BertBackbone, BertPretrainer
from kbert.optimization import BertAdamW, Lamb, WarmupLinearDecay
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import one_line_errors, parse
from training.budget import updates_of
from training.devices import open_devices
from training.environment import describe_environment, leave_gpus_to_backend
from training.examples import WriteExamples
from training.failures import clear_stop
from training.masking_report import PrintMasking
from training.minutes import updates_in
from training.pairs import has_pairs
from training.phases import (
    check_data,
    check_normal_form,
    epoch_ends,
    legs,
    phase_at,
    phases_of,
    rows_between,
    warn_of_few_slots,
)
from training.pretrain_settings import Settings
from training.progress import PrintProgress
from training.state import ReseedDropout, SaveState, cut_history, restore_state, saved_states
from training.unigram import unigram_loss

DROPOUTS = ("dropout", "attention_dropout")
FREE_SETTINGS = ("output", "devices")  # A run may go on with others.
MASKING = ("mask_selection_rate", "mask_token_rate", "random_token_rate", "whole_words")


def main(argv=None):
    """Train, save, and return the final numbers."""
    settings = parse(Settings, argv, __doc__)
    leave_gpus_to_backend()
    with one_line_errors():
        devices = open_devices(settings)
    start = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z")} | describe_environment()
    start |= {"devices": devices.count, "processes": devices.num_processes}
    print(f"backend {start['backend']} on {start['device']}")
    output = pathlib.Path(settings.output)
    with devices.scope(), one_line_errors():
        settings = dataclasses.replace(settings, steps=updates_of(settings))
        settings, starts = _go_on(settings, output)
        print(json.dumps(dataclasses.asdict(settings)))
        if devices.num_processes > 1:
            saved_steps = [step for step, _ in saved_states(output / "state")]
            devices.check_agreement(settings, mixed_datasets(settings.data).shards, saved_steps)
        keras.utils.set_random_seed(settings.seed)
        tokenizer = WordPieceTokenizer.from_folder(settings.data[0])
        check_case(tokenizer, settings.data[0], "Prepare the text again, with --cased or without.")
        model, config = _build_model(settings, tokenizer)
        model.backbone.remat = settings.remat
        check_data(settings, tokenizer, config)
        if settings.steps is None:
            with clear_stop(settings):
                steps = updates_in(settings, model, devices, _compile, _open_data)
            settings = dataclasses.replace(settings, steps=steps)
        if not settings.left_to_right:
            warn_of_few_slots(settings)
        _compile(model, settings, devices)
        first_step = restore_state(model, output / "state")
        _open_data(settings, first_step, devices)  # What is wrong with it is to be said before run.json is written.
        if devices.writes:
            _write_run(settings, [*starts, start | {"first_step": first_step}], output)
    print(f"{model.count_params():,} parameters, {first_step:,} of {settings.steps:,} steps done")
    result_path = output / "result.json"
    if first_step == settings.steps and result_path.is_file():
        print(f"{output} is finished: nothing left to train. Its result:")
        result = json.loads(result_path.read_text(encoding="utf-8"))
    else:
        rates = {name: getattr(config, name) for name in DROPOUTS}
        with clear_stop(settings):
            untrained = _untrained_parts(settings)
            save = functools.partial(save_checkpoint, model, tokenizer, output, missing_parts=untrained, **rates)
            result = _fit(model, settings, first_step, save, devices)
            if devices.writes:
                result_path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result))
    return result


def _go_on(settings, output):
    """Return the settings and starts of the run that is to go on, none for a new one.

    Its settings must be those it began with; what --minutes came to is taken from them.
    """
    if not saved_states(output / "state"):
        return settings, []
    run = json.loads((output / "run.json").read_text(encoding="utf-8"))
    # A setting that is younger than the run had its default then.
    began_with = {field.name: field.default for field in dataclasses.fields(Settings)} | run["settings"]
    if settings.steps is None:
        settings = dataclasses.replace(settings, steps=began_with["steps"])
    values = json.loads(json.dumps(dataclasses.asdict(settings)))  # A tuple is a list in run.json.
    changed = [name for name in values if name not in FREE_SETTINGS and values[name] != began_with[name]]
    if changed:
        raise ValueError(
            f"A run must go on with the settings it began with. Received: another {' and '.join(changed)} than in "
            f"{output / 'run.json'}. Choose another --output for a new run."
        )
    return settings, run["starts"]


def _write_run(settings, starts, output):
    output.mkdir(parents=True, exist_ok=True)
    unfinished = output / "run.json.partial"
    # Updates made and rows read at each save: what stands in a line of history.csv happened there.
    saves = [(end, rows_between(settings, 0, end)) for end in epoch_ends(settings)]
    run = {"settings": dataclasses.asdict(settings), "starts": starts, "saves": saves}
    unfinished.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(output / "run.json")


def _build_model(settings, tokenizer):
    """Return the model, and the config it starts from with dropout rates that --no_dropout leaves alone."""
    changes = dict.fromkeys(DROPOUTS, 0.0) if settings.no_dropout else {}
    if settings.init is None:
        config = BertConfig.named(
            settings.size, vocabulary_size=tokenizer.vocabulary_size, is_causal=settings.left_to_right
        )
        return BertPretrainer(BertBackbone(config.replace(**changes), dtype=settings.precision)), config
    checkpoint = load(settings.init, dtype=settings.precision, **changes)
    if checkpoint.tokenizer.vocabulary != tokenizer.vocabulary:
        raise ValueError(
            "--init must have the vocabulary of the shards. "
            f"Received: {settings.init} and {settings.data[0]}, whose vocabularies differ. Prepare the text with its "
            "own, or carry the encoder over with training/transplant.py."
        )
    check_normal_form(tokenizer, settings.data[0], checkpoint.tokenizer, settings.init)
    if checkpoint.config.is_causal != settings.left_to_right:
        raise ValueError(
            "--init must read as the run does: to the left only with --left_to_right, in both directions without. "
            f"Received: --init {settings.init}, is_causal={checkpoint.config.is_causal}."
        )
    if checkpoint.missing_parts:
        print(f"{settings.init} has no {', '.join(checkpoint.missing_parts)}: starting from random weights there")
    model = checkpoint.model
    if not isinstance(model, BertPretrainer):  # A fine-tuned one: its encoder goes on, with new heads.
        model = BertPretrainer(model.backbone)
    return model, checkpoint.config


def _untrained_parts(settings):
    """Return the parts of the model whose weights stay random, as no row is a pair; they are not written."""
    if has_pairs((*settings.data, *(settings.long_data or ()))):
        return ()
    parts = ("pooler", "nsp")
    return parts if settings.init is None else tuple(set(parts) & set(load(settings.init).missing_parts))


def _compile(model, settings, devices):
    warmup_steps = settings.steps // 10 if settings.warmup_steps is None else settings.warmup_steps
    schedule = WarmupLinearDecay(settings.learning_rate, settings.steps, warmup_steps)
    optimizer_class = {"adamw": BertAdamW, "lamb": Lamb}[settings.optimizer]
    optimizer = devices.optimizer_class(optimizer_class)(
        schedule,
        weight_decay=settings.weight_decay,
        bias_correction=not settings.no_bias_correction,
        gradient_accumulation_steps=settings.accumulate if settings.accumulate > 1 else None,
    )
    model.compile(optimizer, loss=devices.losses(model.task_losses()[0]))


def _open_data(settings, first_step, devices):
    """Return the endless training batches of a phase from `first_step` on, and its held-out ones or None."""
    phase = phase_at(settings, first_step)
    batches = {"batch_size": phase.batch_size, "mask_selection_length": phase.mask_selection_length}
    batches |= {name: getattr(settings, name) for name in MASKING}
    if settings.left_to_right:
        batches |= {"mask_token_rate": 0.0, "random_token_rate": 0.0}  # Every token is read as it is.
    start = {"seed": settings.seed, "start_step": (first_step - phase.first_step) * settings.accumulate}
    training = pretraining_dataset(phase.data, **batches, **start, **devices.own_rows)
    training = training.map(next_words) if settings.left_to_right else training
    if not mixed_datasets(phase.data).held_out:
        return training, None
    held_out = pretraining_dataset(phase.data, **batches, split="held_out")
    held_out = held_out.map(next_words) if settings.left_to_right else held_out
    return training, devices.own_held_out(held_out, phase.batch_size)


def _fit(model, settings, first_step, save, devices):
    """Train from `first_step` to the end and return the final numbers."""
    output = pathlib.Path(settings.output)
    if devices.writes:
        cut_history(output / "history.csv", sum(end <= first_step for end in epoch_ends(settings)))
    for phase in phases_of(settings):
        if not mixed_datasets(phase.data).held_out:
            print(f"{' and '.join(phase.data)} has no held-out rows: the run is not checked on unseen text")
    training, held_out = _open_data(settings, first_step, devices)
    callbacks = _callbacks(settings, training, first_step, save)
    if (
        devices.num_processes == 1 and not settings.left_to_right
    ):  # One process cannot ask a model alone that several hold.
        tokenizer = WordPieceTokenizer.from_folder(settings.data[0])
        # First: who sees the new line of history.csv finds its examples.
        callbacks.insert(0, WriteExamples(training if held_out is None else held_out, tokenizer, output))
    callbacks = devices.callbacks(callbacks)
    started = time.perf_counter()
    for leg in legs(settings, first_step):
        if leg.first_step > first_step:
            training, held_out = _open_data(settings, leg.first_step, devices)
        has_checks = held_out is not None and settings.held_out_batches > 0
        checks = held_out.take(settings.held_out_batches).cache() if has_checks else None
        _train(model, settings, leg, training, checks, callbacks, devices)
    seconds = time.perf_counter() - started
    left_out = settings.steps - int(model.optimizer.iterations + 0)  # A sum is a plain number on several devices too.
    if left_out:
        print(f"{left_out:,} of {settings.steps:,} updates were not made: gradients overflowed in {settings.precision}")
    result = {} if held_out is None else model.evaluate(held_out, return_dict=True, verbose=0)
    rows_per_second = rows_between(settings, first_step, settings.steps) / seconds
    return result | {"steps": settings.steps, "seconds": seconds, "rows_per_second": rows_per_second}


def _callbacks(settings, training, first_step, save):
    output = pathlib.Path(settings.output)
    mask_token_id = mixed_datasets(settings.data).special_token_ids["[MASK]"]
    return [
        ReseedDropout(settings.seed),
        PrintProgress(settings, first_step, unigram_loss(settings.data)),
        *([] if settings.left_to_right else [PrintMasking(training, mask_token_id)]),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.CSVLogger(output / "history.csv", append=True),
        keras.callbacks.TensorBoard(output / "tensorboard", write_graph=False),
        SaveState(output / "state", epoch_ends(settings).__getitem__, before_save=save),
    ]


def _train(model, settings, leg, training, checks, callbacks, devices):
    """Make the updates of one leg; stop the run where its last one is not saved."""
    model.fit(
        training,
        initial_epoch=leg.first_epoch,
        epochs=leg.last_epoch,
        steps_per_epoch=leg.steps_per_epoch * settings.accumulate,
        validation_data=checks,
        shuffle=False,
        callbacks=callbacks,
        verbose=0,
    )
    saved_step = max((step for step, _ in saved_states(pathlib.Path(settings.output) / "state")), default=0)
    if devices.writes and saved_step < leg.last_step:
        raise SystemExit(
            f"The loss must stay a finite number. Received: NaN or infinity after step {saved_step:,}, the last one "
            f"saved. Choose another --output and a lower --learning_rate."
        )


if __name__ == "__main__":
    main()
