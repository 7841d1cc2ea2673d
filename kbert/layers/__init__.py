"""The parts of BERT as Keras layers.

Shapes are written in these letters: B batch, T tokens (S on the key axis), D hidden_dim, N heads, H = D / N,
F intermediate_dim, V vocabulary, P mask slots.
"""

from kbert.layers.attention import SelfAttention
from kbert.layers.dense_head import DenseHead
from kbert.layers.embeddings import BertEmbeddings
from kbert.layers.encoder import EncoderBlock
from kbert.layers.heads import MaskedLMHead, NextSentenceHead, Pooler
from kbert.layers.last_token import LastToken

__all__ = [
    "BertEmbeddings",
    "DenseHead",
    "EncoderBlock",
    "LastToken",
    "MaskedLMHead",
    "NextSentenceHead",
    "Pooler",
    "SelfAttention",
]
