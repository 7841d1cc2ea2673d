"""What a look inside shows, against transformers on the same weights."""

import numpy as np
import pytest
from tiny_model import make_model, make_tokenizer

from kbert import InspectText, save_checkpoint

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(make_model(), make_tokenizer(), folder)
    return str(folder)


@pytest.mark.parametrize("pair", [None, "a dog ran home"])
def test_maps_and_sums_are_those_of_transformers(folder, pair):
    found = InspectText(folder)("The cats sat on a mat.", pair)
    theirs = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = {
        "input_ids": torch.tensor([found.token_ids]),
        "token_type_ids": torch.tensor([found.segment_ids]),
    }
    with torch.no_grad():
        outputs = theirs(**inputs, output_attentions=True, output_hidden_states=True)
        rows = [
            theirs.embeddings.word_embeddings(inputs["input_ids"])[0],
            theirs.embeddings.token_type_embeddings(inputs["token_type_ids"])[0],
            theirs.embeddings.position_embeddings(torch.arange(len(found.tokens))),
        ]
    expected = torch.stack([maps[0] for maps in outputs.attentions])
    np.testing.assert_allclose(found.attention_maps, expected, atol=1e-5)
    np.testing.assert_allclose(found.attention_maps.sum(-1), 1, atol=1e-5)
    for ours, one in zip((found.token_vectors, found.segment_vectors, found.position_vectors), rows, strict=True):
        np.testing.assert_array_equal(ours, one)
    np.testing.assert_allclose(found.embedding_sum, sum(rows), atol=1e-6)
    np.testing.assert_allclose(found.embeddings, outputs.hidden_states[0][0], atol=1e-5)
    tokenizer = make_tokenizer()
    assert found.tokens == [tokenizer.id_to_token(token_id) for token_id in found.token_ids]
    assert set(found.segment_ids) == ({0} if pair is None else {0, 1}) and found.tokens[0] == "[CLS]"


def test_only_a_model_that_can_be_looked_into_will_do():
    with pytest.raises(TypeError, match="must have a BertBackbone. Received: function."):
        InspectText(lambda inputs: inputs, make_tokenizer())


def test_too_long_and_empty_texts_are_refused(folder):
    inspect = InspectText(folder)
    with pytest.raises(ValueError, match="at most 40 tokens"):
        inspect("cat " * 60)
    with pytest.raises(ValueError, match="at most 7 tokens, .* Received: 8 tokens"):
        InspectText(folder, max_sequence_length=7)("the cat sat on a mat")
    with pytest.raises(ValueError, match="at least one word"):
        inspect(" ")
