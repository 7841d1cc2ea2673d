"""Several dataset folders in one run, rows with and without a pair."""

import json

import numpy as np
import pytest
from conftest import once
from test_pipelines import MAX_LENGTH, SETTINGS, SLOTS, batches, hashable, make_rows, unmasked_rows, write_dataset

from kbert.data.mixture import mixed_datasets
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DATASET_FILE, NO_PAIR

pytestmark = once


@pytest.fixture(scope="module")
def two_folders(tmp_path_factory):
    """Folder one holds pairs, folder two texts without pairs."""
    rng = np.random.default_rng(3)
    folders, rows = [], []
    for number, count in enumerate((9, 7)):
        folder = tmp_path_factory.mktemp(f"dataset{number}")
        shards = [make_rows(rng, count), make_rows(rng, 5)]
        if number:
            shards = [[row._replace(is_random_next=NO_PAIR) for row in shard] for shard in shards]
        write_dataset(folder, shards, shards[:1])
        folders.append(folder)
        rows += [row for shard in shards for row in shard]
    return folders, rows


def test_an_epoch_holds_the_rows_of_all_folders_once(two_folders):
    folders, rows = two_folders
    found = unmasked_rows(batches(folders, len(rows) // 2, batch_size=2))
    expected = [row._replace(is_random_next=max(row.is_random_next, 0)) for row in rows]
    assert sorted(hashable(found)) == sorted(hashable(expected))
    assert len(list(pretraining_dataset(folders, batch_size=1, split="held_out"))) == 9 + 7


def test_a_row_without_a_pair_has_no_weight_in_the_next_sentence_loss(two_folders):
    folders, rows = two_folders
    seen = batches(folders, len(rows), batch_size=1)
    is_pair = {tuple(row.token_ids): row.is_random_next != NO_PAIR for row in rows}
    for batch in seen:
        (row,) = unmasked_rows([batch])
        assert batch[2]["nsp"].tolist() == [float(is_pair[tuple(row.token_ids)])]
        assert batch[1]["nsp"][0] in (0, 1) and batch[2]["mlm"].sum() >= 1
    assert {float(batch[2]["nsp"][0]) for batch in seen} == {0.0, 1.0}


def test_the_longest_row_decides_the_length(two_folders, tmp_path):
    folders, _ = two_folders
    longer = json.loads((folders[1] / DATASET_FILE).read_text()) | {"max_sequence_length": MAX_LENGTH + 4}
    for path in folders[1].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / DATASET_FILE).write_text(json.dumps(longer))
    info = mixed_datasets([folders[0], tmp_path])
    assert info.max_sequence_length == MAX_LENGTH + 4 and len(info.shards) == 4 and len(info.held_out) == 2
    dataset = pretraining_dataset([folders[0], tmp_path], batch_size=2, mask_selection_length=SLOTS)
    assert dataset.element_spec[0]["token_ids"].shape == (2, MAX_LENGTH + 4)


def test_resuming_in_a_mixture(two_folders):
    folders, _ = two_folders
    whole = batches(folders, 9)
    rest = batches(folders, 4, start_step=5)
    np.testing.assert_array_equal(
        [batch[0]["token_ids"] for batch in whole[5:]], [batch[0]["token_ids"] for batch in rest]
    )
    assert SETTINGS["batch_size"] * 9 > 26  # The last batches are of the second epoch.


def test_refuses_no_folder_one_twice_and_another_vocabulary(two_folders, tmp_path):
    folders, _ = two_folders
    with pytest.raises(ValueError, match="at least one dataset"):
        mixed_datasets([])
    with pytest.raises(ValueError, match="each once"):
        mixed_datasets([folders[0], folders[0]])
    for path in folders[1].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    info = mixed_datasets(folders[0])
    changed = json.loads((folders[1] / DATASET_FILE).read_text()) | {
        "special_token_ids": dict(info.special_token_ids, **{"[MASK]": 9})
    }
    (tmp_path / DATASET_FILE).write_text(json.dumps(changed))
    with pytest.raises(ValueError, match=r"one vocabulary.*'\[MASK\]': 8.*'\[MASK\]': 9"):
        mixed_datasets([folders[0], tmp_path])
