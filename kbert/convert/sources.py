"""One way in for every checkpoint."""

import dataclasses
import importlib.util
import json
import pathlib
import re

from kbert.convert.google import load_google
from kbert.convert.hubs import fetch, is_handle
from kbert.convert.huggingface import load_hugging_face
from kbert.convert.keras_hub import import_keras_hub, load_keras_hub

_PRESET_NAME = re.compile(r"[a-z][a-z0-9.]*(_[a-z0-9.]+)+")
PRESETS_PATH = pathlib.Path(__file__).parent.parent / "presets"


def load(source, dtype=None, **config_changes):
    """Load any BERT checkpoint.

    Args:
        source: one of
            a preset of kbert, such as "kbert-small-en";
            a folder in Hugging Face's layout: `config.json`, `vocab.txt` or `tokenizer.json`, and `model.safetensors`,
            its shards, or `pytorch_model.bin` (read without running code that may be in it);
            a folder of Google's: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*` (needs TensorFlow);
            a folder or the name of a KerasHub preset, such as "bert_tiny_en_uncased" (needs keras-hub);
            "hf://OWNER/NAME" or "kaggle://OWNER/MODEL/FRAMEWORK/NAME", fetched by the hub's own library, or taken from
            its cache, and then one of the above.
        dtype: dtype policy of the model; None takes the global policy. Weights are float32 variables under any mixed
            policy, whatever the file holds.
        **config_changes: fields of `BertConfig` that differ from the file's, such as `dropout=0.0`.

    Returns:
        `Checkpoint`. Its model is the one the file is of: a `BertPretrainer` unless `architectures` in `config.json`
        names a fine-tuned one. A head or pooler that the file lacks is named in `missing_parts`.

    Raises:
        FileNotFoundError: no such preset or folder, or a file is missing in it.
        ValueError: a file is damaged, has a name too many or too few, a shape that does not match the config, or a
            vocabulary of another length or case than the model's.
        ConnectionError: a handle that is neither in the hub's cache nor within reach.
        ImportError: a library that this kind of file needs is not installed; the message names it.
    """
    source = str(source)
    folder = find_checkpoint(fetch(source)) if is_handle(source) else _find(source)
    if folder is None:
        return load_keras_hub(source, dtype, **config_changes)
    return dataclasses.replace(_load_folder(folder, dtype, config_changes), source=source)


def find_checkpoint(name_or_path):
    """Return the folder of a kbert preset or of a path.

    Raises:
        FileNotFoundError: it is neither; the message lists the presets.
    """
    for folder in (pathlib.Path(name_or_path), PRESETS_PATH / name_or_path):
        if (folder / "config.json").is_file() or (folder / "bert_config.json").is_file():
            return folder
    presets = sorted(path.parent.name for path in PRESETS_PATH.glob("*/config.json"))
    raise FileNotFoundError(
        "A checkpoint must be a folder with config.json or bert_config.json, a handle that starts with hf:// or "
        "kaggle://, the name of a KerasHub preset (with keras-hub installed), or one of the presets "
        f"{presets}. Received: {str(name_or_path)!r}."
    )


def _find(source):
    """Return the folder, or None for the name of a KerasHub preset."""
    try:
        return find_checkpoint(source)
    except FileNotFoundError:
        # Their names look so; asking KerasHub costs seconds of imports.
        may_be_theirs = _PRESET_NAME.fullmatch(source) and importlib.util.find_spec("keras_hub")
        if may_be_theirs and source in import_keras_hub().models.BertBackbone.presets:
            return None
        raise


def _load_folder(folder, dtype, config_changes):
    if not (folder / "config.json").is_file():
        return load_google(folder, dtype, **config_changes)
    try:
        is_keras_hub = "registered_name" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"A config file must hold JSON. Received: {folder / 'config.json'}: {error}.") from error
    return (load_keras_hub if is_keras_hub else load_hugging_face)(folder, dtype, **config_changes)
