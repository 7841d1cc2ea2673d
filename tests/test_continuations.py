"""Letters right behind a mask: pieces that continue its word, where there are such."""

import pytest

from kbert.inference.continuations import join_to_masks
from kbert.inference.masked_text import read_masked_texts
from kbert.text.tokenizer import WordPieceTokenizer

VOCABULARY = [
    *(
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "에",
        "에서",
        "##에",
        "##에서",
        "##는",
        "는",
        "가",
        "나",
        "s",
        "##s",
    ),
    *(
        ".",
        "##.",
        "a",
        "##a",
        "##b",
        "##에서는",
        "#",
        "é",
        "国",
        "##国",
    ),
]
TOKENIZER = WordPieceTokenizer(VOCABULARY, strip_accents=False)


def pieces(text):
    row = join_to_masks(TOKENIZER, text, TOKENIZER.pack(text))
    assert len(row.token_ids) == len(row.segment_ids) == len(row.offsets)
    tokens = [TOKENIZER.id_to_token(token_id) for token_id in row.token_ids]
    written = [text[start:end] for start, end in row.offsets]
    return tokens[1:-1], written[1:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("나는 [MASK]에 가", "나 ##는 [MASK] ##에 가"),
        ("[MASK]에서는", "[MASK] ##에서는"),  # The longest piece.
        ("[MASK]에서는는", "[MASK] ##에서는 ##는"),
        ("[MASK]에서a에", "[MASK] ##에서 ##a ##에"),
        ("[MASK]에[MASK]는 [MASK]", "[MASK] ##에 [MASK] ##는 [MASK]"),
        ("[MASK][MASK]s", "[MASK] [MASK] ##s"),
        ("[MASK]S", "[MASK] ##s"),
        ("[MASK] 에서", "[MASK] 에서"),  # A blank: another word.
        ("[MASK].", "[MASK] ."),  # A mark is a word of its own.
        ("[MASK]에.", "[MASK] ##에 ."),
        ("[MASK]#", "[MASK] #"),
        ("[MASK]国", "[MASK] 国"),  # So is a Chinese character.
        ("[MASK]가", "[MASK] 가"),  # No piece that continues.
        ("[MASK]에가", "[MASK] [UNK]"),
        ("[MASK]é", "[MASK] é"),
        ("[MASK]\u200ba", "[MASK] a"),  # A character that is left out.
        ("a[MASK]", "a [MASK]"),
    ],
)
def test_by_hand(text, expected):
    tokens, written = pieces(text)
    assert tokens == expected.split()
    assert [token.removeprefix("##") for token in tokens if token != "[UNK]"] == [
        part.lower() if part != "[MASK]" else part
        for token, part in zip(tokens, written, strict=True)
        if token != "[UNK]"
    ]


def test_a_normal_form_of_another_length_stays():
    tokenizer = WordPieceTokenizer([*VOCABULARY, "i\u0307", "##i\u0307", "##i"], strip_accents=False)
    for text, expected in (
        ("[MASK]i\u0307", "##i\u0307"),
        ("[MASK]\u0130", "i\u0307"),  # İ is one character,
        ("[MASK]\u0130\u200bb", "i\u0307 ##b"),  # also before one that is left out.
    ):
        row = join_to_masks(tokenizer, text, tokenizer.pack(text))
        assert [tokenizer.id_to_token(token_id) for token_id in row.token_ids[1:-1]] == ["[MASK]", *expected.split()]


def test_masked_texts_are_read_so():
    (masked,) = read_masked_texts(TOKENIZER, ["나는 [MASK]에서 [MASK]"])
    assert [TOKENIZER.id_to_token(token_id) for token_id in masked.token_ids[1:-1]] == (
        "나 ##는 [MASK] ##에서 [MASK]".split()
    )
    assert masked.positions == [3, 5] and masked.fill({0: "가"}) == "나는 가에서 [MASK]"
