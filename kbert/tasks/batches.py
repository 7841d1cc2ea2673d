"""Rows of a task to batches, those of like length together, so that a short text does not pay for a long one."""

import dataclasses

import numpy as np

from kbert.text.tokenizer import PackedText

# Batches whose rows are sorted by length together; the order of rows inside such a pool is all that sorting decides.
POOL_BATCHES = 50


@dataclasses.dataclass(frozen=True)
class Row:
    """What the model reads at once, and what it is to answer.

    Attributes:
        parts: tuple of `PackedText`: one, or C for a row of C choices.
        targets: dict of output name to its target: a number, an array, or a list with a value a token. Empty for none.
        weights: dict of output name to its weight, likewise; empty for 1 everywhere.
        example: int, the place in its list of the example that the row is of; a long example has several rows.
        extra: whatever the task needs to read the model's answer.
    """

    parts: tuple
    targets: dict = dataclasses.field(default_factory=dict)
    weights: dict = dataclasses.field(default_factory=dict)
    example: int = 0
    extra: object = None

    @property
    def length(self):
        """Tokens of the row, of its longest choice."""
        return max(len(part.token_ids) for part in self.parts)


def compact(packed):
    """Return a `PackedText` as int32 arrays without its offsets: of 400,000 rows lists would take gigabytes."""
    return PackedText(np.array(packed.token_ids, "int32"), np.array(packed.segment_ids, "int32"), ())


def pack_choices(tokenizer, context, endings, max_sequence_length):
    """Return a `PackedText` an ending: [CLS] context [SEP] ending [SEP], the longer of the two cut."""
    return tuple(
        compact(tokenizer.pack(context, ending, max_sequence_length=max_sequence_length)) for ending in endings
    )


def padded_length(length, length_step, max_sequence_length):
    """Return a length rounded up to a multiple of `length_step`, but not above `max_sequence_length`."""
    return max(length, min(max_sequence_length, -(-length // length_step) * length_step))


def collate(rows, pad_token_id, length):
    """Pad rows to one length.

    Args:
        rows: list of `Row`, all with the same number of parts and the same targets and weights.
        pad_token_id: int.
        length: int, T, at least that of the longest row.

    Returns:
        (inputs, targets, weights): `token_ids`, `segment_ids`, `padding_mask` int32 `[B, T]`, or `[B, C, T]` for rows
        of C > 1 parts; targets int32 or float32, weights float32. What has a value a token is padded with 0.
    """
    shape = (len(rows), len(rows[0].parts), length)
    inputs = {
        "token_ids": np.full(shape, pad_token_id, "int32"),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": np.zeros(shape, "int32"),
    }
    for index, row in enumerate(rows):
        for choice, part in enumerate(row.parts):
            used = len(part.token_ids)
            inputs["token_ids"][index, choice, :used] = part.token_ids
            inputs["segment_ids"][index, choice, :used] = part.segment_ids
            inputs["padding_mask"][index, choice, :used] = 1
    if shape[1] == 1:
        inputs = {name: value[:, 0] for name, value in inputs.items()}
    targets = {name: _stack([row.targets[name] for row in rows], length) for name in rows[0].targets}
    weights = {name: _stack([row.weights[name] for row in rows], length) for name in rows[0].weights}
    return inputs, targets, {name: value.astype("float32") for name, value in weights.items()}


def _stack(values, length):
    if isinstance(values[0], list):
        values = [value + [0] * (length - len(value)) for value in values]
    stacked = np.array(values)
    return stacked.astype("float32" if stacked.dtype.kind == "f" else "int32")


def shuffled_batches(lengths, batch_size, seed, epoch):
    """Yield the rows of each batch of one pass, as arrays of their numbers.

    All rows are shuffled by (seed, epoch) and dealt out to pools of `POOL_BATCHES` batches. In each pool, rows of like
    length make a batch, and then the batches of all pools are shuffled: no batch comes earlier for being short.

    Args:
        lengths: list of int, tokens of each row.
        batch_size: int, B; one batch may be smaller.
        seed: int >= 0.
        epoch: int >= 0.
    """
    rng = np.random.default_rng([seed, epoch])
    lengths = np.asarray(lengths)
    order = rng.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), POOL_BATCHES * batch_size):
        pool = order[start : start + POOL_BATCHES * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    for index in rng.permutation(len(batches)):
        yield batches[index]


def predict_rows(predict, rows, pad_token_id, max_sequence_length, length_step, batch_size=32):
    """Return what a model says about each row, in the order of the rows; rows of like length are read together.

    Args:
        predict: function of a dict of inputs that returns a list of arrays `[B, ...]`.
        rows: list of `Row`.
        pad_token_id: int.
        max_sequence_length: int, never exceeded by padding.
        length_step: int, rows are padded to a multiple of it: backends that compile for each shape meet few.
        batch_size: int.

    Returns:
        list of tuples of arrays, one a row. Outputs with a value a token go on over the padding.
    """
    answers = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda index: rows[index].length)
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        length = padded_length(rows[chosen[-1]].length, length_step, max_sequence_length)
        inputs, _, _ = collate([rows[index] for index in chosen], pad_token_id, length)
        for index, *answer in zip(chosen, *predict(inputs), strict=True):
            answers[index] = tuple(answer)
    return answers


def group_by_example(rows, outputs, num_examples):
    """Return for each example the list of its (row, output)."""
    groups = [[] for _ in range(num_examples)]
    for row, output in zip(rows, outputs, strict=True):
        groups[row.example].append((row, output))
    return groups
