"""The comparison of fine-tuning with transformers at tiny settings: both sides run, and the row says what they said."""

import json
import statistics

import pytest
from conftest import once
from tiny_task import save_encoder, write_animals

from training import benchmark_finetune, finetune_peer

pytestmark = once
pytest.importorskip("transformers")


def test_both_sides_in_one_table(tmp_path, capfd):
    data = write_animals(tmp_path, train=64, dev=20, test=10)
    encoder = save_encoder(tmp_path / "encoder")
    flags = ["--data", data, "--init", encoder, "--output", str(tmp_path / "out"), "--learning_rate", "0.01"]
    summary = benchmark_finetune.main(["table", *flags, "--epochs", "2", "--seeds", "2", "--batch_size", "16"])
    head, _, *rows, last = capfd.readouterr().out.splitlines()
    assert json.loads(last) == json.loads(json.dumps(summary))
    columns = [cell.strip() for cell in head.strip("|").split("|")]
    table = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [len(row) for row in table] == [len(columns)] * len(rows) and [row[2] for row in table] == [
        *summary["kbert"]["best"]["dev"],
        *summary["kbert"]["best"]["test"],
    ]
    first = dict(zip(columns[:5], table[0], strict=False))
    assert (first["task"], first["epochs"]) == ("table", "2")
    for name in ("kbert", "transformers"):
        side = summary[name]["best"]
        assert [run["seed"] for run in side["runs"]] == [0, 1] and summary[name]["peak_gib"] > 0.1
        values = [run["scores"]["dev"]["accuracy"] for run in side["runs"]]
        assert first[name] == f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
    ours, theirs = (
        statistics.mean(run["seconds"] for run in summary[name]["best"]["runs"]) for name in benchmark_finetune.SIDES
    )
    assert table[0][7] == f"{ours / theirs:.2f}"


def test_a_side_that_fails_is_named(monkeypatch):
    monkeypatch.setitem(benchmark_finetune.SIDES, "kbert", "training.no_such_script")
    with pytest.raises(SystemExit, match="status 1 of training.no_such_script"):
        benchmark_finetune.main(["mrpc"])


@pytest.mark.parametrize("flags", [["--grid"], ["--patience", "2"], ["--freeze", "1"], ["--class_weights"]])
def test_what_transformers_side_does_not_do_is_refused(flags, tmp_path):
    with pytest.raises(SystemExit, match=f"plain recipe. Received: {flags[0]}, which"):
        finetune_peer.main(["mrpc", "--data", str(tmp_path), *flags])
