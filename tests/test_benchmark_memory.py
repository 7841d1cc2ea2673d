"""The curves of memory: every point is a real step, and recomputed blocks take less."""

import json

import pytest
from conftest import once

from training import benchmark_memory, peers

pytestmark = once


def test_a_table_a_picture_and_a_line_for_programs(tmp_path, capsys):
    sizes = ["--size", "1x64", "--rows", "1", "2", "--length", "8", "--lengths", "8", "16", "--batch_size", "2"]
    arguments = [*sizes, "--names", "kbert", "--output", str(tmp_path / "memory.png")]
    found = benchmark_memory.main(arguments)
    *lines, last = capsys.readouterr().out.splitlines()
    assert json.loads(last)["gib"] == found
    assert list(found) == ["1x64:1x8", "1x64:2x8", "1x64:2x16"]  # One stands in both panels, and is measured once.
    assert [line.split() for line in lines[1:]] == [[work, f"{gib['kbert']:.2f}"] for work, gib in found.items()]
    assert all(0.2 < gib["kbert"] < 3 for gib in found.values())  # TensorFlow itself, and little more.
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")


def test_what_fails_is_told_and_no_work_refused(capsys):
    found = benchmark_memory.main(["--only", "1x64:1x8", "--names", "kbert", "--precision", "no_such_policy"])
    assert found == {"1x64:1x8": {"kbert": None}} and "failed" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="Work must be LAYERSxWIDTH:ROWSxLENGTH.* Received: 1x63:1x8"):
        benchmark_memory.main(["--only", "1x63:1x8"])


def test_recomputed_blocks_are_asked_for(monkeypatch):
    made = []
    monkeypatch.setattr(
        "kbert.models.BertPretrainer.train_on_batch", lambda model, *_: made.append(model.backbone.remat)
    )
    work = peers.Work.read("1x64:1x8")
    for name in ("kbert", "kbert-remat"):
        peers.STEPS[name]("float32", work, peers.make_batch(work))()
    assert made == [False, True]
