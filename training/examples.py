"""What a model answers on a few masked rows at each save, for people who want to see it learn."""

import json

import keras
import numpy as np

FILE = "examples.json"
NUM_ROWS, NUM_ANSWERS = 4, 3


class WriteExamples(keras.callbacks.Callback):
    """Write `examples.json` after every epoch: always the same rows, with the answers of the model as it is.

    Args:
        batches: `tf.data.Dataset`, held-out rows or, without any, the run's own. Its first rows are taken.
        tokenizer: `WordPieceTokenizer`.
        folder: `pathlib.Path`.
    """

    def __init__(self, batches, tokenizer, folder):
        super().__init__()
        self.batches = batches
        self.tokenizer = tokenizer
        self.path = folder / FILE
        self.rows = None

    def on_epoch_end(self, epoch, logs=None):
        if self.rows is None:
            (batch,) = self.batches.take(1).as_numpy_iterator()
            self.rows = keras.tree.map_structure(lambda values: values[:NUM_ROWS], batch)
        outputs = self.model(self.rows[0], training=False)
        answers = {
            name: keras.ops.convert_to_numpy(keras.ops.softmax(keras.ops.cast(logits, "float32")))
            for name, logits in outputs.items()
        }
        unfinished = self.path.with_suffix(".partial")
        rows = describe_rows(*self.rows, answers, self.tokenizer)
        unfinished.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(self.path)


def describe_rows(inputs, targets, weights, answers, tokenizer):
    """Return masked rows and the answers to them as plain values.

    Args:
        inputs, targets, weights: NumPy arrays of one batch, as `kbert.data.schema.batch_spec` describes.
        answers: dict of NumPy float arrays that sum to one: "mlm" `[B, P, V]` and "nsp" `[B, 2]`.
        tokenizer: `WordPieceTokenizer`.

    Returns:
        list of dict, one a row: `tokens`, what the model reads, without padding; `masked`, a dict for each slot in use
        with `position`, `token`, the one that stood there, and `candidates`, a list of [token, probability], most
        probable first; `follows`, the probability that the second text follows; `is_random_next`, whether it comes
        from elsewhere. The last two are None for a row without a pair.
    """
    found = []
    for row, padding_mask in enumerate(inputs["padding_mask"]):
        token_ids = inputs["token_ids"][row][padding_mask == 1]
        masked = []
        for slot in np.flatnonzero(weights["mlm"][row]):
            probabilities = answers["mlm"][row, slot]
            best = np.argsort(-probabilities, kind="stable")[:NUM_ANSWERS]
            masked.append(
                {
                    "position": int(inputs["mask_positions"][row, slot]),
                    "token": tokenizer.id_to_token(int(targets["mlm"][row, slot])),
                    "candidates": [[tokenizer.id_to_token(int(i)), float(probabilities[i])] for i in best],
                }
            )
        has_pair = weights["nsp"][row] > 0
        found.append(
            {
                "tokens": [tokenizer.id_to_token(int(i)) for i in token_ids],
                "masked": masked,
                "follows": float(answers["nsp"][row, 0]) if has_pair else None,
                "is_random_next": bool(targets["nsp"][row]) if has_pair else None,
            }
        )
    return found
