"""The exported SavedModel without Python's TensorFlow: opened by its C library in a process of its own."""

import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import once

from kbert.inference import EmbedText, FillMask, SentencePair
from training.hostile_texts import hostile_texts

pytest.importorskip("tensorflow_text")
from kbert.export.comparison import compare_embed, compare_fill_mask, compare_sentence_pair  # noqa: E402
from kbert.export.saved_model import find_ops  # noqa: E402

# No backend answers here; that an export made under another is complete, tests/test_export.py sees.
pytestmark = once
SCRIPT = pathlib.Path(__file__).parent / "run_saved_model.py"
PLAIN = [
    "the cat [MASK] on a mat.",
    "no mask",
    "[MASK] and [MASK]",
    "학교[MASK]에 [MASK]s ran",
    "cat " * 90 + "[MASK] dog ran",
]
# Longer than the model with masks at both ends, more masks than are answered, more than are ranked at once, and what a
# bad day brings.
LONG = ["[MASK] " + "cat " * 60 + "[MASK]", "[MASK] " * 70, *["[MASK] dog " * 18] * 10]
MASKED = [*PLAIN, *LONG, *hostile_texts(60)]
ROW = np.array([[2, 5, 4, 7, 3, 0], [2, 4, 6, 3, 0, 0], [2, 9, 9, 9, 4, 3]], "int32")


def rows(batch, length):
    token_ids = ROW[:batch, :length]
    positions = np.array([[2, 1], [1, 0], [4, 4]], "int32")[:batch] % length
    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    return dict(zip(names, (token_ids, token_ids // 7, (token_ids > 0).astype("int32"), positions), strict=True))


REQUESTS = [
    ("fill_mask", {"text": MASKED}),
    ("fill_mask", {"text": MASKED[:1]}),
    ("fill_mask", {"text": []}),
    ("serving_default", {"text": PLAIN}),
    ("sentence_pair", {"text": MASKED, "text_pair": MASKED[::-1]}),
    ("embed", {"text": MASKED}),
    ("embed_pair", {"text": MASKED, "text_pair": MASKED[::-1]}),
    ("token_ids", rows(1, 4)),
    ("token_ids", rows(3, 6)),
    ("sentence_pair", {"text": ["a", "b"], "text_pair": ["c"]}),
    ("fill_mask", {"texts": ["[MASK]"]}),
    ("fill_mask", {"text": np.array([1], "int32")}),
    ("classify", {"text": ["a"]}),
]


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def run(path, requests):
    requests = [
        (
            name,
            {
                key: values if isinstance(values, np.ndarray) else list(map(encoded, values))
                for key, values in inputs.items()
            },
        )
        for name, inputs in requests
    ]
    finished = subprocess.run(
        [sys.executable, SCRIPT, path], input=pickle.dumps(requests), capture_output=True, check=False
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return pickle.loads(finished.stdout)


@pytest.fixture(scope="module")
def found(exported):
    return run(exported[1], REQUESTS)


def test_python_never_met_tensorflow(found):
    assert "kbert" in found["imported"]
    assert not found["imported"] & {"tensorflow", "tensorflow_text", "keras"}


def test_one_op_is_not_core_tensorflow(found, exported):
    assert len(found["ops"]) > 1000 and "FastWordpieceTokenizeWithOffsets" not in found["ops"]
    ops = find_ops(exported[1])
    assert ops - found["ops"] == {"FastWordpieceTokenizeWithOffsets"}
    assert not {name for name in ops if "Table" in name}


def test_names_and_free_shapes(found):
    text, texts = {"text": (-1,)}, {"text": (-1,), "text_pair": (-1,)}
    row = dict.fromkeys(("token_ids", "segment_ids", "padding_mask", "mask_positions"), (-1, -1))
    ranked, places = (-1, -1, 6), (-1, -1)
    assert found["shapes"] == {
        "fill_mask": [
            text,
            {
                "num_masks": (-1,),
                **dict.fromkeys(("words", "token_ids", "probabilities"), ranked),
                **dict.fromkeys(("starts", "ends", "window_starts", "window_ends"), places),
            },
        ],
        "serving_default": found["shapes"]["fill_mask"],
        "sentence_pair": [texts, {"follows": (-1,), "random": (-1,)}],
        "embed": [text, {"mean": (-1, 12), "cls": (-1, 12)}],
        "embed_pair": [texts, {"mean": (-1, 12), "cls": (-1, 12)}],
        "token_ids": [
            row,
            {"mlm": (-1, -1, 20), "nsp": (-1, 2), "sequence_output": (-1, -1, 12), "pooled_output": (-1, 12)},
        ],
    }


def test_fill_mask_answers_as_kbert_inference(found, exported):
    fill_mask = FillMask(exported[0])
    for answers, texts in zip(found["answers"][:2], (MASKED, MASKED[:1]), strict=True):
        assert compare_fill_mask(answers, fill_mask, texts) < 1e-5
    (mask,) = fill_mask(PLAIN[0], top_k=6)
    many, one, none, default = found["answers"][:4]
    assert [word.decode() for word in many["words"][0, 0]] == [candidate.word for candidate in mask.candidates]
    assert many["words"].shape == (len(MASKED), 64, 6)
    assert many["num_masks"][:7].tolist() == [1, 0, 2, 2, 1, 2, 70]
    assert not many["probabilities"][1].any() and set(many["words"][1].flat) == {b""}  # No mask: filler only.
    assert none["num_masks"].shape == (0,) and none["words"].shape == (0, 0, 6)
    assert default["words"].tolist() == many["words"][: len(PLAIN), :2].tolist()


def test_pairs_and_vectors_as_kbert_inference(found, exported):
    pairs, vectors, pair_vectors = found["answers"][4:7]
    embed = {pooling: EmbedText(exported[0], pooling=pooling) for pooling in ("mean", "cls")}
    assert compare_sentence_pair(pairs, SentencePair(exported[0]), MASKED, MASKED[::-1]) < 1e-5
    assert compare_embed(vectors, embed, MASKED) < 1e-5
    assert compare_embed(pair_vectors, embed, MASKED, MASKED[::-1]) < 1e-5


def test_token_ids_give_the_logits_of_the_model(found, exported):
    model = exported[0].model
    for answers, inputs in zip(found["answers"][7:9], (rows(1, 4), rows(3, 6)), strict=True):
        expected = model.predict_on_batch(inputs)
        for name in ("mlm", "nsp"):
            np.testing.assert_allclose(answers[name], np.array(expected[name]), atol=1e-5)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (9, "Shapes of all inputs must match"),
        (10, r"inputs of fill_mask must be \['text'\]. Received: inputs \['texts'\]"),
        (11, "`text` must have the type object and 1 axes. Received: int32"),
        (12, "must be one of the model's.*Received: signature='classify'"),
    ],
)
def test_wrong_requests_are_refused(found, number, message):
    assert isinstance(found["answers"][number], str)
    assert re.search(message, found["answers"][number])


def test_a_folder_without_a_model_is_refused(tmp_path):
    finished = subprocess.run([sys.executable, SCRIPT, tmp_path], input=b"", capture_output=True, check=False)
    assert finished.returncode and b"Could not find SavedModel" in finished.stderr
