"""Google's TF1 checkpoints: bert_config.json, vocab.txt, bert_model.ckpt.*."""

import pathlib
import re

from kbert.config import BertConfig
from kbert.convert.checkpoint import Checkpoint, assemble
from kbert.convert.names import google_name, weight_names
from kbert.convert.tokenizer_fit import read_fitting_tokenizer

# What the optimizers of run_pretraining.py and run_classifier.py leave in a checkpoint.
_OPTIMIZER_SLOTS = ("/adam_m", "/adam_v", "/lamb_m", "/lamb_v")
_NEWEST = re.compile(r'^model_checkpoint_path:\s*"([^"]+)"', re.MULTILINE)


def load_google(folder, dtype=None, **config_changes):
    """Load a folder as google-research/bert released and writes it; see `kbert.load`.

    The activation "gelu" of `bert_config.json` becomes "gelu_tanh", the form that Google's code computes. The same
    weights on Hugging Face compute the erf form: pass `activation="gelu_erf"` to have their numbers.
    """
    folder = pathlib.Path(folder)
    config = BertConfig.from_json(folder / "bert_config.json")
    if config.activation == "gelu_erf":
        config = config.replace(activation="gelu_tanh")
    tokenizer = read_fitting_tokenizer(folder, config)
    prefix = _newest_prefix(folder)
    tensors = _rename(_read_tensors(prefix), config.num_layers)
    # run_classifier.py's names do not say what for; a text's class is what it trains.
    settings = {"architectures": ["BertForSequenceClassification"]} if "classifier.weight" in tensors else {}
    model, missing_parts = assemble(config.replace(**config_changes), tensors, settings, prefix, dtype)
    return Checkpoint(model, tokenizer, missing_parts, str(folder), config)


def _newest_prefix(folder):
    indexes = list(folder.glob("*.ckpt*.index"))
    if not indexes:
        raise FileNotFoundError(
            f"A folder of Google's must hold bert_model.ckpt.index and bert_model.ckpt.data-*. Received: {folder}."
        )
    # TensorFlow's own note of the newest; else the highest number of steps. The times of copied files tell nothing.
    noted = folder / "checkpoint"
    if noted.is_file() and (line := _NEWEST.search(noted.read_text(encoding="utf-8", errors="replace"))):
        prefix = folder / pathlib.PurePosixPath(line[1].replace("\\", "/")).name
        if prefix.with_name(prefix.name + ".index") in indexes:
            return prefix
    return max(indexes, key=_steps_and_time).with_suffix("")


def _steps_and_time(path):
    steps = re.search(r"\.ckpt-(\d+)\.index$", path.name)
    return int(steps[1]) if steps else -1, path.stat().st_mtime, path.name


def _read_tensors(prefix):
    """Return the tensors of a TF1 checkpoint by their names, optimizer slots left out."""
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            f"TensorFlow must be installed to read {prefix}. Install it with `pip install 'keras-kbert[tensorflow]'`; "
            "`kbert convert` then writes a folder that needs none."
        ) from error
    name = None
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        tensors = {}
        for name in reader.get_variable_to_shape_map():
            if name != "global_step" and not name.endswith(_OPTIMIZER_SLOTS):
                tensors[name] = reader.get_tensor(name)
        return tensors
    except (tf.errors.OpError, RuntimeError, ValueError, LookupError) as error:
        raise ValueError(
            f"A checkpoint must be whole. Received: {prefix}, tensor {name}: {error}. Copy or download it again."
        ) from error


def _rename(tensors, num_layers):
    """Return the tensors under Hugging Face names and the right way round; unknown ones keep their name."""
    theirs = {google_name(name): name for part in weight_names(num_layers).values() for name in part.values()}
    return {
        theirs.get(name, name): tensor.T if name.endswith("/kernel") else tensor for name, tensor in tensors.items()
    }
