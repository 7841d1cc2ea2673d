"""Tags and spans, there and back; sentences out of their files; F1 as seqeval and conlleval count it."""

import numpy as np
import pytest
import seqeval.metrics
import seqeval.scheme
from conftest import once
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import make_tokenizer

from kbert.tasks.tagged_files import join_documents, read_tagged
from kbert.tasks.tags import SCHEMES, label_names, spans_of_tags, tags_of_spans
from kbert.tasks.units import find_units

pytestmark = once

KINDS = st.sampled_from(["PER", "ORG", "LOC-X"])


@st.composite
def spans_and_length(draw):
    """Spans of a sentence in reading order, some right behind another of their kind."""
    place, spans = 0, []
    for _ in range(draw(st.integers(0, 6))):
        start = place + draw(st.integers(0, 2))
        place = start + draw(st.integers(1, 3))
        spans.append((start, place, draw(KINDS)))
    return spans, place + draw(st.integers(0, 2))


@given(spans_and_length(), st.sampled_from(SCHEMES))
@settings(max_examples=200, deadline=None)
def test_every_span_comes_back(case, scheme):
    spans, length = case
    tags = tags_of_spans(spans, length, scheme)
    assert len(tags) == length and spans_of_tags(tags) == spans
    if length:  # Strict readers of each scheme agree.
        reader = {"IOB1": seqeval.scheme.IOB1, "IOB2": seqeval.scheme.IOB2, "BIOES": seqeval.scheme.IOBES}[scheme]
        found = seqeval.scheme.Entities([tags], reader).entities[0]
        assert [(entity.start, entity.end, entity.tag) for entity in found] == spans


@given(
    st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y", "E-Y", "S-X"]), min_size=1, max_size=12)
)
@settings(max_examples=300, deadline=None)
def test_chains_that_keep_no_scheme_have_conllevals_spans(tags):
    expected = seqeval.metrics.sequence_labeling.get_entities(tags)
    assert [(kind, first, end - 1) for first, end, kind in spans_of_tags(tags)] == expected


def test_the_schemes_by_hand():
    spans = [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "ORG"), (5, 8, "LOC")]
    wanted = {
        "IOB1": "I-PER I-PER B-PER O I-ORG I-LOC I-LOC I-LOC O",
        "IOB2": "B-PER I-PER B-PER O B-ORG B-LOC I-LOC I-LOC O",
        "BIOES": "B-PER E-PER S-PER O S-ORG B-LOC I-LOC E-LOC O",
    }
    assert {scheme: " ".join(tags_of_spans(spans, 9, scheme)) for scheme in SCHEMES} == wanted
    assert label_names({"PER", "LOC"}) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert label_names({"PER"}, "BIOES") == ("O", "B-PER", "I-PER", "E-PER", "S-PER")


def test_no_tags_and_no_scheme():
    for tag in ("PER", "X-PER", "B", "B-", "I_PER", ""):
        with pytest.raises(ValueError, match=f"one of B-, I-, E-, S- and a kind. Received: '{tag}'"):
            spans_of_tags(["O", tag])
    with pytest.raises(ValueError, match="`scheme` must be one of.*scheme='BILOU'"):
        tags_of_spans([], 1, "BILOU")


CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
. . O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- O O

BRUSSELS NNP I-NP I-LOC
"""
KLUE = """## 토큰, 레이블 구분자 : \\t
## 주석 : ##
## 컬럼명 : CHAR\tNE_TAG
## klue-ner-v1_dev_00000-wikitree\t<서울 시:LC>는 #
서\tB-LC
울\tI-LC
 \tI-LC
시\tI-LC
는\tO
 \tO
#\tO

## klue-ner-v1_dev_00001-wikitree\t<김:PS>모
김\tB-PS
모\tO
"""
CONLLU = """# newdoc id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\tSpaceAfter=No|NER=O
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tNER=B-ACT|SpaceAfter=No
3.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_conll_2003(tmp_path):
    sentences = read_tagged(write(tmp_path, "eng.train", CONLL))
    assert [(s.text, s.tags, s.starts_document) for s in sentences] == [
        ("EU rejects .", ("I-ORG", "O", "O"), True),
        ("Peter Blackburn", ("I-PER", "I-PER"), False),
        ("BRUSSELS", ("I-LOC",), True),
    ]
    assert sentences[0].offsets == ((0, 2), (3, 10), (11, 12))
    assert sentences[1].where == f"line 7 of {tmp_path / 'eng.train'}"
    first, second = join_documents(sentences)
    assert (first.text, first.lengths, second.lengths) == ("EU rejects . Peter Blackburn", (3, 2), (1,))
    assert [first.text[start:end] for start, end in first.offsets] == ["EU", "rejects", ".", "Peter", "Blackburn"]


def test_klue_ner(tmp_path):
    sentences = read_tagged(write(tmp_path, "klue.tsv", KLUE))
    assert [(s.text, len(s.words)) for s in sentences] == [("서울 시는 #", 7), ("김모", 2)]
    assert sentences[0].tags == ("B-LC", "I-LC", "I-LC", "I-LC", "O", "O", "O")
    assert sentences[1].offsets == ((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        ("upos", ("AUX", "PART", "VERB", "PUNCT")),
        ("xpos", ("VBP", "RB", "VB", ".")),
        ("misc", ("O", "O", "B-ACT", "O")),
    ],
)
def test_conllu(tmp_path, column, tags):
    (sentence,) = read_tagged(write(tmp_path, "train.conllu", CONLLU), column=column)
    assert (sentence.text, sentence.words, sentence.tags) == ("Don't go.", ("Do", "n't", "go", "."), tags)
    assert [sentence.text[start:end] for start, end in sentence.offsets] == ["Do", "n't", "go", "."]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "EU NNP B-ORG\nrejects O\n", "as the first, 3. Received: 2 columns in line 2 of"),
        ("a.txt", "EU B-ORG\nrejects\n", "a word and a tag. Received: 'rejects' in line 2 of"),
        ("a.txt", "\n\n", "must hold sentences. Received: none in"),
        ("a.conllu", "1\tEU\tX\n", "must have 10 columns. Received: 3 in line 1 of"),
    ],
)
def test_damaged_files(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_tagged(write(tmp_path, name, text))


def units_of(text, word_offsets):
    return find_units(np.array(make_tokenizer().pack(text).offsets[1:-1]), word_offsets)


def test_the_first_token_stands_for_a_word():
    units = units_of("cats sat on 학교에", [(0, 4), (5, 8), (9, 11), (12, 15)])  # cat ##s sat on 학교 ##에
    assert (units.tokens, units.words) == ([0, 2, 3, 4], [[0], [1], [2], [3]])


def test_several_characters_in_one_token():
    # 학교 ##에, a blank, and home: words are characters, and the blank has no token.
    units = units_of("학교에 home", [(0, 1), (1, 2), (2, 3), (3, 4), (4, 8)])
    assert (units.tokens, units.words) == ([0, 1, 2], [[0, 1], [2], [4]])
    assert units.from_words([(0, 2, "LC"), (2, 5, "X")]) == [(0, 1, "LC"), (1, 3, "X")]
    assert units.to_words([(0, 1, "LC"), (1, 3, "X")]) == [(0, 2, "LC"), (2, 5, "X")]
    assert units.from_words([(0, 1, "A"), (1, 3, "B")]) == [(0, 1, "A"), (1, 2, "B")]  # 교 stands in A's token.
    assert units.from_words([(3, 4, "A")]) == []


@given(spans_and_length(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_spans_of_whole_words_come_back_through_the_tokens(case, seed):
    spans, length = case
    words = np.random.default_rng(seed).choice(["the", "cats", "학교에", "dog", "xyz", "running."], max(1, length))
    ends = np.cumsum([len(word) + 1 for word in words])
    offsets = [(int(end) - len(word) - 1, int(end) - 1) for word, end in zip(words, ends, strict=True)]
    units = units_of(" ".join(words), offsets)
    assert units.to_words(units.from_words(spans)) == spans
