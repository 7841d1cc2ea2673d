"""The tokenizer in the graph against the eager one, on the same texts."""

import functools
import random

import hypothesis
import hypothesis.strategies as st
import pytest
from conftest import once

from kbert.text.code_points import code_point_table
from kbert.text.tokenizer import WordPieceTokenizer
from kbert.text.vocabulary import SPECIAL_TOKENS

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.data.plain_text import plain_characters  # noqa: E402
from kbert.data.text_ops import GraphTokenizer  # noqa: E402

pytestmark = once

LETTERS = [*"aeifsz.!?[]()$ßσςé中国豈①학에학", "İ", "ı", "\u1b44"]
WORDS = ["the", "cat", "play", "##ing", "un", "##aff", "##able", "cafe", "café", "학교", "mask", "cls"]
VOCABULARY = [*SPECIAL_TOKENS, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
SETTINGS = [
    {},
    {"lowercase": False},
    {"strip_accents": False},
    {"lowercase": False, "strip_accents": True},
    {"split_chinese": False, "max_word_length": 4},
    {"special_tokens_in_text": False},
]
PIECES = [
    *SPECIAL_TOKENS,
    *WORDS,
    *LETTERS,
    " ",
    "\t",
    "\0",
    "\ufffd",
    "\u00ad",
    "\u0301",
    "É",
    "Ω",
    "[MAS",
    "K]",
    "A" * 99,
]


def characters():
    return (chr(code_point) for code_point in range(0x110000) if not 0xD800 <= code_point < 0xE000)


def make(settings):
    eager = WordPieceTokenizer(VOCABULARY, **settings)
    graph = GraphTokenizer(eager)
    signature = [tf.TensorSpec([None], tf.string)]
    return eager, tf.function(graph.tokenize_with_offsets, input_signature=signature), graph


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def tokenizers(request):
    return make(request.param)


def assert_equal(eager, in_graph, texts):
    token_ids, starts, ends = (ragged.to_list() for ragged in in_graph(tf.constant(texts)))
    for text, row, *bounds in zip(texts, token_ids, starts, ends, strict=True):
        packed = eager.pack(text)
        assert row == packed.token_ids[1:-1], repr(text)
        assert list(zip(*bounds, strict=True)) == packed.offsets[1:-1], repr(text)


def test_mixed_texts(tokenizers):
    draw = random.Random(3)
    texts = ["", " ", *("".join(draw.choices(PIECES, k=draw.randint(1, 12))) for _ in range(400)), "[MASK", "]"]
    assert_equal(*tokenizers[:2], texts)


def test_every_code_point_in_a_word(tokenizers):
    # One text holds many: an odd code point must not reach its neighbours.
    texts = [character.join(("a ca", "t")) for character in characters()]
    texts = ["".join(texts[start : start + 512]) for start in range(0, len(texts), 512)]
    assert_equal(*tokenizers[:2], texts)


def test_plain_ascii_texts(tokenizers):
    # Texts that take the quick way, alone and among others.
    draw = random.Random(4)
    pieces = [*(chr(code_point) for code_point in range(32, 127)), "\t", "\n", "\r\n", " ", *WORDS[:7], "A" * 101]
    texts = ["".join(draw.choices(pieces, k=draw.randint(1, 15))) for _ in range(300)]
    assert_equal(*tokenizers[:2], texts)
    texts[::3] = draw.choices(["\0 cafe\u0301", "학교", "", "é"], k=100)
    assert_equal(*tokenizers[:2], texts)
    assert tokenizers[2].tokenize(tf.constant(texts)).to_list() == tokenizers[0].encode_batch(texts)


def test_every_character_of_the_basic_plane_as_a_text_of_its_own(tokenizers):
    eager, _, graph = tokenizers
    pattern = f"[{plain_characters(eager.lowercase, eager.strip_accents, eager.split_chinese)}]*"
    texts = [f"a{chr(code_point)}zςs" for code_point in range(0x10000) if not 0xD800 <= code_point < 0xE000]
    num_plain = tf.reduce_sum(tf.cast(tf.strings.regex_full_match(texts, pattern), tf.int32))
    assert num_plain > (40_000 if eager.split_chinese else 14_000)  # The quick way is worth having.
    found = tf.data.Dataset.from_tensor_slices(texts).batch(4096).map(graph.tokenize)
    assert [row for batch in found for row in batch.to_list()] == eager.encode_batch(texts)


def test_long_words_are_counted_in_characters():
    eager, in_graph, graph = _plain()
    words = [letter * count for letter in ("a", "é", "ß", "①", "학", "\u0e01") for count in (33, 34, 100, 101)]
    texts = [*words, *(f"the {word} cat" for word in words), "中" * 300]
    assert_equal(eager, in_graph, texts)
    assert graph.tokenize(tf.constant(texts)).to_list() == eager.encode_batch(texts)
    assert sum(len(row) > 2 for row in eager.encode_batch(words)) == 13  # Four letters up to 100; 학 is three.


def test_bytes_that_are_not_utf8_are_left_out():
    eager, _, graph = _plain()
    texts = [b"the \xff cat", b"caf\xc3\xa9\xe2\x82 [MASK]\xff", b"\xffun\0aff\xc3able", b"\xff", b"the cat"]
    kept = [text.decode(errors="ignore") for text in texts]
    assert graph.tokenize(tf.constant(texts)).to_list() == eager.encode_batch(kept)


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs", "Mc"]), max_size=20), min_size=1))
def test_any_texts(texts):
    eager, in_graph, _ = _plain()
    assert_equal(eager, in_graph, texts)
    assert _tokenize()(tf.constant(texts)).to_list() == eager.encode_batch(texts)


@functools.cache
def _tokenize():
    return tf.function(_plain()[2].tokenize, input_signature=[tf.TensorSpec([None], tf.string)])


_made = []


def _plain():
    if not _made:
        _made.append(make({}))
    return _made[0]


def test_pack_and_truncate_like_the_eager_one():
    eager, _, graph = _plain()
    draw = random.Random(5)
    for length in (5, 6, 9, 14, 40):
        pairs = [
            [" ".join(draw.choices(WORDS + ["[MASK]"], k=draw.randint(0, 9))) for _ in range(2)] for _ in range(23)
        ]
        firsts, seconds = zip(*pairs, strict=True)
        for second in (None, seconds):
            rows = graph.pack(tf.constant(firsts), second and tf.constant(second), length)
            expected = [
                eager.pack(first, second and second[index], max_sequence_length=length)
                for index, first in enumerate(firsts)
            ]
            longest = max(len(row.token_ids) for row in expected)
            for name, value in (("token_ids", "token_ids"), ("segment_ids", "segment_ids")):
                lists = [getattr(row, value) + [0] * (longest - len(row.token_ids)) for row in expected]
                assert rows[name].numpy().tolist() == lists
            lengths = [len(row.token_ids) for row in expected]
            assert rows["padding_mask"].numpy().tolist() == [[1] * n + [0] * (longest - n) for n in lengths]


def test_no_room_is_refused():
    with pytest.raises(ValueError, match="max_sequence_length=4 for 2 texts"):
        _plain()[2].pack(tf.constant(["a"]), tf.constant(["b"]), 4)


def test_the_graph_holds_core_ops_and_one_other():
    graphs = [function.get_concrete_function().graph.as_graph_def() for function in (_plain()[1], _tokenize())]
    bodies = [body for graph in graphs for body in (graph.node, *(each.node_def for each in graph.library.function))]
    operations = {node.op for body in bodies for node in body}
    assert {"StatelessIf", "StaticRegexFullMatch"} <= operations
    assert operations - set(dir(tf.raw_ops)) - {"Const"} == {"FastWordpieceTokenizeWithOffsets"}
    assert not {name for name in operations if "HashTable" in name or "Lookup" in name}


def test_the_table_is_small_enough_for_a_graph():
    table = code_point_table()
    assert sum(array.nbytes for array in (table.pages, table.patterns, table.starts, table.replacements)) < 500_000
