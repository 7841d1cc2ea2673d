"""What happens inside the encoder while it reads a text?"""

import dataclasses

import keras
import numpy as np

from kbert.inference.rows import batch_rows, pack_rows
from kbert.inference.source import open_source
from kbert.models import BertBackbone


@dataclasses.dataclass(frozen=True)
class Inside:
    """One text in the encoder. T tokens, [CLS] and [SEP] included, D wide, L layers, N heads.

    Attributes:
        tokens: list of str, T.
        token_ids, segment_ids: lists of int, T.
        offsets: list of (start, end), characters of the text the token came from; (0, 0) for [CLS] and [SEP].
        token_vectors, segment_vectors, position_vectors: float32 `[T, D]`, the three rows that are added.
        embedding_sum: float32 `[T, D]`, their sum.
        embeddings: float32 `[T, D]`, the sum after LayerNorm: what the first block reads.
        attention_maps: float32 `[L, N, T, T]`. `[l, n, t, s]` is how much token t looks at token s in head n of block
            l; sums to 1 over s.
    """

    tokens: list
    token_ids: list
    segment_ids: list
    offsets: list
    token_vectors: np.ndarray
    segment_vectors: np.ndarray
    position_vectors: np.ndarray
    embedding_sum: np.ndarray
    embeddings: np.ndarray
    attention_maps: np.ndarray


class InspectText:
    """Show the embedding sum and the attention maps of a text.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, or a kbert model with an
            encoder. No other callable: it does not let one look inside.
        tokenizer: `WordPieceTokenizer`, with a model only.
        max_sequence_length: int, the longest row; None for the model's own. The maps grow with its square.

    Raises:
        FileNotFoundError: no such preset or folder.
        TypeError: the model has no `BertBackbone`.

    Source: paper figures 1 to 3.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None):
        if callable(source) and _backbone_of(source) is None:
            raise TypeError(f"A model to look into must have a BertBackbone. Received: {type(source).__name__}.")
        self._source = open_source(source, tokenizer, (), max_sequence_length)
        self._backbone = _backbone_of(self._source.model)
        self._inside = dataclasses.replace(self._source, model=self._backbone.with_intermediates())

    def __call__(self, text, text_pair=None):
        """Read one text, or a pair.

        Args:
            text, text_pair: str, or None for no second text.

        Returns:
            `Inside`.

        Raises:
            ValueError: a text is empty, or longer than `max_sequence_length`.
        """
        texts = [text if text_pair is None else (text, text_pair)]
        tokenizer, longest = self._source.tokenizer, self._source.max_sequence_length
        (row,) = pack_rows(tokenizer, texts, longest)
        inputs = batch_rows([row], tokenizer.special_token_ids["[PAD]"], longest)
        states, maps = self._inside.predict(inputs, "hidden_states", "attention_maps")
        length = len(row.token_ids)
        layer = self._backbone.embeddings
        parts = {
            name: keras.ops.convert_to_numpy(table.embeddings)[places].astype("float32")
            for name, table, places in (
                ("token_vectors", layer.token_embedding, row.token_ids),
                ("segment_vectors", layer.segment_embedding, row.segment_ids),
                ("position_vectors", layer.position_embedding, range(length)),
            )
        }
        return Inside(
            tokens=[tokenizer.id_to_token(token_id) for token_id in row.token_ids],
            token_ids=row.token_ids,
            segment_ids=row.segment_ids,
            offsets=row.offsets,
            embedding_sum=sum(parts.values()),
            embeddings=states[0][0, :length],
            attention_maps=np.stack([each[0, :, :length, :length] for each in maps]),
            **parts,
        )


def _backbone_of(model):
    return model if isinstance(model, BertBackbone) else getattr(model, "backbone", None)
