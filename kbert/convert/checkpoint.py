"""Named tensors to a model, and a model to named tensors."""

import dataclasses
import functools

import keras
import ml_dtypes
import numpy as np

from kbert.config import BertConfig
from kbert.convert.names import ARCHITECTURES, is_transposed, normal_names, weight_names
from kbert.models import BertBackbone, BertClassifier, BertMultipleChoice, BertPretrainer, BertSpanFinder, BertTagger
from kbert.text.tokenizer import WordPieceTokenizer

PRETRAINING_PARTS = ("pooler", "mlm", "nsp")
# Our problem -> `problem_type` in config.json.
PROBLEM_TYPES = {
    "one_class": "single_label_classification",
    "several_labels": "multi_label_classification",
    "regression": "regression",
}
FILE_DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_TASK_ARCHITECTURES = {
    BertClassifier: "BertForSequenceClassification",
    BertMultipleChoice: "BertForMultipleChoice",
    BertTagger: "BertForTokenClassification",
    BertSpanFinder: "BertForQuestionAnswering",
}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A model, its tokenizer, and what the file did not hold.

    Attributes:
        model: `BertPretrainer`, or the fine-tuned model the file is of: `BertClassifier`, `BertMultipleChoice`,
            `BertTagger` or `BertSpanFinder`. Each has its encoder as `backbone`.
        tokenizer: `WordPieceTokenizer`.
        missing_parts: tuple of "pooler", "mlm", "nsp": parts without weights in the file. They are random, or (in a
            fine-tuned model) not there.
        source: str, where it came from.
        config: `BertConfig` of the file, before any changes asked for.
    """

    model: keras.Model
    tokenizer: WordPieceTokenizer
    missing_parts: tuple
    source: str
    config: BertConfig


def assemble(config, tensors, settings, path, dtype=None):
    """Build the model that tensors are of.

    Args:
        config: `BertConfig`.
        tensors: dict of Hugging Face name, in any of its spellings, to array.
        settings: dict of the file's config.json: `architectures`, `id2label`, `problem_type`, `classifier_dropout`,
            `tie_word_embeddings` and kbert's own `tags_pieces` are read.
        path: of the weights, for messages.
        dtype: dtype policy of the model.

    Returns:
        (model, missing_parts), as in `Checkpoint`.

    Raises:
        ValueError: a name too many or too few, or a shape that does not match `config`.
    """
    tensors = normal_names(tensors)
    architecture = _architecture(settings, tensors, path)
    is_untied = _settle_decoder(tensors, settings)
    parts = weight_names(config.num_layers)
    missing_parts = tuple(part for part in PRETRAINING_PARTS if not set(parts[part].values()) & set(tensors))
    if architecture is None:
        wanted = [part for part in PRETRAINING_PARTS if part not in missing_parts] + ["decoder"] * is_untied
    else:
        required = ARCHITECTURES[architecture]
        wanted = [*required, *["pooler"] * ("pooler" not in missing_parts and "pooler" not in required)]
    expected = {ours: theirs for part in ("encoder", *wanted) for ours, theirs in parts[part].items()}
    _refuse_names(set(expected.values()), set(tensors), path)
    model = _new_model(architecture, config, tensors, settings, is_untied, path, dtype)
    for ours, theirs in expected.items():
        _assign(_variable(model, ours), tensors[theirs], ours, theirs, path)
    return model, missing_parts


def disassemble(model, missing_parts, dtype):
    """Return what a Hugging Face folder of a model holds.

    Args:
        model: one of the models of `Checkpoint`.
        missing_parts: parts of a `BertPretrainer` to leave out.
        dtype: "float32", "float16" or "bfloat16".

    Returns:
        (tensors by Hugging Face name, dict of settings for config.json).

    Raises:
        ValueError: `dtype` is none of these, a weight is not finite in it, or what is left is no whole model.
    """
    if dtype not in FILE_DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(FILE_DTYPES)}. Received: dtype={dtype!r}.")
    settings = _settings(model, missing_parts)
    (architecture,) = settings["architectures"]
    if isinstance(model, BertPretrainer):
        wanted = [part for part in PRETRAINING_PARTS if part not in missing_parts]
        wanted += ["decoder"] * ("mlm" in wanted and not model.tied_decoder)
    else:
        wanted = ARCHITECTURES[architecture]
    parts = weight_names(model.backbone.config.num_layers)
    tensors = {}
    for ours, theirs in (pair for part in ("encoder", *wanted) for pair in parts[part].items()):
        value = keras.ops.convert_to_numpy(_variable(model, ours))
        with np.errstate(over="ignore"):  # Refused below, by name.
            value = value.astype(FILE_DTYPES[dtype])
        if not np.isfinite(value.astype("float32")).all():
            raise ValueError(f"Weights must be finite. Received: infinite or NaN values in `{ours}` as {dtype}.")
        tensors[theirs] = np.ascontiguousarray(value.T if is_transposed(ours) else value)
    if "decoder" in wanted:
        tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]  # The one transformers adds.
    if architecture == "BertModel":
        tensors = {name.removeprefix("bert."): value for name, value in tensors.items()}
    return tensors, settings


def _architecture(settings, tensors, path):
    """Return the Hugging Face name of a fine-tuned model, None for a `BertPretrainer`."""
    declared = set(settings.get("architectures") or ()) & set(_TASK_ARCHITECTURES.values())
    if declared:
        return declared.pop()
    if "qa_outputs.weight" in tensors:
        return "BertForQuestionAnswering"
    if "classifier.weight" in tensors:
        raise ValueError(
            f"`architectures` must say in config.json what classifier.weight is for: one of "
            f"{sorted(_TASK_ARCHITECTURES.values())}. Received: architectures={settings.get('architectures')!r} "
            f"beside {path}."
        )
    return None


def _settle_decoder(tensors, settings):
    """Take copies of tied weights out of `tensors`, and tell whether the output table is one of its own."""
    decoder = tensors.pop("cls.predictions.decoder.weight", None)
    bias = tensors.pop("cls.predictions.decoder.bias", None)
    if bias is not None:  # Where the two differ, this is the one transformers adds.
        tensors["cls.predictions.bias"] = bias
    table = tensors.get("bert.embeddings.word_embeddings.weight")
    is_copy = decoder is not None and table is not None and np.array_equal(decoder, table)
    if decoder is not None and not is_copy:
        tensors["cls.predictions.decoder.weight"] = decoder
        return True
    return decoder is None and "cls.predictions.bias" in tensors and settings.get("tie_word_embeddings") is False


def _refuse_names(expected, received, path):
    if expected != received:
        raise ValueError(
            f"The weights of {path} must be those of a BERT of this config. Received: "
            f"missing {sorted(expected - received)}, unexpected {sorted(received - expected)}."
        )


def _new_model(architecture, config, tensors, settings, is_untied, path, dtype):
    backbone = BertBackbone(config, dtype=dtype)
    if architecture is None:
        return BertPretrainer(backbone, tied_decoder=not is_untied)
    if architecture == "BertForQuestionAnswering":
        return BertSpanFinder(backbone)
    dropout = settings.get("classifier_dropout")
    if architecture == "BertForMultipleChoice":
        return BertMultipleChoice(backbone, dropout=dropout)
    num_classes = len(tensors["classifier.bias"])
    label_names = settings.get("id2label")
    if label_names is not None:
        label_names = [label_names[index] for index in sorted(label_names, key=int)]
        if len(label_names) != num_classes:
            raise ValueError(
                f"`id2label` in config.json must name each class. Received: {len(label_names)} names, "
                f"classifier.bias with {num_classes} classes in {path}."
            )
    if architecture == "BertForTokenClassification":
        return BertTagger(backbone, num_classes, label_names, dropout, settings.get("tags_pieces", False))
    problem = {theirs: ours for ours, theirs in PROBLEM_TYPES.items()}.get(settings.get("problem_type"))
    problem = problem or ("regression" if num_classes == 1 else "one_class")  # transformers' rule.
    return BertClassifier(backbone, num_classes, problem, label_names, dropout)


def _settings(model, missing_parts):
    if isinstance(model, BertPretrainer):
        settings = {"architectures": [_what_is_left(missing_parts)]}
        return settings if model.tied_decoder else settings | {"tie_word_embeddings": False}
    settings = {"architectures": [_TASK_ARCHITECTURES[type(model)]]}
    if hasattr(model, "classifier_head"):
        settings["classifier_dropout"] = model.classifier_head.dropout_rate
    if hasattr(model, "label_names"):
        settings["id2label"] = {str(index): name for index, name in enumerate(model.label_names)}
        settings["label2id"] = {name: index for index, name in enumerate(model.label_names)}
    if getattr(model, "tags_pieces", False):
        settings["tags_pieces"] = True  # kbert's own; transformers keeps what it does not know.
    if hasattr(model, "problem"):
        settings["problem_type"] = PROBLEM_TYPES[model.problem]
    return settings


def _what_is_left(missing_parts):
    present = set(PRETRAINING_PARTS) - set(missing_parts)
    fitting = (name for name, parts in ARCHITECTURES.items() if present >= set(parts))
    architecture = next(fitting, None)
    # A pooler that no head reads does no harm; a head without its pooler does.
    if architecture is None or present - set(ARCHITECTURES[architecture]) - {"pooler"}:
        raise ValueError(
            "What is written must be a whole model: mlm, or the pooler with or without nsp. Random weights are not "
            f"written. Received: missing_parts={tuple(missing_parts)}. Train those parts first, with "
            "training/pretrain.py --init."
        )
    return architecture


def _variable(model, name):
    steps = (int(step) if step.isdecimal() else step for step in name.split("."))
    return functools.reduce(
        lambda here, step: here[step] if isinstance(step, int) else getattr(here, step), steps, model
    )


def _assign(variable, tensor, ours, theirs, path):
    value = tensor.T if is_transposed(ours) else tensor
    if value.shape != tuple(variable.shape):
        raise ValueError(
            f"A weight must have the shape config.json asks for. Received: {theirs} with shape {tensor.shape} in "
            f"{path}, expected {tuple(variable.shape[::-1] if is_transposed(ours) else variable.shape)}."
        )
    variable.assign(np.ascontiguousarray(value, "float32"))
