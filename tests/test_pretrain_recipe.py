"""training/pretrain.py: the recipe's flags, for masking, optimizer, accumulation and budget."""

import dataclasses
import json
import re

import numpy as np
import pytest
import safetensors.numpy
from conftest import once_on_torch
from test_training import command, history, make_data

from kbert import BertBackbone, BertConfig, BertPretrainer
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo
from kbert.optimization import BertAdamW, Lamb
from training import pretrain
from training.budget import updates_of
from training.devices import Devices
from training.masking_report import masking_shares
from training.state import saved_states

MASK = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Shards in which three of four words of the vocabulary continue a word."""
    folder = make_data(tmp_path_factory.mktemp("data"), num_documents=120, block_characters=3000)
    lines = (folder / "vocab.txt").read_text().splitlines()
    pieces = [f"##{line}" if number > 5 and number % 4 else line for number, line in enumerate(lines)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    return folder


def test_shares_counted_by_hand():
    rows = np.array([[2, MASK, 7, 8, 9, 3, 0, 0], [2, 5, MASK, 6, 11, 12, 13, 3]])
    inputs = {"token_ids": rows, "padding_mask": (rows != 0).astype(int)}
    inputs["mask_positions"] = np.array([[1, 2, 0, 0], [2, 3, 4, 5]])
    # [MASK], another; [MASK] though it was there before, kept, kept, another.
    targets = {"mlm": np.array([[20, 21, 0, 0], [MASK, 6, 11, 22]])}
    weights = {"mlm": np.array([[1, 1, 0, 0], [1, 1, 1, 1]])}
    batch = (inputs, targets, weights)
    expected = {"tokens": 14, "selected": 6 / 14, "mask": 2 / 6, "random": 2 / 6, "kept": 2 / 6}
    assert masking_shares([batch], MASK) == pytest.approx(expected)
    assert masking_shares([batch] * 3, MASK, num_tokens=15)["tokens"] == 28


@once_on_torch
def test_the_flags_reach_the_data_and_the_shares_are_printed_once(data, tmp_path, capsys):
    changes = {"steps": 4, "save_every": 2, "batch_size": 16, "mask_selection_length": 9}
    changes |= {"mask_selection_rate": 0.3, "mask_token_rate": 0.25, "random_token_rate": 0.0}
    pretrain.main([*command(data, tmp_path / "run", **changes), "--whole_words"])
    printed = re.findall(r"masking, seen in .*", capsys.readouterr().out)
    # The run's own two batches before its first save; the dataset as a person would open it.
    rates = {name: changes[name] for name in changes if name.startswith("mask_") or name == "random_token_rate"}
    batches = pretraining_dataset(data, batch_size=16, whole_words=True, seed=5, **rates).take(2)
    shares = masking_shares(batches.as_numpy_iterator(), MASK)
    assert 0 < shares["mask"] < 0.5 and shares["random"] == 0
    assert printed == [
        f"masking, seen in {shares['tokens']:,} tokens: {shares['selected']:.1%} selected, of these "
        f"{shares['mask']:.1%} [MASK], 0.0% another token, {shares['kept']:.1%} kept"
    ]
    others = pretraining_dataset(data, batch_size=16, seed=5, **rates).take(2)
    # Long words do not fill the last slots of a row.
    assert masking_shares(others.as_numpy_iterator(), MASK)["selected"] > shares["selected"]


@once_on_torch
def test_a_run_from_before_a_flag_goes_on(data, tmp_path):
    arguments = command(data, tmp_path / "run", steps=2, save_every=1)
    result = pretrain.main(arguments)
    path = tmp_path / "run" / "run.json"
    run = json.loads(path.read_text())
    for name in ("whole_words", "mask_token_rate"):
        del run["settings"][name]
    path.write_text(json.dumps(run))
    assert pretrain.main(arguments) == result
    run = json.loads(path.read_text())
    del run["settings"]["whole_words"]
    path.write_text(json.dumps(run))
    with pytest.raises(SystemExit, match="Received: another whole_words than in"):
        pretrain.main([*arguments, "--whole_words"])


@once_on_torch
def test_a_budget_in_passes_or_tokens_becomes_updates(data):
    shards = DatasetInfo.from_folder(data).shards
    rows, tokens = (sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens"))
    settings = pretrain.Settings(data=(str(data),), batch_size=7, accumulate=2)

    def updates(**budget):
        return updates_of(dataclasses.replace(settings, **budget))

    assert updates() == 10000 and updates(steps=3) == 3
    assert updates(epochs=3.0) == -(-3 * rows // 14) and updates(epochs=1e-9) == 1
    # A row is worth the mean of all rows.
    assert updates(tokens=1.5 * tokens) == updates(epochs=1.5) == -(-3 * rows // 28)
    assert updates(tokens=tokens / rows * 14 * 5 - 1) == 5 and updates(tokens=tokens / rows * 14 * 5 + 1) == 6


@once_on_torch
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"epochs": 2},
            r"must have one budget: --steps, --epochs, --tokens, --minutes. Received: --steps 60 --epochs 2.0",
        ),
        ({"steps": 0}, "--steps must be above 0. Received: --steps 0."),
        ({"minutes": 3}, r"must have one budget: .*. Received: --steps 60 --minutes 3.0."),
        ({"accumulate": 0}, "--accumulate must be at least 1. Received: --accumulate 0."),
        ({"save_every": 0}, "--save_every must be at least 1. Received: --save_every 0."),
    ],
)
def test_impossible_budgets_are_refused(data, tmp_path, changes, message):
    with pytest.raises(SystemExit, match=message):
        pretrain.main(command(data, tmp_path / "run", **changes))
    assert not (tmp_path / "run").exists()


def test_the_optimizer_is_the_one_the_flags_describe():
    for flags, expected in (
        ({}, (BertAdamW, True, None)),
        ({"optimizer": "lamb", "accumulate": 4}, (Lamb, True, 4)),
        ({"no_bias_correction": True}, (BertAdamW, False, None)),
    ):
        model = BertPretrainer(BertBackbone(BertConfig.named("1x64", vocabulary_size=30)))
        pretrain._compile(model, pretrain.Settings(data=(), steps=30, weight_decay=0.07, **flags), Devices())
        found = model.optimizer
        assert (type(found), found.bias_correction, found.gradient_accumulation_steps) == expected
        assert found.weight_decay == 0.07


@pytest.fixture(scope="module")
def uneven(data, tmp_path_factory):
    """A run of 5 updates of 2 batches, saved after 2, 4 and 5, and its arguments without --output."""
    output = tmp_path_factory.mktemp("uneven") / "run"
    changes = {"steps": 5, "save_every": 2, "accumulate": 2, "optimizer": "lamb", "learning_rate": 0.03}
    arguments = [*command(data, output, **changes), "--no_dropout"]
    pretrain.main(arguments)
    return output, arguments


def weights_of(output):
    return safetensors.numpy.load_file(output / "model.safetensors")


def assert_same_weights(one, other):
    for name, value in weights_of(one).items():
        np.testing.assert_allclose(value, weights_of(other)[name], rtol=0, atol=1e-6, err_msg=name)


@once_on_torch
def test_saves_need_not_divide_the_budget(uneven, data, tmp_path):
    output, arguments = uneven
    assert [step for step, _ in saved_states(output / "state")] == [4, 5]
    assert [row["epoch"] for row in history(output)] == [0, 1, 2]
    # The same updates with one save at the end: other calls of fit, the same batches and rates.
    once = tmp_path / "once"
    pretrain.main([*arguments, "--output", str(once), "--save_every", "5"])
    assert_same_weights(output, once)


def test_a_run_of_accumulated_updates_goes_on_at_its_last_save(uneven, tmp_path, capsys):
    output, arguments = uneven
    before = {name: value.copy() for name, value in weights_of(output).items()}
    saved_states(output / "state")[-1][1].unlink()
    (output / "result.json").unlink()
    pretrain.main(arguments)
    printed = capsys.readouterr().out
    assert "4 of 5 steps done" in printed and re.findall(r"step \d/5", printed) == ["step 5/5"]
    for name, value in weights_of(output).items():
        np.testing.assert_allclose(value, before[name], rtol=0, atol=1e-6, err_msg=name)
    assert [row["epoch"] for row in history(output)] == [0, 1, 2]
