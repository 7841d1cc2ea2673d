"""Checkpoint folders in Hugging Face's layout: config.json, vocab.txt, tokenizer_config.json, model.safetensors."""

import dataclasses
import functools
import json
import pathlib
import tempfile

import keras
import numpy as np
import safetensors
import safetensors.numpy

from kbert.config import BertConfig
from kbert.convert.names import REDUNDANT, is_transposed, weight_names
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer

PRESETS_PATH = pathlib.Path(__file__).parent.parent / "presets"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A model, its tokenizer, and what the file did not hold.

    Attributes:
        model: `BertPretrainer`.
        tokenizer: `WordPieceTokenizer`.
        missing_parts: tuple of "pooler", "mlm", "nsp": parts without weights in the file. They are random.
        source: str, where it came from.
    """

    model: BertPretrainer
    tokenizer: WordPieceTokenizer
    missing_parts: tuple
    source: str


def find_checkpoint(name_or_path):
    """Return the folder of a preset name or of a path.

    Raises:
        FileNotFoundError: it is neither; the message lists the presets.
    """
    for folder in (pathlib.Path(name_or_path), PRESETS_PATH / name_or_path):
        if (folder / "config.json").is_file():
            return folder
    presets = sorted(path.parent.name for path in PRESETS_PATH.glob("*/config.json"))
    raise FileNotFoundError(
        f"A checkpoint must be a folder with config.json, vocab.txt and model.safetensors, or one of the presets "
        f"{presets}. Received: {str(name_or_path)!r}."
    )


def load_checkpoint(name_or_path, dtype=None, **config_changes):
    """Load a checkpoint folder or a preset.

    Args:
        name_or_path: a preset name such as "kbert-small-en", or a folder with `config.json`, `vocab.txt` and
            `model.safetensors` (names with or without the leading "bert.").
        dtype: dtype policy of the model; None takes the global policy. Weights are float32 variables under any mixed
            policy, whatever the file holds.
        **config_changes: fields of `BertConfig` that differ from `config.json`, such as `dropout=0.0`.

    Returns:
        `Checkpoint`. A head or pooler that the file lacks altogether is named in `missing_parts`.

    Raises:
        FileNotFoundError: no such preset or folder, or a file is missing in it.
        ValueError: the file is damaged, has a name too many or too few, a shape that does not match `config.json`, or
            the vocabulary has another length than the token table.
    """
    folder = find_checkpoint(name_or_path)
    config = BertConfig.from_json(folder / "config.json").replace(**config_changes)
    tokenizer = WordPieceTokenizer.from_folder(folder)
    if tokenizer.vocabulary_size != config.vocabulary_size:
        raise ValueError(
            "vocab.txt must have as many tokens as config.json says. "
            f"Received: {tokenizer.vocabulary_size} tokens, vocab_size={config.vocabulary_size} in {folder}."
        )
    path = folder / "model.safetensors"
    weights = _read_weights(path)
    parts = weight_names(config.num_layers)
    missing_parts = tuple(part for part in ("pooler", "mlm", "nsp") if not set(parts[part].values()) & set(weights))
    expected = {
        ours: theirs for part, names in parts.items() if part not in missing_parts for ours, theirs in names.items()
    }
    _refuse_names(expected=set(expected.values()), received=set(weights), path=path)
    model = BertPretrainer(BertBackbone(config, dtype=dtype))
    for ours, theirs in expected.items():
        variable = _variable(model, ours)
        value = weights[theirs].T if is_transposed(ours) else weights[theirs]
        if value.shape != tuple(variable.shape):
            raise ValueError(
                f"A weight must have the shape config.json asks for. Received: {theirs} with shape "
                f"{weights[theirs].shape} in {path}, expected {tuple(variable.shape)} for our `{ours}`."
            )
        variable.assign(np.ascontiguousarray(value, "float32"))
    return Checkpoint(model, tokenizer, missing_parts, str(name_or_path))


def save_checkpoint(model, tokenizer, folder, dtype="float32", **config_changes):
    """Write a folder that kbert and transformers (`BertForPreTraining`) load.

    Each file is written under another name first, so that a stop half-way damages no older file.

    Args:
        model: `BertPretrainer`.
        tokenizer: `WordPieceTokenizer`.
        folder: created if missing.
        dtype: "float32" or "float16", of the weights in the file.
        **config_changes: fields of `BertConfig` that `config.json` gets instead of the model's own, such as the
            `dropout` of a later fine-tuning.

    Raises:
        ValueError: the tokenizer has another number of tokens than the model, or a weight is not finite in `dtype`.
    """
    config = model.backbone.config
    if tokenizer.vocabulary_size != config.vocabulary_size:
        raise ValueError(
            "The tokenizer must have as many tokens as the model's table has rows. "
            f"Received: {tokenizer.vocabulary_size} tokens, vocabulary_size={config.vocabulary_size}."
        )
    tensors = {}
    for names in weight_names(config.num_layers).values():
        for ours, theirs in names.items():
            value = keras.ops.convert_to_numpy(_variable(model, ours))
            with np.errstate(over="ignore"):  # Refused below, by name.
                value = value.astype(dtype)
            if not np.isfinite(value).all():
                raise ValueError(f"Weights must be finite. Received: infinite or NaN values in `{ours}` as {dtype}.")
            tensors[theirs] = np.ascontiguousarray(value.T if is_transposed(ours) else value)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as unfinished:
        unfinished = pathlib.Path(unfinished)
        # Not `save_file`, whose file only its owner may read.
        (unfinished / "model.safetensors").write_bytes(safetensors.numpy.save(tensors, metadata={"format": "pt"}))
        tokenizer.save(unfinished)
        _write_config(config.replace(**config_changes), dtype, unfinished / "config.json")
        for path in unfinished.iterdir():
            path.replace(folder / path.name)


def _write_config(config, dtype, path):
    values = config.to_json_values() | {"architectures": ["BertForPreTraining"], "dtype": dtype}
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _variable(model, name):
    steps = (int(step) if step.isdecimal() else step for step in name.split("."))
    return functools.reduce(
        lambda here, step: here[step] if isinstance(step, int) else getattr(here, step), steps, model
    )


def _read_weights(path):
    if not path.is_file():
        raise FileNotFoundError(f"A checkpoint folder must hold model.safetensors. Received: {path.parent}.")
    try:
        weights = safetensors.numpy.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"A weight file must be whole. Received: {path}: {error}. Copy or download it again."
        ) from error
    prefixed = {
        name if name.startswith(("bert.", "cls.")) else f"bert.{name}": value for name, value in weights.items()
    }
    return {name: value for name, value in prefixed.items() if name not in REDUNDANT}


def _refuse_names(expected, received, path):
    if expected != received:
        raise ValueError(
            f"The weights of {path} must be those of a BERT of this config. Received: "
            f"missing {sorted(expected - received)}, unexpected {sorted(received - expected)}."
        )
