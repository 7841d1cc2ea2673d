"""Documents in shards: every epoch pairs their sentences anew, and a step still stands for a known place."""

import dataclasses

import numpy as np
import pytest
import test_prepare
from conftest import once_on_torch
from test_pipelines import assert_equal_batches, hashable, make_rows, unmasked_rows

from kbert.data.check_dataset import check_dataset
from kbert.data.document_shards import pair_documents, read_documents, write_documents
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, PairingInfo, ShardInfo, read_shard, write_shard
from training import prepare

pytestmark = once_on_torch

SPECIAL_TOKEN_IDS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
PAIRING = PairingInfo(max_sequence_length=21, short_sequence_rate=0.2)
VOCABULARY_SIZE = 400


def make_documents(first, count):
    """Documents whose tokens say where they stand: sentence s of document d is 10 + 10 d + s, several times."""
    rng = np.random.default_rng(first)
    return [
        [[10 + 10 * number + place] * int(rng.integers(2, 7)) for place in range(int(rng.integers(3, 10)))]
        for number in range(first, first + count)
    ]


def write_dataset(folder, *, with_rows=False):
    shards = []
    for number, documents in enumerate([make_documents(0, 12), make_documents(12, 7)]):
        path = folder / f"train-{number}.tfrecord"
        write_documents(path, documents)
        shard = ShardInfo(str(path), 0, 0, PAIRING)
        rows = pair_documents(shard, SPECIAL_TOKEN_IDS, [5, number])
        tokens = sum(len(row.token_ids) for row in rows)
        shards.append(dataclasses.replace(shard, file=path.name, rows=len(rows), tokens=tokens))
    if with_rows:
        rows = make_rows(np.random.default_rng(1), 9)
        shards.insert(1, ShardInfo("rows.tfrecord", write_shard(folder / "rows.tfrecord", rows), 99))
    info = DatasetInfo(VOCABULARY_SIZE, PAIRING.max_sequence_length, 0, tuple(shards), (), SPECIAL_TOKEN_IDS)
    info.write(folder)
    return info


def epochs(folder, num_epochs, **changes):
    """The rows of the first epochs, unmasked, an epoch a list."""
    rows_an_epoch = sum(shard.rows for shard in DatasetInfo.from_folder(folder).shards)
    batches = pretraining_dataset(folder, batch_size=rows_an_epoch, **({"seed": 7} | changes)).take(num_epochs)
    return [hashable(unmasked_rows([batch])) for batch in batches.as_numpy_iterator()]


def test_documents_are_read_as_they_were_written_without_what_is_empty(tmp_path):
    write_documents(tmp_path / "a", [[[5, 6], [], [7]], [[]], [], [[8, 9, 10]]])
    assert read_documents(tmp_path / "a") == [[[5, 6], [7]], [[8, 9, 10]]]
    assert not list(tmp_path.glob("*.partial"))


def test_every_epoch_has_other_pairs_and_all_are_true(tmp_path):
    info = write_dataset(tmp_path)
    found = epochs(tmp_path, 3)
    assert {len(rows) for rows in found} == {sum(shard.rows for shard in info.shards)}
    for rows in found:
        places = [divmod(token_id - 10, 10) for row in rows for token_id in row[0] if token_id > 4]
        assert {document for document, _ in places} >= set(range(12))  # The last ones may fall behind the last row.
        for token_ids, segment_ids, is_random_next in rows:
            parts = [[t for t, s in zip(token_ids, segment_ids, strict=True) if t > 4 and s == n] for n in (0, 1)]
            documents = [{(t - 10) // 10 for t in part} for part in parts]
            assert all(part == sorted(part) and len(among) == 1 for part, among in zip(parts, documents, strict=True))
            if is_random_next:
                assert documents[0] != documents[1]
            else:
                assert documents[0] == documents[1] and parts[1][0] > parts[0][-1]  # Cut between two sentences.
    # The documents come in another order, too: it decides which pairs fall behind the last row.
    for shard in info.shards:
        shard = dataclasses.replace(shard, file=str(tmp_path / shard.file))
        pairings = (pair_documents(shard, SPECIAL_TOKEN_IDS, [draw]) for draw in (1, 2))
        one, other = (list(dict.fromkeys((row.token_ids[1] - 10) // 10 for row in rows)) for rows in pairings)
        assert one != other and sorted(one) == sorted(other) != one
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert len(set(found[one]) & set(found[other])) < len(found[one]) / 2
    assert found == epochs(tmp_path, 3) != epochs(tmp_path, 3, seed=8)


def test_an_epoch_that_needs_more_rows_takes_them_from_one_more_pairing(tmp_path):
    info = write_dataset(tmp_path)
    shard = dataclasses.replace(info.shards[0], file=str(tmp_path / info.shards[0].file))
    once = pair_documents(shard, SPECIAL_TOKEN_IDS, [3])
    longer = pair_documents(shard, SPECIAL_TOKEN_IDS, [3], len(once) + 5)
    assert longer[: len(once)] == once and len(longer) == len(once) + 5
    assert pair_documents(shard, SPECIAL_TOKEN_IDS, [3], 4) == once[:4]


@pytest.mark.parametrize("with_rows", [False, True])
def test_a_resumed_stream_goes_on_as_if_never_stopped(tmp_path, with_rows):
    write_dataset(tmp_path, with_rows=with_rows)
    rows_an_epoch = sum(shard.rows for shard in DatasetInfo.from_folder(tmp_path).shards)
    settings = {"batch_size": 4, "seed": 3, "shuffle_buffer": 16}
    steps = 2 * rows_an_epoch // 4 + 3
    whole = list(pretraining_dataset(tmp_path, **settings).take(steps).as_numpy_iterator())
    start = steps - 5
    rest = pretraining_dataset(tmp_path, **settings, start_step=start).take(5)
    assert_equal_batches(list(rest.as_numpy_iterator()), whole[start:])


def test_rows_of_a_mixture_stay_what_they_are(tmp_path):
    write_dataset(tmp_path, with_rows=True)
    expected = set(hashable(make_rows(np.random.default_rng(1), 9)))
    assert all(expected <= set(rows) for rows in epochs(tmp_path, 2))


def test_prepared_documents_hold_the_corpus_and_held_out_rows_do_not_change(tmp_path):
    for name, more in (("anew", ["--pair_anew"]), ("once", [])):
        prepare.main(test_prepare.arguments(tmp_path, tmp_path / name, "--workers", "1", *more))
    anew, once = (DatasetInfo.from_folder(tmp_path / name) for name in ("anew", "once"))
    check_dataset(tmp_path / "anew")
    assert [(shard.file, shard.rows, shard.tokens) for shard in anew.shards] == [
        (shard.file, shard.rows, shard.tokens) for shard in once.shards
    ]
    assert {shard.pairing for shard in anew.shards} == {PairingInfo(19, 0.1)}
    assert anew.held_out == once.held_out
    for shard in anew.held_out:
        assert (tmp_path / "anew" / shard.file).read_bytes() == (tmp_path / "once" / shard.file).read_bytes()
    sentences = {
        " ".join(test_prepare.VOCABULARY[token_id] for token_id in sentence)
        for shard in anew.shards
        for document in read_documents(tmp_path / "anew" / shard.file)
        for sentence in document
    }
    expected = {
        sentence
        for text in test_prepare.DOCUMENTS
        if not test_prepare.is_held_out(text)
        for sentence in text.split("\n")
    }
    assert sentences == expected
    assert all(len(list(read_shard(tmp_path / "once" / shard.file))) == shard.rows for shard in anew.held_out)


def test_pairs_anew_without_pairs_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="--pair_anew must come with pairs. Received: --nsp none --pair_anew."):
        prepare.main(test_prepare.arguments(tmp_path, tmp_path / "x", "--nsp", "none", "--pair_anew"))


def test_a_bad_document_is_found_by_check_dataset(tmp_path):
    info = write_dataset(tmp_path)
    write_documents(tmp_path / info.shards[1].file, [[[VOCABULARY_SIZE], [11]], [[12], [13]]])
    with pytest.raises(ValueError, match=r"must lie in \[0, 400\). Received: .* 400, shard=.*train-1.tfrecord"):
        check_dataset(tmp_path)
