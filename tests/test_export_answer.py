"""The graph of `answer` against the windows and spans of `kbert.tasks` and the answers of `kbert.inference`."""

import keras
import numpy as np
import pytest
import tiny_model
from conftest import once
from served import serve
from test_serving_session import run

from demo import serving_client
from kbert.convert import Checkpoint, save_checkpoint
from kbert.export import export_saved_model
from kbert.inference import Answer
from kbert.models import BertBackbone, BertSpanFinder
from kbert.tasks.spans import best_spans
from kbert.tasks.windows import Window
from kbert.tasks.windows import cut_windows as cut_eagerly
from training import serve_check
from training.hostile_texts import hostile_texts

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")
from kbert.export.best_spans import NO_SCORE, best_spans_of_texts, best_spans_of_windows  # noqa: E402
from kbert.export.fine_tuned_comparison import compare_answer  # noqa: E402
from kbert.export.saved_model import find_ops  # noqa: E402
from kbert.export.windows import cut_windows, find_best_places  # noqa: E402

pytestmark = once
# A token of a long text stands in up to three windows, 128 tokens apart.
CONFIG = tiny_model.CONFIG.replace(num_layers=1, max_sequence_length=300)
QUESTIONS = ["the cat ?", "학교 ran", "cat " * 90, "", "who sat\0 on \u00adthe mat"]
CONTEXTS = [
    "A dog ran home. The cats, on  the mat, sat on 학교에 the mat.",
    "the dog sat on a mat, the cats ran home. " * 60,
    "",
    "cat",
    "학교에 running a " * 150,
]


@pytest.fixture(scope="module")
def exported_finder(tmp_path_factory):
    keras.utils.set_random_seed(3)
    model = BertSpanFinder(BertBackbone(CONFIG))
    checkpoint = Checkpoint(model, tiny_model.make_tokenizer(), ("mlm", "nsp"), "tiny", CONFIG)
    return checkpoint, export_saved_model(checkpoint, tmp_path_factory.mktemp("finder"))


@pytest.mark.parametrize("longest", [7, 40, 300, 512])
def test_windows_are_those_of_the_tasks(longest):
    sizes = [(q, n) for q in (0, 1, 5, 80) for n in (0, 1, longest - 9, longest, 2 * longest + 13, 700) if n >= 0]
    place = [min(q, 64, (longest - 3) // 2) + 2 for q, _ in sizes]
    windows = cut_windows(tf.constant(place), tf.constant([n for _, n in sizes]), longest)
    best = find_best_places(windows, tf.reduce_max(windows.length), longest).numpy()
    rows = zip(*(values.numpy() for values in windows), best, strict=True)
    for index, (q, n) in enumerate(sizes):
        for expected in cut_eagerly(tiny_model.make_tokenizer(), "the " * q, "cat " * n, longest):
            text, first, length, place, num_tokens, is_best = next(rows)
            assert (text, first, length) == (index, expected.start, len(expected.offsets))
            assert (place, num_tokens) == (expected.place, n)
            assert is_best[:length].tolist() == expected.is_best.tolist() and not is_best[length:].any()
    assert next(rows, None) is None


@pytest.mark.parametrize("kind", ["random", "apart", "none"])
def test_spans_are_those_of_the_tasks(kind, rng):
    texts, width = np.array([0, 0, 1, 2, 2, 2]), 70
    lengths = np.array([70, 41, 0 if kind == "none" else 1, 70, 70, 33])
    starts, ends = rng.normal(size=(2, len(texts), width)).astype("float32")
    if kind == "apart":  # No good start goes with a good end: each stands behind all of those.
        starts, ends = np.sort(starts), np.sort(ends)[:, ::-1]
    may_start = (rng.random((len(texts), width)) < 0.7) & (np.arange(width) < lengths[:, None])
    if kind == "none":
        may_start[1:] = False
    first = np.array([0, 70, 0, 0, 70, 140])
    found = best_spans_of_texts(
        *best_spans_of_windows(tf.constant(starts), tf.constant(ends), tf.constant(lengths, tf.int32), may_start),
        *(tf.constant(values, tf.int32) for values in (first, texts)),
        tf.constant(3),
    )
    for text, (score, begin, end) in enumerate(zip(*(values.numpy() for values in found), strict=True)):
        rows = np.flatnonzero(texts == text)
        offsets = [first[row] + np.arange(lengths[row])[:, None] + [0, 1] for row in rows]
        windows = [
            Window(None, 0, 0, places, may_start[row, : lengths[row]])
            for row, places in zip(rows, offsets, strict=True)
        ]
        expected = best_spans(windows, starts[rows], ends[rows])[:1]
        assert [(span.start, span.end - 1) for span in expected] == ([(begin, end)] if score > NO_SCORE else [])
        assert all(span.score == pytest.approx(score, abs=1e-6) for span in expected)
        assert bool(expected) == (kind != "none" or text == 0)


def test_answers_are_those_of_kbert_inference(exported_finder):
    checkpoint, path = exported_finder
    hostile = hostile_texts(60)
    pairs = [(question, context) for question in QUESTIONS for context in CONTEXTS]
    pairs += list(zip(hostile, hostile[::-1], strict=True))
    questions, contexts = map(list, zip(*pairs, strict=True))
    none, mismatch = {"question": [], "context": []}, {"question": ["a", "b"], "context": ["c"]}
    requests = [{"question": questions, "context": contexts}, none, mismatch]
    found = run(path, [("answer", request) for request in requests])
    answers, none, mismatch = found["answers"]
    assert compare_answer(answers, Answer(checkpoint), questions, contexts) < 1e-5
    # The best span of a long context stands behind its first window.
    assert answers["start"].max() > 1500 and answers["text"].tolist()[2] == b""
    assert [values.shape for values in none.values()] == [(0,)] * 5 and "Shapes of all inputs must match" in mismatch
    assert found["shapes"]["answer"] == found["shapes"]["serving_default"]
    outputs = dict.fromkeys(("text", "start", "end", "score", "no_answer_score"), (-1,))
    assert found["shapes"]["answer"] == [{"question": (-1,), "context": (-1,)}, outputs]
    assert sorted(found["shapes"]) == ["answer", "embed", "embed_pair", "serving_default", "token_ids"]
    assert find_ops(path) - found["ops"] == {"FastWordpieceTokenizeWithOffsets"}


def test_the_comparison_sees_every_kind_of_difference(exported_finder):
    checkpoint, path = exported_finder
    signature = tf.saved_model.load(str(path)).signatures["answer"]
    questions, contexts = ["the cat ?", "", "the cat ?"], [CONTEXTS[0], CONTEXTS[0], " "]
    answers = signature(question=tf.constant(questions), context=tf.constant(contexts))
    good = {name: values.numpy() for name, values in answers.items()}
    answer = Answer(checkpoint)
    assert compare_answer(good, answer, questions, contexts) < 1e-5
    for name, values in good.items():
        for row in (0, 2):
            bad = values.copy()
            bad[row] = b"nonsense" if name == "text" else bad[row] + 1
            assert compare_answer(good | {name: bad}, answer, questions, contexts) > 0.1, name
    other = answer("the cat ?", CONTEXTS[0], top_k=9)[-1]  # A good span, but not the best.
    bad = {"text": other.text.encode(), "start": other.start, "end": other.end, "score": other.score}
    bad = {name: np.array([bad.get(name, values[0]), *values[1:]], values.dtype) for name, values in good.items()}
    assert compare_answer(bad, answer, questions, contexts) > 1e-3
    bad = good | {"score": np.array([good["score"][0], np.nan, good["score"][2]])}
    assert compare_answer(bad, answer, questions, contexts) == np.inf


def test_answers_over_rest(exported_finder, tmp_path, capsys):
    checkpoint, path = exported_finder
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, tmp_path)
    with serve(path.parent) as (url, _):
        assert serve_check.main([url, str(tmp_path), "--count", "40"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(",")[0] for line in lines[:-1]] == [
            f"{name}: 40 texts" for name in ("answer", "embed", "embed_pair")
        ]
        assert serving_client.main([url, "answer", "the cat ?", CONTEXTS[0]]) == 0
    (best,) = Answer(checkpoint)("the cat ?", CONTEXTS[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [best.text, f"characters {best.start} to {best.end}"]
    assert lines[2].startswith(f"score {best.score:.3f}, of no answer ")
