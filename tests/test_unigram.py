"""The loss of guessing by frequency alone."""

import math

import numpy as np
import pytest
from conftest import once_on_torch
from test_training import command, make_data

from kbert.data.schema import DatasetInfo, PretrainingRow, ShardInfo, write_shard
from training import pretrain
from training.unigram import unigram_loss

pytestmark = once_on_torch

SPECIAL_TOKEN_IDS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}


def write_rows(folder, *shards):
    folder.mkdir()
    infos = []
    for number, rows in enumerate(shards):
        name = f"train-{number}.tfrecord"
        rows = [PretrainingRow([2, *row, 3], [0] * (len(row) + 2), -1) for row in rows]
        infos.append(ShardInfo(name, write_shard(folder / name, rows), sum(len(row.token_ids) for row in rows)))
    DatasetInfo(30, 12, 0, tuple(infos), (), SPECIAL_TOKEN_IDS).write(folder)
    return folder


def test_the_entropy_by_hand(tmp_path):
    """8 of 16 words are one token, 4 another, 2 and 2: half a bit plus half a bit plus two times three eighths."""
    one = write_rows(tmp_path / "one", [[7] * 8, [8, 9]], [[8, 8, 8, 9], [1, 1]])
    assert unigram_loss(one) == pytest.approx(1.75 * math.log(2))
    # Several folders count as one.
    other = write_rows(tmp_path / "other", [[7, 7], [7, 7]])
    rates = np.array([12, 4, 2, 2]) / 20
    assert unigram_loss([one, other]) == pytest.approx(-np.sum(rates * np.log(rates)))


def test_a_sample_is_spread_over_all_shards(tmp_path):
    """Ten shards, each of one token: from the first rows of some it would be less than log 10."""
    folder = write_rows(tmp_path / "rows", *([[token] * 6] * 50 for token in range(10, 20)))
    assert unigram_loss(folder, num_tokens=300) == pytest.approx(math.log(10))


def test_a_run_prints_it_beside_the_loss(tmp_path, capsys):
    data = make_data(tmp_path, num_documents=60, block_characters=3000)
    pretrain.main(command(data, tmp_path / "run", steps=2, save_every=1))
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("step ")]
    expected = f"by frequency alone: mlm {unigram_loss(data):.3f}"
    assert len(lines) == 2 and all(expected in line and "  mlm " in line for line in lines)
    assert 3 < unigram_loss(data) < math.log(41)
