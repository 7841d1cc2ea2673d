"""The hidden states of a frozen encoder on all tokens of a task, computed once and kept in files."""

import hashlib
import pathlib

import numpy as np

from kbert.inference.hidden_states import predict_hidden_states

_ROWS_AT_ONCE = 512


class TokenFeatures:
    """What each layer says about each token of some rows: float16, read from a file as it is needed.

    Args:
        states: float16 `[tokens, L + 1, D]`, the embeddings first.
        lengths: list of int, tokens of each row.
    """

    def __init__(self, states, lengths):
        self.states = states
        self.ends = np.cumsum(lengths)
        self.lengths = np.array(lengths)

    def batch(self, rows, layers, length):
        """Return the chosen layers of some rows, padded with 0.

        Args:
            rows: sequence of int, the places of the rows.
            layers: list of int, places in the list of L + 1 layers, -1 the last.
            length: int, T, at least that of the longest row.

        Returns:
            float32 `[B, T, layers, D]`.
        """
        batch = np.zeros((len(rows), length, len(layers), self.states.shape[-1]), "float32")
        for place, row in enumerate(rows):
            start = self.ends[row] - self.lengths[row]
            batch[place, : self.lengths[row]] = self.states[start : self.ends[row]][:, layers]
        return batch


def compute_features(source, rows, folder):
    """Run the encoder over the rows; a file in `folder` of the same rows and weights is taken as it is.

    Args:
        source: `Source` from `choose_layers` with all layers.
        rows: list of `Row` of one part each.
        folder: str or path, where the file is or will be.

    Returns:
        `TokenFeatures`.
    """
    packed = [row.parts[0] for row in rows]
    lengths = [len(each.token_ids) for each in packed]
    path = pathlib.Path(folder, f"{_fingerprint(source.model, packed)}.npy")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        _write(source, packed, sum(lengths), unfinished)
        unfinished.replace(path)
    return TokenFeatures(np.load(path, mmap_mode="r"), lengths)


def _write(source, packed, num_tokens, path):
    states, end = None, 0
    for start in range(0, len(packed), _ROWS_AT_ONCE):
        for row in predict_hidden_states(source, packed[start : start + _ROWS_AT_ONCE]):
            stacked = np.stack(row, 1)  # [T, L + 1, D]
            if states is None:
                shape = (num_tokens, *stacked.shape[1:])
                states = np.lib.format.open_memmap(path, "w+", "float16", shape)
            states[end : end + len(stacked)] = stacked
            end += len(stacked)
    states.flush()


def _fingerprint(model, packed):
    digest = hashlib.sha256()
    for weight in model.get_weights():
        digest.update(weight.tobytes())
    for row in packed:
        digest.update(np.array([row.token_ids, row.segment_ids], "int32").tobytes() + b"|")
    return digest.hexdigest()[:16]
