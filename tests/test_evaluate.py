"""training/evaluate.py: the numbers of each dataset, against a pass row by row."""

import re

import keras
import numpy as np
import pytest
from conftest import once_on_torch
from test_training import make_data

from kbert import BertBackbone, BertConfig, BertPretrainer, save_checkpoint
from kbert.data.pipelines import pretraining_dataset
from kbert.data.schema import DatasetInfo, PretrainingRow, ShardInfo, write_shard
from kbert.text.tokenizer import WordPieceTokenizer
from training import evaluate

pytestmark = once_on_torch

SPECIAL = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}


def write_dataset(folder, rows, held_out):
    shards = {"a.tfrecord": rows, "b.tfrecord": held_out}
    infos = [
        ShardInfo(name, write_shard(folder / name, those), sum(len(row.token_ids) for row in those))
        for name, those in shards.items()
    ]
    DatasetInfo(30, 12, 0, (infos[0],), (infos[1],), SPECIAL).write(folder)


def test_halves_of_true_pairs_change_places(tmp_path):
    true = PretrainingRow([2, 11, 12, 13, 3, 21, 22, 3], [0] * 5 + [1] * 3, 0)
    random = PretrainingRow([2, 11, 3, 21, 3], [0, 0, 0, 1, 1], 1)
    alone = PretrainingRow([2, 11, 12, 3], [0] * 4, -1)
    later = PretrainingRow([2, 14, 3, 23, 3], [0, 0, 0, 1, 1], 0)
    write_dataset(tmp_path, [random], [random, true, alone, later])
    ((token_ids, segment_ids),) = evaluate.swapped_pairs(tmp_path, 3)
    assert token_ids.tolist() == [2, 21, 22, 3, 11, 12, 13, 3]
    assert segment_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert len(evaluate.swapped_pairs(tmp_path, 4)) == 2


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=4000)


@pytest.fixture(scope="module")
def checkpoint(data, tmp_path_factory):
    keras.utils.set_random_seed(3)
    tokenizer = WordPieceTokenizer.from_folder(data)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 24, "max_sequence_length": 40}
    config = BertConfig(vocabulary_size=tokenizer.vocabulary_size, initializer_stddev=0.8, **sizes)
    folder = tmp_path_factory.mktemp("checkpoint")
    model = BertPretrainer(BertBackbone(config))
    save_checkpoint(model, tokenizer, folder)
    return model, str(folder)


def test_numbers_are_those_of_a_pass_row_by_row(data, checkpoint, capsys):
    model, folder = checkpoint
    result = evaluate.main([folder, str(data), "--batch_size", "7", "--mask_selection_length", "9"])[str(data)]
    right, losses, nsp = [], [], []
    batches = pretraining_dataset(data, split="held_out", batch_size=1, mask_selection_length=9)
    for inputs, targets, weights in batches.as_numpy_iterator():
        logits = model.predict_on_batch(inputs)
        real = weights["mlm"][0] > 0
        scores, answers = logits["mlm"][0][real].astype("float64"), targets["mlm"][0][real]
        right += (scores.argmax(-1) == answers).tolist()
        losses += (np.log(np.exp(scores).sum(-1)) - scores[np.arange(len(answers)), answers]).tolist()
        nsp.append(logits["nsp"][0].argmax() == targets["nsp"][0])
    assert result["mlm_rows"] == len(nsp)
    assert result["mlm_accuracy"] == pytest.approx(np.mean(right), abs=1e-6)
    assert result["nsp_accuracy"] == pytest.approx(np.mean(nsp), abs=1e-6)
    # A batch counts by its rows in Keras' mean of the loss, not by its masked words.
    assert np.log(result["mlm_perplexity"]) == pytest.approx(np.mean(losses), rel=0.02)
    swapped = []
    for token_ids, segment_ids in evaluate.swapped_pairs(data, len(nsp)):
        row = {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": np.ones_like(token_ids)}
        row = {name: value[None].astype("int32") for name, value in row.items()} | {"mask_positions": np.array([[1]])}
        swapped.append(model.predict_on_batch(row)["nsp"][0].argmax() == 1)
    assert 0 < result["swapped_pairs"] == len(swapped) < len(nsp)
    assert result["swapped_accuracy"] == pytest.approx(np.mean(swapped))
    assert re.search(rf"{len(nsp)} +{result['mlm_accuracy']:.4f} ", capsys.readouterr().out)
    assert evaluate.main([folder, str(data), "--batch_size", "7", "--batches", "1"])[str(data)]["mlm_rows"] == 7


def test_rows_without_pairs_have_no_next_sentence_numbers(data, checkpoint, tmp_path):
    rows = [PretrainingRow([2, 11, 12, 13, 3], [0] * 5, -1)] * 3
    write_dataset(tmp_path, rows, rows)
    info = DatasetInfo.from_folder(data)
    DatasetInfo(info.vocabulary_size, 12, 0, *[(ShardInfo(f"{n}.tfrecord", 3, 15),) for n in "ab"], SPECIAL).write(
        tmp_path
    )
    WordPieceTokenizer.from_folder(data).save(tmp_path)
    result = evaluate.main([checkpoint[1], str(tmp_path)])[str(tmp_path)]
    assert sorted(result) == ["mlm_accuracy", "mlm_perplexity", "mlm_rows"]


def test_another_vocabulary_is_refused(data):
    with pytest.raises(SystemExit, match="prepared with its vocabulary. Received: .* than kbert-small-en of 30,522"):
        evaluate.main(["kbert-small-en", str(data)])
