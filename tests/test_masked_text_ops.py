"""Letters right behind a mask, in the graph against the eager rule."""

import random

import pytest
from conftest import once

from kbert.inference.continuations import join_to_masks
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.data.masked_text_ops import MaskedTextTokenizer  # noqa: E402

pytestmark = once
LETTERS = [*"aes.#[]国é에는i", "i\u0307", "학"]
VOCABULARY = [*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "##에서", "##서", "cat", "##s.", "##"]
PIECES = [
    *(*SPECIAL_TOKENS, *["[MASK]"] * 8, *LETTERS, "cat", "서", "에서는", "S", "É", "e\u0301", "İ", "½", "가"),
    *(" ", " ", "\t", "\u00ad", "\0", "\u0301", "[MAS", "K]", "##", "s" * 101, "e" * 99 + "가"),
]


@pytest.fixture(scope="module", params=[{}, {"strip_accents": False}, {"lowercase": False}], ids=str)
def tokenizers(request):
    eager = WordPieceTokenizer(VOCABULARY, **request.param)
    graph = MaskedTextTokenizer(eager)
    return eager, tf.function(graph.tokenize_with_offsets, input_signature=[tf.TensorSpec([None], tf.string)])


def test_any_mixture_reads_as_the_eager_rule_does(tokenizers):
    eager, in_graph = tokenizers
    draw = random.Random(6)
    texts = ["", "[MASK]", "s", "[MASK]s", *("".join(draw.choices(PIECES, k=draw.randint(1, 12))) for _ in range(3000))]
    token_ids, starts, ends = (ragged.to_list() for ragged in in_graph(tf.constant(texts)))
    num_joined = 0
    for text, row, *bounds in zip(texts, token_ids, starts, ends, strict=True):
        packed = eager.pack(text)
        expected = join_to_masks(eager, text, packed)
        assert row == expected.token_ids[1:-1], repr(text)
        assert list(zip(*bounds, strict=True)) == expected.offsets[1:-1], repr(text)
        num_joined += expected.token_ids != packed.token_ids
    assert num_joined > 300


def test_a_vocabulary_without_continuations_joins_nothing():
    eager = WordPieceTokenizer([*SPECIAL_TOKENS, "s"])
    (row,) = MaskedTextTokenizer(eager).tokenize(tf.constant(["[MASK]s"])).to_list()
    assert row == eager.encode("[MASK]s")
