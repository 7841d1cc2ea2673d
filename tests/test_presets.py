"""The models that travel with the package, opened by transformers."""

import contextlib
import json

import keras
import numpy as np
import pytest
import transformers
from conftest import to_numpy
from hugging_face_models import ask_hugging_face, random_inputs

from kbert.convert import find_checkpoint, load
from kbert.convert.sources import PRESETS_PATH
from kbert.inference import FillMask

QUESTIONS = {
    "kbert-small-en": {
        "He opened the door and walked into the [MASK].": "room",
        "She opened the [MASK] to let in some fresh air.": "window",
    },
    "kbert-small-ko": {
        "나는 [MASK]에 가서 공부를 했다.": "학교",
        "겨울에는 [MASK]이 많이 내린다.": "눈",
        "그는 축구 [MASK]이다.": "선수",
    },
}
PRESETS = sorted(path.name for path in PRESETS_PATH.iterdir() if path.is_dir())


@pytest.fixture(scope="module", params=PRESETS)
def checkpoint(request):
    return load(request.param)


def test_transformers_opens_it_with_nothing_missing_and_answers_the_same(checkpoint):
    folder = find_checkpoint(checkpoint.source)
    theirs, report = transformers.BertForPreTraining.from_pretrained(folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        assert not report.get(kind), (kind, report[kind])
    assert checkpoint.missing_parts == ()
    inputs = random_inputs(3, 19, vocabulary_size=checkpoint.config.vocabulary_size)
    # In float64: of logits of up to 16, float32 leaves transformers' own model 1.3e-5 from what they are.
    wanted = ask_hugging_face(theirs.double().eval(), inputs)
    inputs |= {"mask_positions": np.tile(np.arange(19, dtype="int32"), (3, 1))}
    with in_float64():
        exact = load(checkpoint.source, dtype="float64").model(inputs, training=False)
    ours = checkpoint.model(inputs, training=False)
    for our_name, their_name in (("mlm", "prediction_logits"), ("nsp", "seq_relationship_logits")):
        logits = wanted[their_name]
        np.testing.assert_allclose(to_numpy(exact[our_name]), logits.numpy(), atol=1e-5, rtol=1e-5)
        # What a person sees, as the model computes by itself.
        probabilities = keras.ops.softmax(ours[our_name])
        np.testing.assert_allclose(to_numpy(probabilities), logits.softmax(-1).numpy(), atol=1e-5, rtol=1e-5)


def in_float64():
    """JAX rounds to float32 whatever it is told, until this."""
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)


def test_its_tokenizer_is_the_one_transformers_opens(checkpoint):
    folder = find_checkpoint(checkpoint.source)
    theirs = transformers.BertTokenizerFast.from_pretrained(folder)
    text = "Zoë's CAFÉ [MASK] unaffable 中文 학교에, naïve 3.14!"
    assert checkpoint.tokenizer.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
    assert json.loads((folder / "config.json").read_text())["vocab_size"] == len(theirs)


def test_everyday_questions_have_a_fitting_word_among_five_answers(checkpoint):
    fill_mask = FillMask(checkpoint)
    for text, word in QUESTIONS[checkpoint.source].items():
        (slot,) = fill_mask(text, top_k=5)
        assert word in [candidate.word for candidate in slot.candidates], (text, slot.candidates)
