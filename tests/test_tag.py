"""Tagged spans of texts: as transformers' pipeline gives them from the same folder, and over windows."""

import json

import keras
import numpy as np
import pytest
import transformers
from conftest import randomise
from tiny_model import CONFIG, make_model, make_tokenizer

from kbert.cli import main
from kbert.convert import save_checkpoint
from kbert.inference import Tag
from kbert.models import BertBackbone, BertTagger

NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
TEXTS = [
    "The dogs ran home, cats sat on 학교에.",
    "A running dog; running cats running.",
    "Cats ran. The mat, the mat sat on dogs .",
    "home home xyz",
] * 3


def make_tagger(names=NAMES, **settings):
    # By NumPy, so that it is the same on every backend; large words and head, so that the tags differ.
    rng = np.random.default_rng(3)
    tagger = randomise(BertTagger(BertBackbone(CONFIG.replace(num_layers=2)), len(names), names, **settings), rng, 0.2)
    for variable, size in (
        (tagger.backbone.embeddings.token_embedding.embeddings, 2.0),
        (tagger.classifier_head.dense.kernel, 1.0),
    ):
        variable.assign((size * rng.normal(size=variable.shape)).astype("float32"))
    return tagger


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    save_checkpoint(make_tagger(), make_tokenizer(), folder)
    return str(folder)


@pytest.mark.parametrize(
    ("strategy", "theirs"), [("first", "first"), ("average", "average"), ("max", "max"), ("pieces", "simple")]
)
def test_spans_are_those_of_transformers(folder, strategy, theirs):
    pipeline = transformers.pipeline(
        "token-classification",
        folder,
        tokenizer=transformers.BertTokenizerFast.from_pretrained(folder),
        aggregation_strategy=theirs,
        device=-1,
    )
    found = Tag(folder)(TEXTS, strategy)
    assert sum(map(len, found)) > 12  # The model does give tags.
    for text, spans in zip(TEXTS, found, strict=True):
        wanted = pipeline(text)
        assert [(span.label, span.start, span.end) for span in spans] == [
            (entry["entity_group"], entry["start"], entry["end"]) for entry in wanted
        ]
        np.testing.assert_allclose(
            [span.probability for span in spans], [float(entry["score"]) for entry in wanted], atol=1e-5
        )
        assert all(span.text == text[span.start : span.end] for span in spans)


def test_a_model_of_single_characters_answers_by_pieces_wherever_it_is_opened(folder, tmp_path):
    save_checkpoint(make_tagger(tags_pieces=True), make_tokenizer(), tmp_path / "folder")
    make_tagger(tags_pieces=True).save(tmp_path / "model.keras")
    pieces, first = Tag(folder)(TEXTS, "pieces"), Tag(folder)(TEXTS, "first")
    assert pieces != first
    assert Tag(folder)(TEXTS) == first
    assert Tag(str(tmp_path / "folder"))(TEXTS) == pieces
    assert Tag(keras.saving.load_model(tmp_path / "model.keras"), make_tokenizer())(TEXTS) == pieces
    assert transformers.AutoConfig.from_pretrained(tmp_path / "folder").tags_pieces is True


def test_a_long_text_is_tagged_by_the_window_with_most_context(folder):
    tag = Tag(folder, stride=10)
    long = " ".join(TEXTS)
    spans = tag(long)
    assert all(span.text == long[span.start : span.end] for span in spans) and spans[-1].end > len(long) - 60
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    # By hand: the window of 38 tokens at 10 shows tokens 24 to 33 with most text round them.
    model = make_tagger()
    tokenizer = make_tokenizer()
    row = tokenizer.pack(long)
    window = [row.token_ids[0], *row.token_ids[11:49], row.token_ids[-1]]
    inputs = {"token_ids": [window], "segment_ids": [[0] * 40], "padding_mask": [[1] * 40]}
    logits = model({name: np.array(value, "int32") for name, value in inputs.items()}, training=False)["logits"]
    tags = np.argmax(keras.ops.convert_to_numpy(logits)[0], -1)
    pieces = tag(long, "pieces")
    for place in range(24, 34):
        start, end = row.offsets[1 + place]
        holds = [span.label for span in pieces if span.start <= start and end <= span.end]
        name = NAMES[tags[1 + place - 10]]
        assert holds == ([] if name == "O" else [name[2:]])


def test_tags_that_are_no_spans_are_a_word_each():
    names = ("DET", "NOUN", "VERB")
    spans = Tag(make_tagger(names), make_tokenizer())("The running cats sat.")
    assert [span.text for span in spans] == ["The", "running", "cats", "sat", "."]
    assert {span.label for span in spans} <= set(names)


def test_any_callable_and_an_empty_text():
    model = make_tagger()
    called = Tag(lambda inputs: model(inputs, training=False), make_tokenizer(), 40, label_names=NAMES)
    ours = Tag(model, make_tokenizer())
    assert [(s.label, s.start) for s in called(TEXTS[0])] == [(s.label, s.start) for s in ours(TEXTS[0])]
    assert ours(" ") == [] and ours([]) == []


def test_what_is_refused(folder):
    with pytest.raises(ValueError, match="`strategy` must be one of.*strategy='last'"):
        Tag(folder)("the cat", "last")
    with pytest.raises(ValueError, match="must be a BertTagger. Received: a BertPretrainer"):
        Tag(make_model(), make_tokenizer())
    with pytest.raises(ValueError, match="with its `label_names`. Received: label_names=None"):
        Tag(lambda inputs: inputs, make_tokenizer(), 40)


def test_the_command_prints_what_python_answers(folder, capsys):
    expected = Tag(folder)(TEXTS[:2], "average")
    arguments = ["tag", *TEXTS[:2], "--strategy", "average", "--model", folder]
    assert main([*arguments, "--json"]) == 0
    assert [[span["start"] for span in spans] for spans in json.loads(capsys.readouterr().out)] == [
        [span.start for span in spans] for spans in expected
    ]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + sum(map(len, expected))
    first = expected[0][0]
    assert lines[1].split(maxsplit=3)[1:] == [first.label, f"{first.start}-{first.end}", first.text]
