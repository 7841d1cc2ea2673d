"""Which vector stands for a text?"""

import numpy as np

from kbert.inference.hidden_states import choose_layers, predict_hidden_states
from kbert.inference.rows import pack_rows
from kbert.inference.source import open_source

# Name -> the hidden states, and what is made of them. 0 = embeddings, -1 = last layer.
LAYERS = {
    "embeddings": ((0,), "concat"),
    "last": ((-1,), "concat"),
    "second_to_last": ((-2,), "concat"),
    "sum_last_four": ((-4, -3, -2, -1), "sum"),
    "concat_last_four": ((-4, -3, -2, -1), "concat"),
}
POOLINGS = ("mean", "cls")


class EmbedText:
    """Turn texts into vectors.

    The vectors of a model that was only pretrained tell texts of one topic from others; they are no trained measure of
    similarity, and are not scaled to unit length.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer` or
            `BertBackbone`, or a callable; see `kbert.inference.source.Source`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, the longest row; None for the model's own. A callable needs it.
        layers: one of `LAYERS`, the features of the paper's Table 7 (without its two learned, weighted sums).
        pooling: "mean" over all tokens, [CLS] and [SEP] included; or "cls", the vector of [CLS].

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: `layers` or `pooling` is not one of those, or the model has too few layers.

    Source: paper section 5.3 and Table 7.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None, layers="last", pooling="mean"):
        if layers not in LAYERS:
            raise ValueError(f"`layers` must be one of {list(LAYERS)}. Received: {layers=}.")
        if pooling not in POOLINGS:
            raise ValueError(f"`pooling` must be one of {list(POOLINGS)}. Received: {pooling=}.")
        chosen, self._combine = LAYERS[layers]
        self.source = choose_layers(open_source(source, tokenizer, (), max_sequence_length), chosen)
        self.pooling = pooling

    def __call__(self, text, truncate=False):
        """Return the vector of a text.

        Args:
            text: str, a (first, second) tuple of str, or a list of such (answered in batches).
            truncate: bool. True: read only the beginning of a text that is longer than the model.

        Returns:
            float32 `[D]`, or `[B, D]` for a list; four times as wide for "concat_last_four".

        Raises:
            ValueError: a text is empty, or too long and not to be truncated; or the list is empty.
        """
        single = isinstance(text, (str, tuple))
        texts = [text] if single else list(text)
        if not texts:
            raise ValueError("A list of texts must hold at least one. Received: an empty list.")
        rows = pack_rows(self.source.tokenizer, texts, self.source.max_sequence_length, truncate)
        vectors = np.stack([self._pool(states) for states in predict_hidden_states(self.source, rows)])
        return vectors[0] if single else vectors

    def _pool(self, states):
        vectors = [state.mean(0) if self.pooling == "mean" else state[0] for state in states]
        return np.sum(vectors, 0) if self._combine == "sum" else np.concatenate(vectors)
