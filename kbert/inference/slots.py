"""What does the model say at many places of many rows?"""

import itertools

import numpy as np

from kbert.inference.rows import batch_rows, log_softmax
from kbert.text.tokenizer import PackedText

BATCH_SIZE = 32
# Slots are gathered from this many batches before they are sorted by length; each costs V float64 until it is read.
BATCHES_AHEAD = 4


def predict_slots(source, slots, batch_size=BATCH_SIZE):
    """Yield the log probabilities of the whole vocabulary for each slot, in the order of the slots.

    Slots that share a row share its pass through the model; rows of like length share a batch.

    Args:
        source: `Source` with the output `mlm`.
        slots: iterable of (token_ids, position): a row as a tuple of int, and the place in it to predict.
        batch_size: int, rows a batch.

    Yields:
        float64 `[V]`, one a slot.
    """
    slots = iter(slots)
    while chunk := list(itertools.islice(slots, BATCHES_AHEAD * batch_size)):
        places = {}  # Row -> {position: column}
        for token_ids, position in chunk:
            columns = places.setdefault(token_ids, {})
            columns.setdefault(position, len(columns))
        answers = {}
        rows = sorted(places, key=len)
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            answers |= zip(batch, _predict_batch(source, batch, [list(places[row]) for row in batch]), strict=True)
        for token_ids, position in chunk:
            yield log_softmax(answers[token_ids][places[token_ids][position]])


def _predict_batch(source, rows, positions):
    packed = [PackedText(row, [0] * len(row), ()) for row in rows]
    inputs = batch_rows(packed, source.tokenizer.special_token_ids["[PAD]"], source.max_sequence_length)
    widest = max(map(len, positions))
    inputs["mask_positions"] = np.zeros((len(rows), 1 << (widest - 1).bit_length()), "int32")  # Few shapes to compile.
    for index, found in enumerate(positions):
        inputs["mask_positions"][index, : len(found)] = found
    return source.predict(inputs, "mlm")[0]  # [B, P, V]
