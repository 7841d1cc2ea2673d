"""training/ablate.py: real runs of tiny models, the same held-out masks for all, nothing done twice."""

import json

import keras
import numpy as np
import pytest
from test_training import SLOTS, make_data

from kbert.convert import load
from kbert.data.pipelines import pretraining_dataset
from training import ablate, ablation_table

# The script knows no backend: each row is a run of training/pretrain.py, which is tested on all three.
pytestmark = pytest.mark.skipif(keras.backend.backend() != "torch", reason="one backend is enough")

PRETRAIN = "--steps 2 --batch_size 6 --held_out_batches 0"
SHARES = [(80, 10, 10), (0, 0, 100)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=40, block_characters=3000)


def command(data, output, *more, pretrain=PRETRAIN):
    settings = ["--size", "1x64", "--sizes", "1x64,2x64", "--mask_selection_length", str(SLOTS)]
    return [str(data), "--output", str(output), *settings, "--pretrain", pretrain, *more]


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """Both tables, the masking one of two rows, and the results."""
    output = tmp_path_factory.mktemp("ablation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablation_table, "MASKING", {shares: ablation_table.MASKING[shares] for shares in SHARES})
        yield output, ablate.main(command(data, output))


def test_every_row_is_a_run_asked_about_the_same_masks(data, finished):
    output, results = finished
    assert set(results) == {("1x64", SHARES[0]), ("1x64", SHARES[1]), ("2x64", SHARES[0])}
    for (size, (mask, same, random)), numbers in results.items():
        folder = output / f"{size}-{mask}-{same}-{random}"
        settings = json.loads((folder / "run.json").read_text())["settings"]
        assert (settings["mask_token_rate"], settings["random_token_rate"]) == (mask / 100, random / 100)
        assert (settings["steps"], settings["size"]) == (2, size)
        checkpoint = load(folder)
        assert numbers["parameters"] == checkpoint.model.count_params()
        for prefix, rates in (("", (0.8, 0.1)), ("all_masked_", (1.0, 0.0))):  # Whatever it was trained on.
            accuracy, loss = by_formula(checkpoint, data, *rates)
            assert numbers[f"{prefix}mlm_accuracy"] == pytest.approx(accuracy, abs=1e-6)
            assert np.log(numbers[f"{prefix}mlm_perplexity"]) == pytest.approx(loss, rel=1e-5)


def by_formula(checkpoint, data, mask_token_rate, random_token_rate):
    """Accuracy and loss of the masked words of all held-out rows."""
    rates = {"mask_token_rate": mask_token_rate, "random_token_rate": random_token_rate}
    rows = pretraining_dataset(data, batch_size=10**4, mask_selection_length=SLOTS, split="held_out", **rates)
    inputs, targets, weights = next(rows.as_numpy_iterator())
    logits = np.asarray(checkpoint.model.predict(inputs, verbose=0)["mlm"])
    chosen = np.take_along_axis(logits, targets["mlm"][..., None], axis=-1)[..., 0]
    losses = np.log(np.exp(logits).sum(-1)) - chosen
    is_right = logits.argmax(-1) == targets["mlm"]
    return [np.average(values, weights=weights["mlm"]) for values in (is_right, losses)]


def test_finished_rows_are_not_redone_and_others_are(data, finished, capsys):
    output, results = finished
    before = {path: path.stat().st_mtime_ns for path in output.glob("*/*") if path.is_file()}
    assert ablate.main(command(data, output)) == results
    assert {path: path.stat().st_mtime_ns for path in before} == before
    printed = capsys.readouterr().out
    assert "training.pretrain" not in printed
    assert printed == (output / "masking.md").read_text() + "\n" + (output / "sizes.md").read_text()

    (output / "1x64-0-0-100" / "ablation.json").unlink()  # As if killed before it was asked.
    again = ablate.main(command(data, output, "--table", "masking"))
    assert again == {row: pytest.approx(numbers, rel=1e-6) for row, numbers in results.items() if row.size == "1x64"}
    assert capsys.readouterr().out.count("training.pretrain") == 1


def test_the_tables(finished):
    output, results = finished
    numbers = results["1x64", (0, 0, 100)]
    lines = (output / "masking.md").read_text().split("\n")
    assert lines[0] == f"Each row: `{PRETRAIN}`."
    ours = f"{numbers['mlm_accuracy']:.1%} | {numbers['mlm_perplexity']:.2f} | {numbers['nsp_accuracy']:.1%}"
    assert f"| 0/0/100 | {ours} | {numbers['all_masked_mlm_accuracy']:.1%} | 83.6 | 94.9 | 94.6 |" in lines
    assert len(lines) == 7  # With the head, and behind the last line feed.
    lines = (output / "sizes.md").read_text().split("\n")
    assert lines[4].startswith("| 1x64 | 1/64/1 | ") and lines[5].startswith("| 2x64 | 2/64/1 | ")
    assert lines[-2] == "| paper | 24/1024/16 |  |  | 3.23 |  |  | 86.6 | 87.8 | 93.7 |"


def test_what_cannot_be_trained_is_told(data, finished, tmp_path, capfd):
    output, _ = finished
    with pytest.raises(SystemExit, match="`size` must be one of"):
        ablate.main([str(data), "--output", str(tmp_path), "--sizes", "tiny,vast"])
    # Other options than a row began with: the run of the row refuses them, and the table stops there.
    changed = command(data, output, "--table", "sizes", pretrain=PRETRAIN.replace("2", "3"))
    with pytest.raises(SystemExit, match="A row must be trained to its end. Received: .*1x64-80-10-10"):
        ablate.main(changed)
    assert "must go on with the settings it began with. Received: another steps than" in capfd.readouterr().err
