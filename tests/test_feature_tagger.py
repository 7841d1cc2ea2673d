"""The feature-based tagger: states of a frozen encoder, two BiLSTMs, a sweep over layers."""

import json
import re
import shutil

import keras
import numpy as np
import pytest
import torch
import transformers
from conftest import once_on_torch
from tiny_model import make_tokenizer
from tiny_task import animal_sentences, save_encoder

from kbert.convert import load
from kbert.inference.hidden_states import choose_layers
from kbert.inference.source import open_source
from kbert.models.feature_tagger import FeatureTagger
from kbert.tasks.batches import Row
from training import feature_tagger
from training.token_features import compute_features

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoder"), num_layers=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for stem, number, seed in (("train", 100, 1), ("dev", 30, 2), ("test", 10, 3)):
        tagged = (
            "\n".join(f"{word} {'B-' + word.upper() if word in ('cat', 'dog') else 'O'}" for word in text.split())
            for text, _ in animal_sentences(number, seed)
        )
        (folder / f"{stem}.txt").write_text("\n\n".join(tagged) + "\n")
    return str(folder)


def test_two_bilstms_are_those_of_pytorch():
    model = FeatureTagger(2, 5, 3, units=4, depth=2)
    weights = [RNG.normal(0, 0.5, weight.shape) for weight in model.get_weights()]
    model.set_weights(weights)
    lstm = torch.nn.LSTM(10, 4, num_layers=2, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for number, (kernel, recurrent, bias) in enumerate(zip(*[iter(weights[:12])] * 3, strict=True)):
            suffix = f"l{number // 2}{'_reverse' * (number % 2)}"  # Both order the gates i, f, g, o.
            getattr(lstm, f"weight_ih_{suffix}").copy_(torch.tensor(kernel.T))
            getattr(lstm, f"weight_hh_{suffix}").copy_(torch.tensor(recurrent.T))
            getattr(lstm, f"bias_ih_{suffix}").copy_(torch.tensor(bias))
            getattr(lstm, f"bias_hh_{suffix}").zero_()
    features, lengths = RNG.normal(size=(3, 6, 2, 5)).astype("float32"), [6, 4, 1]
    mask = (np.arange(6) < np.array(lengths)[:, None]).astype("int32")
    logits = keras.ops.convert_to_numpy(model({"features": features, "padding_mask": mask})["logits"])
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        torch.tensor(features.reshape(3, 6, 10)), lengths, batch_first=True
    )
    states = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)[0].detach().numpy()
    expected = states @ weights[12] + weights[13]
    np.testing.assert_allclose(logits[mask == 1], expected[mask == 1], atol=1e-5)


def test_layers_are_mixed_by_a_softmax_and_a_scale(tmp_path):
    model = FeatureTagger(3, 5, 2, mixing="weighted", units=4, depth=1)
    mix = model.get_layer("layer_mix")
    states = RNG.normal(size=(2, 4, 3, 5)).astype("float32")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(mix(states)), states.mean(2), atol=1e-6)
    mix.set_weights([np.array([0.3, -1.0, 2.0]), np.array(0.7)])
    shares = np.exp([0.3, -1.0, 2.0]) / np.exp([0.3, -1.0, 2.0]).sum()
    expected = 0.7 * np.tensordot(states, shares, (2, 0))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(mix(states)), expected, atol=1e-6)

    model.save(tmp_path / "tagger.keras")
    inputs = {"features": states, "padding_mask": np.ones((2, 4), "int32")}
    again = keras.models.load_model(tmp_path / "tagger.keras")
    first, second = (keras.ops.convert_to_numpy(each(inputs)["logits"]) for each in (model, again))
    np.testing.assert_array_equal(first, second)


def test_states_are_those_of_transformers_and_computed_once(encoder, tmp_path):
    texts = ["the cat sat", "a dog ran on a mat .", "home"]
    tokenizer = make_tokenizer()
    rows = [Row((tokenizer.pack(text),)) for text in texts]
    source = choose_layers(open_source(load(encoder), None, ()), (0, 1, 2))
    features = compute_features(source, rows, tmp_path)
    theirs = transformers.BertModel.from_pretrained(encoder).eval()
    batch = features.batch([2, 0, 1], [-1, 0], 12)
    for place, row in enumerate([2, 0, 1]):
        token_ids = torch.tensor([rows[row].parts[0].token_ids])
        with torch.no_grad():
            states = theirs(token_ids, output_hidden_states=True).hidden_states
        length = token_ids.shape[1]
        for layer, expected in enumerate((states[2], states[0])):
            np.testing.assert_allclose(batch[place, :length, layer], expected[0], atol=2e-3)  # float16
        assert not batch[place, length:].any()
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    np.testing.assert_array_equal(compute_features(source, rows, tmp_path).states, features.states)
    assert file.stat().st_mtime_ns == written
    compute_features(source, rows[:2], tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@once_on_torch
def test_the_whole_road(encoder, data, tmp_path, capsys):
    arguments = ["tags", "--data", data, "--init", encoder, "--output", str(tmp_path)]
    fast = ["--units", "12", "--depth", "1", "--epochs", "6", "--learning_rate", "0.03", "--batch_size", "16"]
    result = feature_tagger.main(
        [*arguments, *fast, "--seeds", "2", "--layers", "embeddings,last_four_concat,all_weighted"]
    )
    printed = capsys.readouterr().out
    assert json.loads(printed.splitlines()[-1]) == json.loads(json.dumps(result))
    assert "note: last_four_concat is left out, the encoder has 2 layers" in printed
    assert result["dev"].keys() == {"embeddings", "all_weighted"}
    assert min(result["dev"]["embeddings"]) > 90  # Each word by itself tells its tag.
    mean, spread = np.mean(result["dev"]["embeddings"]), np.std(result["dev"]["embeddings"], ddof=1)
    assert f"| embeddings | {mean:.2f} ± {spread:.2f} | 91.0 |" in printed
    best = max(result["dev"], key=lambda name: max(result["dev"][name]))
    assert result["best"] == best and result["scores"]["dev"]["f1"] == max(result["dev"][best])
    lines = (tmp_path / "answers" / "test.tsv").read_text().splitlines()
    right = [line.split("\t")[1] == line.split("\t")[2] for line in lines if line]
    assert np.mean(right) > 0.9 and len(right) > 10
    assert len(list((tmp_path / "states").iterdir())) == 3


@once_on_torch
def test_placeholders_are_answered_and_not_scored(encoder, data, tmp_path, capsys):
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    (folder / "test.txt").write_text("the O\ncat O\n")
    fast = ["--units", "4", "--depth", "1", "--epochs", "1", "--layers", "last"]
    arguments = ["tags", "--data", str(folder), "--init", encoder, "--output", str(tmp_path / "out"), *fast]
    assert feature_tagger.main(arguments)["scores"].keys() == {"dev"}
    assert "note: the test set from line 1" in capsys.readouterr().out
    assert len((tmp_path / "out" / "answers" / "test.tsv").read_text().split("\n")) >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "middle"], "must be of embeddings, .* Received: middle"),
        (["--layers", "last_four_concat"], "an encoder with 2. Received: last_four_concat"),
        (["--units", "0"], "--units must be at least 1. Received: --units 0"),
    ],
)
def test_what_does_not_fit_is_refused(encoder, data, tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as refusal:
        feature_tagger.main(["tags", "--data", data, "--init", encoder, "--output", str(tmp_path), *arguments])
    assert re.search(message, str(refusal.value) + capsys.readouterr().err)
