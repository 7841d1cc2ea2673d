"""Strings that a server meets on a bad day, always the same ones."""

import random

WORDS = "the cat 학교 에 학교에서 s ning zebra 국가 Ünïcödé don't 中国 مرحبا שלום 🙂 İ ς ﬁ ½".split()
ODD = ["\0", "\ufffd", "\ufeff", "\u200b", "\u00ad", "\u0301", "\x1b", "\r\n", "[MAS", "K]"]
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "##s", "[mask]", "[MASK]s", "[MASK]에서", "[MASK][MASK]"]
NOT_UTF8 = [b"\xff", b"\xe4\xb8", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xf0\x9f\x99"]
EXTREMES = [
    *(b"", b" ", b"\t\n \r", "\u00a0\u3000".encode(), b"\0", b"[MASK]", b"[MASK] " * 40, b"[MASK]" * 40, b"[MASK"),
    b"a" * 50_000,
    b"cat " * 12_500 + b"[MASK]",
    b"[MASK] " + "학교 ".encode() * 6_000,
    "\u0301".encode() * 5_000 + b"[MASK]",
    b"[" * 1_000 + b"[MASK]" + b"]" * 1_000,
    b"[MASK]" + b"s" * 3_000,
    b"\xef\xbb\xbf[MASK] cat",  # A byte order mark.
]


def hostile_texts(count, seed=0):
    """Return `count` byte strings: the extremes first, then mixtures with and without masks."""
    draw = random.Random(seed)
    texts = EXTREMES[:count]
    while len(texts) < count:
        script = [chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(4)]
        masks = ["[MASK]"] * draw.choice([0, 1, 1, 2, 5])
        parts = draw.choices([*WORDS, *ODD, *SPECIAL, *script, " ", " ", " "], k=draw.randint(1, 20)) + masks
        draw.shuffle(parts)
        parts = [part.encode() for part in parts] + draw.choices(NOT_UTF8, k=draw.choice([0, 0, 0, 2]))
        draw.shuffle(parts)
        texts.append(draw.choice([b"", b" "]).join(parts))
    return texts
