"""Checkpoint folders in Hugging Face's layout: config.json, vocab.txt, tokenizer_config.json, model.safetensors."""

import json
import pathlib
import tempfile

import safetensors.numpy

from kbert.config import BertConfig
from kbert.convert.checkpoint import Checkpoint, assemble, disassemble
from kbert.convert.tokenizer_fit import check_tokenizer, read_fitting_tokenizer
from kbert.convert.weight_files import read_weights

# What transformers reads before vocab.txt. Of the vocabulary that was in the folder before, it would hide the new one.
OLDER_TOKENIZER_FILES = ("tokenizer.json", "added_tokens.json")


def load_hugging_face(folder, dtype=None, **config_changes):
    """Load a folder in Hugging Face's layout; see `kbert.load`."""
    folder = pathlib.Path(folder)
    config = BertConfig.from_json(folder / "config.json")
    tokenizer = read_fitting_tokenizer(folder, config)
    tensors, path = read_weights(folder)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model, missing_parts = assemble(config.replace(**config_changes), tensors, settings, path, dtype)
    return Checkpoint(model, tokenizer, missing_parts, str(folder), config)


def save_checkpoint(model, tokenizer, folder, dtype="float32", missing_parts=(), **config_changes):
    """Write a folder that kbert and transformers load.

    A `BertPretrainer` becomes a `BertForPreTraining`, or with `missing_parts` what is left of it: a `BertForMaskedLM`
    (a pooler, if there is one, stays in the file; transformers skips it), a `BertForNextSentencePrediction` or a
    `BertModel`. The other models become their namesakes. Each file is written under another name first, so that a
    stop half-way damages no older file.

    Args:
        model: `BertPretrainer`, `BertClassifier`, `BertMultipleChoice`, `BertTagger` or `BertSpanFinder`.
        tokenizer: `WordPieceTokenizer`.
        folder: created if missing.
        dtype: "float32", "float16" or "bfloat16", of the weights in the file.
        missing_parts: tuple of "pooler", "mlm", "nsp": parts of a `BertPretrainer` not to write, such as the
            `missing_parts` of the `Checkpoint` it came from.
        **config_changes: fields of `BertConfig` that `config.json` gets instead of the model's own, such as the
            `dropout` of a later fine-tuning.

    Raises:
        ValueError: the tokenizer does not fit the model, a weight is not finite in `dtype`, or what is left without
            `missing_parts` is none of these models.
        OSError, safetensors.SafetensorError: the disk is full or refuses; the folder is as it was.
    """
    config = model.backbone.config
    check_tokenizer(tokenizer, config.vocabulary_size, "the tokenizer")
    tensors, settings = disassemble(model, missing_parts, dtype)
    values = config.replace(**config_changes).to_json_values() | settings | {"dtype": dtype}
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as unfinished:
        unfinished = pathlib.Path(unfinished)
        # Not `save_file`, whose file only its owner may read.
        (unfinished / "model.safetensors").write_bytes(safetensors.numpy.save(tensors, metadata={"format": "pt"}))
        tokenizer.save(unfinished)
        config_text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        (unfinished / "config.json").write_text(config_text, encoding="utf-8")
        for path in unfinished.iterdir():
            path.replace(folder / path.name)
    for name in OLDER_TOKENIZER_FILES:
        (folder / name).unlink(missing_ok=True)
