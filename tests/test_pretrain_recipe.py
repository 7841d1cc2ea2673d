"""training/pretrain.py: what its flags for masking do, and what it says about it."""

import json
import re

import numpy as np
import pytest
from test_training import command, make_data

from kbert.data.pipelines import pretraining_dataset
from training import pretrain
from training.masking_report import masking_shares

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
    inputs["mask_positions"] = np.array([[1, 2, 0], [2, 3, 5]])
    targets = {"mlm": np.array([[20, 21, 0], [MASK, 6, 22]])}  # [MASK], another; [MASK] though kept, kept, another.
    weights = {"mlm": np.array([[1, 1, 0], [1, 1, 1]])}
    batch = (inputs, targets, weights)
    expected = {"tokens": 14, "selected": 5 / 14, "mask": 2 / 5, "random": 2 / 5, "kept": 1 / 5}
    assert masking_shares([batch], MASK) == pytest.approx(expected)
    assert masking_shares([batch] * 3, MASK, num_tokens=15)["tokens"] == 28


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
