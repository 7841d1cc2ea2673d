"""The benchmark of training steps: what a step takes is counted rightly, every peer makes one, and ratios are right."""

import json

import keras
import pytest
from conftest import once

from training import benchmark, peers
from training.step_work import Work

TINY = Work(2, 64, 3, 32)


@pytest.mark.parametrize(
    ("name", "backends"),
    [("kbert", None), ("keras-hub", None), ("transformers", ["torch"]), ("peak", None)],
)
def test_a_peer_makes_a_step(name, backends, capsys, monkeypatch):
    if backends and keras.backend.backend() not in backends:
        pytest.skip(f"{name} does not depend on Keras' backend")
    if name == "keras-hub":
        pytest.importorskip("keras_hub")
    monkeypatch.setattr(peers, "PEAK_SIZE", 64)
    peers.main([name, "float32", str(TINY), "1"])
    result = json.loads(capsys.readouterr().out)
    if name == "peak":
        assert result["flops_per_second"] == pytest.approx(2 * 64**3 / result["seconds_per_step"])
    else:
        assert result["tokens_per_second"] == pytest.approx(3 * 32 / result["seconds_per_step"])


@pytest.mark.parametrize("work", [Work(2, 128, 4, 64), Work(1, 64, 2, 256)], ids=str)
def test_the_operations_of_a_step_are_those_that_pytorch_counts(work):
    if keras.backend.backend() != "torch":
        pytest.skip("PyTorch counts them")
    from torch.utils.flop_counter import FlopCounterMode

    step = peers.kbert_step("float32", work, peers.make_batch(work))
    step()
    with FlopCounterMode(display=False) as counter:
        step()
    # Pooler and next-sentence head are not in our number.
    assert counter.get_total_flops() == pytest.approx(work.flops, rel=2e-3)


@once
@pytest.mark.parametrize("text", ["", "4x256", "4x250:2x2", "4x256:2x513", "0x64:1x1", "4x64:1x0"])
def test_what_is_no_work_is_refused(text):
    with pytest.raises(SystemExit, match="Work must be LAYERSxWIDTH:ROWSxLENGTH.* Received: "):
        benchmark.main(["--work", text])


@once
def test_a_run_has_a_table_ratios_and_a_line_for_programs(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "BEST", (("kbert", "tensorflow", "float32"), ("keras-hub", "tensorflow", "float32")))
    monkeypatch.setattr(benchmark, "OTHERS", (("kbert", "no-such-backend", "float32"),))
    found = benchmark.main(["--work", str(TINY), "--steps", "1"])
    *lines, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == json.loads(json.dumps(found))
    (work,) = found["work"]
    ours, theirs, failed = work["rows"]
    ratio = ours["tokens_per_second"] / theirs["tokens_per_second"]
    assert work["ratios"] == {"kbert / keras-hub, best of each": pytest.approx(ratio)}
    assert lines[-1] == f"kbert / keras-hub, best of each: {ratio:.2f}"
    share = TINY.flops / ours["seconds_per_step"] / found["peak"]["flops_per_second"]
    assert lines[4].split()[:3] == ["kbert", "tensorflow", "float32"] and lines[4].endswith(f"{share:.0%}")
    assert "error" in failed and "failed: " in lines[6]


@once
def test_a_size_that_comes_again_is_measured_with_the_fastest_of_each_program(monkeypatch, capsys):
    best = (("kbert", "tensorflow", "float32"), ("kbert", "jax", "float32"), ("keras-hub", "torch", "float32"))
    monkeypatch.setattr(benchmark, "BEST", best)
    monkeypatch.setattr(benchmark, "OTHERS", (("transformers", "none", "float32"),))
    seconds = {"tensorflow": 2.0, "jax": 1.0, "torch": 3.0}

    def run(name, backend, precision, work, steps):
        if name == "peak" or backend == "none":
            return {"error": "left out"}
        return {"seconds_per_step": seconds[backend], "tokens_per_second": 1 / seconds[backend], "peak_gib": 1.0}

    monkeypatch.setattr(benchmark, "run_peer", run)
    found = benchmark.main(["--work", "2x64:3x32", "4x64:3x32", "2x64:1x64", "2x64:1x32"])
    ran = [[(row["name"], row["backend"]) for row in work["rows"]] for work in found["work"]]
    names = [configuration[:2] for configuration in best]
    fast = {("kbert", "jax"), ("keras-hub", "torch")}
    assert ran[:2] == [[*names, ("transformers", "none")], names]
    assert [set(row) for row in ran[2:]] == [fast, fast] and [len(row) for row in ran[2:]] == [2, 2]
    assert found["work"][3]["ratios"]["kbert / keras-hub, best of each"] == 3.0


@once
def test_ratios_are_of_the_best_and_of_one_backend():
    speeds = [("kbert", "jax", 6.0), ("kbert", "torch", 9.0), ("keras-hub", "jax", 3.0), ("keras-hub", "torch", 4.5)]
    rows = [dict(name=name, backend=on, precision="float32", tokens_per_second=speed) for name, on, speed in speeds]
    rows.append(dict(name="transformers", backend="torch", precision="float32", tokens_per_second=3.0))
    rows.append(dict(name="keras-hub", backend="tensorflow", precision="float32", error="none"))
    assert dict(benchmark._compare(rows)) == {
        "kbert / keras-hub, best of each": 2.0,
        "kbert / transformers, best of each": 3.0,
        "kbert / keras-hub, on jax": 2.0,
        "kbert / keras-hub, on torch": 2.0,
    }
