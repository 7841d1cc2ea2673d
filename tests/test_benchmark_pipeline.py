"""The benchmark of the pipeline at tiny settings: each side makes batches of the same rows, and counts their tokens."""

import itertools
import json

import pytest
from conftest import once
from test_training import make_data

from kbert.data.schema import DatasetInfo
from training import benchmark_pipeline

pytestmark = once


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


@pytest.mark.parametrize("name", benchmark_pipeline.PEERS)
def test_one_pass_has_the_tokens_of_the_shards(data, name):
    pytest.importorskip("transformers")
    pytest.importorskip("keras_hub")
    info = DatasetInfo.from_folder(data)
    num_rows, num_tokens = (sum(getattr(shard, what) for shard in info.shards) for what in ("rows", "tokens"))
    settings = benchmark_pipeline.Settings(str(data), batch_size=num_rows, mask_selection_length=5, only=name)
    counts = benchmark_pipeline.counts_of(settings, info)
    assert list(itertools.islice(counts, 2)) == [num_tokens] * 2


def test_a_side_alone_prints_its_rate(data, capsys):
    benchmark_pipeline.main([str(data), "--only", "kbert", "--seconds", "0.05", "--mask_selection_length", "5"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) > 1000
