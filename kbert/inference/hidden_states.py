"""What do chosen layers say about each token?"""

import dataclasses

import keras

from kbert.inference.rows import batch_rows
from kbert.inference.slots import BATCH_SIZE
from kbert.models import BertBackbone


def choose_layers(source, layers):
    """Return a `Source` with one output, `hidden_states`: those of the chosen layers.

    Args:
        source: `Source`.
        layers: tuple of int, places in the list of `num_layers` + 1 hidden states: 0 = embeddings, -1 = last layer.

    Raises:
        ValueError: there is no such layer. (For a callable this is known when it is first called.)
    """
    backbone = source.model if isinstance(source.model, BertBackbone) else getattr(source.model, "backbone", None)
    if backbone is not None:
        states = [backbone.embeddings.output, *(block.output for block in backbone.blocks)]
        return dataclasses.replace(source, model=keras.Model(backbone.input, {"hidden_states": _pick(states, layers)}))

    def pick_from_callable(inputs):
        outputs = source.model(inputs)
        if "hidden_states" in outputs:
            return {"hidden_states": _pick(outputs["hidden_states"], layers)}
        if set(layers) == {-1} and "sequence_output" in outputs:
            return {"hidden_states": [outputs["sequence_output"]] * len(layers)}
        return outputs  # `Source.predict` tells what is missing.

    return dataclasses.replace(source, model=pick_from_callable)


def predict_hidden_states(source, rows):
    """Return the hidden states of each row.

    Args:
        source: `Source` from `choose_layers`.
        rows: list of `PackedText`.

    Returns:
        list, one entry a row: a list of float32 `[T, D]`, one a chosen layer. T is the row's own number of tokens.
    """
    by_length = sorted(range(len(rows)), key=lambda index: len(rows[index].token_ids))
    answers = [None] * len(rows)
    for start in range(0, len(rows), BATCH_SIZE):
        batch = by_length[start : start + BATCH_SIZE]
        pad_id = source.tokenizer.special_token_ids["[PAD]"]
        inputs = batch_rows([rows[index] for index in batch], pad_id, source.max_sequence_length)
        (states,) = source.predict(inputs, "hidden_states")  # One [B, T, D] a layer.
        for place, index in enumerate(batch):
            answers[index] = [state[place, : len(rows[index].token_ids)] for state in states]
    return answers


def _pick(states, layers):
    if not layers or any(not -len(states) <= layer < len(states) for layer in layers):
        raise ValueError(
            f"Layers must be between {-len(states)} and {len(states) - 1}, 0 the embeddings and -1 the last layer. "
            f"Received: layers={tuple(layers)}."
        )
    return [states[layer] for layer in layers]
