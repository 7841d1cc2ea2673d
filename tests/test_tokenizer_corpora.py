"""Real text, line by line, through our tokenizer and transformers', for official vocabularies. Slow; needs corpora.

KBERT_VOCABULARIES=vocabularies KBERT_CORPORA=texts KBERT_EVERY=20 pytest -m slow tests/test_tokenizer_corpora.py
"""

import itertools
import lzma
import os
import pathlib

import pytest
from conftest import once
from test_tokenizer_code_points import OFFICIAL

from kbert.text.tokenizer import WordPieceTokenizer

pytestmark = once

transformers = pytest.importorskip("transformers")


def lines(folder, every):
    """Every `every`-th line of the .xz files of a folder that is not blank."""
    for path in sorted(pathlib.Path(folder).glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in itertools.islice(file, 0, None, every) if line.strip())


@pytest.mark.slow
@pytest.mark.skipif(
    not {"KBERT_VOCABULARIES", "KBERT_CORPORA"} <= os.environ.keys(), reason="set KBERT_VOCABULARIES and KBERT_CORPORA"
)
@pytest.mark.parametrize("name", OFFICIAL)
def test_every_line_is_split_as_in_transformers(name, tmp_path):
    ours = WordPieceTokenizer(pathlib.Path(os.environ["KBERT_VOCABULARIES"], f"{name}.txt"), **OFFICIAL[name])
    ours.save(tmp_path)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    texts = lines(os.environ["KBERT_CORPORA"], int(os.environ.get("KBERT_EVERY", "1")))
    num_texts = num_tokens = 0
    while batch := list(itertools.islice(texts, 2000)):
        expected = theirs(batch, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode_batch(batch) == expected["input_ids"]
        for text, offsets in zip(batch[::50], expected["offset_mapping"][::50], strict=True):
            assert ours.pack(text).offsets[1:-1] == offsets, text
        num_texts, num_tokens = num_texts + len(batch), num_tokens + sum(map(len, expected["input_ids"]))
    print(f"{name}: {num_texts:,} lines, {num_tokens:,} tokens, no difference")
    assert num_texts > 0
