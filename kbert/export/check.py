"""Does a SavedModel that was written give the answers of its checkpoint?"""

import functools

import numpy as np
import tensorflow as tf

from kbert.export.comparison import compare_outputs
from kbert.export.references import find_references
from kbert.inference.masked_text import MASK

TOLERANCE = 1e-5
# Two numbers of texts at a time, and two lengths: a few words, and more than the model reads.
BATCHES = (1, 3)
SHORT_LENGTH = 7


def check_saved_model(path, checkpoint):
    """Load a SavedModel, ask every signature at two batch sizes and two lengths, and compare.

    Args:
        path: folder that `kbert.export` wrote.
        checkpoint: `kbert.convert.Checkpoint` that it was written of.

    Raises:
        ValueError: an answer differs by more than `TOLERANCE`, or is no number.
    """
    loaded = tf.saved_model.load(str(path))
    model = checkpoint.model
    # Called as it is: compiling it for each shape that is asked once would take longer than the answers.
    references = find_references(
        checkpoint, *(functools.partial(part, training=False) for part in (model, model.backbone))
    )
    longest = model.backbone.config.max_sequence_length
    for name, signature in loaded.signatures.items():
        if name == "serving_default":  # One of the others by a second name.
            continue
        _, inputs = signature.structured_input_signature
        for length in (SHORT_LENGTH, longest + 3):
            for batch in BATCHES:
                asked = _example_inputs(checkpoint, sorted(inputs), batch, length)
                answers = signature(**{key: tf.constant(value) for key, value in asked.items()})
                answers = {key: value.numpy() for key, value in answers.items()}
                if name == "token_ids":
                    difference = compare_outputs(answers, _model_outputs(model, answers, asked))
                else:
                    names, compare = references[name]
                    difference = compare(answers, *(asked[key] for key in names))
                if not difference <= TOLERANCE:
                    raise ValueError(
                        f"A SavedModel must give the answers of its checkpoint, within {TOLERANCE}. Received: {name} "
                        f"with a difference of {difference} at {batch} x {length} tokens. Nothing was written; see "
                        "that the weights are finite numbers."
                    )


def _model_outputs(model, names, inputs):
    rows = {name: value for name, value in inputs.items() if name != "mask_positions"}
    outputs = model.backbone(rows, training=False)
    if "mask_positions" in model.input:
        positions = inputs.get("mask_positions", np.zeros((len(rows["token_ids"]), 1), "int32"))
        rows |= {"mask_positions": positions}
    outputs |= model(rows, training=False)
    return {name: outputs[name].numpy() for name in names}


def _example_inputs(checkpoint, names, batch, length):
    """Return values for inputs by name: texts of the vocabulary's own words, of `length` tokens or about, or rows."""
    draw = np.random.default_rng(length + batch)
    if "token_ids" in names:
        config = checkpoint.model.backbone.config
        shape = batch, min(length, config.max_sequence_length)
        lengths = draw.integers(shape[1] // 2, shape[1] + 1, (batch, 1))
        values = {
            "token_ids": draw.integers(0, config.vocabulary_size, shape),
            "segment_ids": draw.integers(0, config.num_segments, shape),
            "padding_mask": np.arange(shape[1]) < lengths,
            "mask_positions": draw.integers(0, shape[1], (batch, 2)),
        }
        return {name: values[name].astype("int32") for name in names}
    words = [token for token in checkpoint.tokenizer.vocabulary if token.isalpha()] or [MASK]
    texts = {}
    for name in names:
        drawn = draw.choice(words, (batch, length)).tolist()
        for row in drawn:
            row[int(draw.integers(length))] = MASK
        texts[name] = [" ".join(row) for row in drawn]
    return texts
