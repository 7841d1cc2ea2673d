"""Does a SavedModel that was written give the answers of its checkpoint?"""

import functools

import numpy as np
import tensorflow as tf

from kbert.export.comparison import compare_embed, compare_fill_mask, compare_outputs, compare_sentence_pair
from kbert.export.fine_tuned_comparison import compare_classify, compare_tag
from kbert.inference import EmbedText, FillMask, SentencePair
from kbert.inference.masked_text import MASK
from kbert.inference.source import Source

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
    references = _references(checkpoint)
    longest = checkpoint.model.backbone.config.max_sequence_length
    for name, signature in loaded.signatures.items():
        if name == "serving_default":  # One of the others by a second name.
            continue
        _, inputs = signature.structured_input_signature
        for length in (SHORT_LENGTH, longest + 3):
            for batch in BATCHES:
                asked = _example_inputs(checkpoint, sorted(inputs), batch, length)
                answers = signature(**{key: tf.constant(value) for key, value in asked.items()})
                difference = references[name]({key: value.numpy() for key, value in answers.items()}, **asked)
                if not difference <= TOLERANCE:
                    raise ValueError(
                        f"A SavedModel must give the answers of its checkpoint, within {TOLERANCE}. Received: {name} "
                        f"with a difference of {difference} at {batch} x {length} tokens. Nothing was written; see "
                        "that the weights are finite numbers."
                    )


def _references(checkpoint):
    """Return a function of (answers, inputs) for each signature, which returns the largest difference."""
    model = checkpoint.model
    # Called as it is: compiling it for each shape that is asked once would take longer than the answers.
    asked = (checkpoint.tokenizer, model.backbone.config.max_sequence_length)
    encode = functools.partial(model.backbone, training=False)
    embed = {pooling: EmbedText(encode, *asked, pooling=pooling) for pooling in ("mean", "cls")}
    source = Source(functools.partial(model, training=False), *asked)
    fill_mask, sentence_pair = (kind(source.model, *asked) for kind in (FillMask, SentencePair))
    return {
        "classify": lambda answers, text: compare_classify(answers, model, source, text),
        "classify_pair": lambda answers, text, text_pair: compare_classify(answers, model, source, text, text_pair),
        "tag": lambda answers, text: compare_tag(answers, model, source, text),
        "fill_mask": lambda answers, text: compare_fill_mask(answers, fill_mask, text),
        "sentence_pair": lambda answers, text, text_pair: compare_sentence_pair(
            answers, sentence_pair, text, text_pair
        ),
        "embed": lambda answers, text: compare_embed(answers, embed, text),
        "embed_pair": lambda answers, text, text_pair: compare_embed(answers, embed, text, text_pair),
        "token_ids": lambda answers, **inputs: compare_outputs(answers, _model_outputs(model, answers, inputs)),
    }


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
