"""Texts to one batch of model inputs."""

import keras
import numpy as np

from kbert.tasks.batches import padded_length


def pack_rows(tokenizer, texts, max_sequence_length=None, truncate=False):
    """Tokenise texts or pairs and refuse the ones no model can answer.

    Args:
        tokenizer: `WordPieceTokenizer`.
        texts: list of str, or of (first, second) pairs of str.
        max_sequence_length: int, the model's; None to refuse no length.
        truncate: bool. True: cut a longer text instead of refusing it; see `WordPieceTokenizer.pack`.

    Returns:
        list of `PackedText`.

    Raises:
        ValueError: a text is empty, or longer than the model can read.
    """
    rows = []
    for text in texts:
        parts = (text,) if isinstance(text, str) else text
        for part in parts:
            if not isinstance(part, str):
                raise TypeError(f"A text must be a string. Received: {type(part).__name__}.")
            if not part.strip():
                raise ValueError("A text must have at least one word. Received: an empty text. Write a sentence.")
        row = tokenizer.pack(*parts, max_sequence_length=max_sequence_length if truncate else None)
        if max_sequence_length is not None and len(row.token_ids) > max_sequence_length:
            raise ValueError(
                f"A text must have at most {max_sequence_length} tokens, [CLS] and [SEP] included. "
                f"Received: {len(row.token_ids)} tokens. Shorten it, or ask part by part."
            )
        rows.append(row)
    return rows


def length_step():
    """Return what lengths are rounded up to: JAX compiles for each; the others keep what a length needs, of some."""
    return 32 if keras.backend.backend() == "jax" else 8


def batch_rows(rows, pad_token_id, max_sequence_length):
    """Pad rows to one length.

    Args:
        rows: list of `PackedText`.
        pad_token_id: int.
        max_sequence_length: int, never exceeded.

    Returns:
        dict of `token_ids`, `segment_ids`, `padding_mask`, int32 `[B, T]`.
    """
    length = padded_length(max(len(row.token_ids) for row in rows), length_step(), max_sequence_length)
    inputs = {
        "token_ids": np.full((len(rows), length), pad_token_id, "int32"),
        "segment_ids": np.zeros((len(rows), length), "int32"),
        "padding_mask": np.zeros((len(rows), length), "int32"),
    }
    for index, row in enumerate(rows):
        used = len(row.token_ids)
        inputs["token_ids"][index, :used] = row.token_ids
        inputs["segment_ids"][index, :used] = row.segment_ids
        inputs["padding_mask"][index, :used] = 1
    return inputs


def softmax(logits):
    """Return float64 probabilities over the last axis."""
    exponentials = np.exp(logits.astype("float64") - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def log_softmax(logits):
    """Return float64 log probabilities over the last axis."""
    shifted = logits.astype("float64") - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def sigmoid(logits):
    """Return the float64 probability of each logit by itself."""
    return np.exp(-np.logaddexp(0.0, -logits.astype("float64")))
