"""training/ablate.py --table tasks: four models, real runs of tiny size, each row from its own commands."""

import json
import shutil

import keras
import pytest
from test_training import SLOTS, WORDS, flags, make_data

from kbert.convert import load
from training import ablate, ablation_table, prepare

pytestmark = pytest.mark.skipif(keras.backend.backend() != "torch", reason="one backend is enough")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Shards with and without pairs, and a task in the layout of SST-2: is the first word of the first topic?"""
    folder = tmp_path_factory.mktemp("ablated")
    paired = make_data(folder, num_documents=40, block_characters=3000)
    command = [folder / "corpus.txt", "--vocabulary", folder / "words.txt", "--output", folder / "unpaired"]
    sizes = {"max_sequence_length": 29, "held_out_rate": 0.15, "nsp": "none", "workers": 1}
    prepare.main([*map(str, command), *flags(sizes)])
    (folder / "SST-2").mkdir()
    lines = [f"{word} {WORDS[-1]}\t{int(word in WORDS[:4])}\n" for word in WORDS[:8]]
    for stem in ("train", "dev"):
        (folder / "SST-2" / f"{stem}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    return folder, str(paired), str(folder / "unpaired")


def command(folders, *more):
    folder, paired, unpaired = folders
    sizes = ["--size", "1x64", "--mask_selection_length", str(SLOTS), "--output", str(folder / "out")]
    pretrain = ["--pretrain", "--steps 2 --batch_size 6 --held_out_batches 0", "--finetune", "--epochs 1"]
    return [paired, "--table", "tasks", "--unpaired", unpaired, *sizes, *pretrain, *more]


def test_each_row_is_pretrained_and_fine_tuned_as_its_name_says(folders, capsys):
    folder, paired, unpaired = folders
    asked = command(folders, "--tasks", f"sst2:{folder}")
    results = ablate.main(asked)
    assert list(results) == list(ablation_table.TASKS)
    out = folder / "out"
    for name, (data, is_causal) in {
        "bert": (paired, False),
        "no-nsp": (unpaired, False),
        "ltr-no-nsp": (unpaired, True),
    }.items():
        settings = json.loads((out / f"tasks-{name}" / "run.json").read_text())["settings"]
        assert (settings["data"], settings["left_to_right"]) == ([data], is_causal)
        assert load(out / f"tasks-{name}-sst2").config.is_causal is is_causal
    assert not (out / "tasks-bilstm").exists() and not (out / "tasks-bilstm-sst2" / "config.json").exists()
    for name, slug in zip(results, ("bert", "no-nsp", "ltr-no-nsp", "bilstm"), strict=True):
        run = json.loads((out / f"tasks-{slug}-sst2" / "result.json").read_text())
        assert run["settings"]["bilstm"] is (slug == "bilstm")
        assert results[name] == {"sst2": run["best"]["dev"]["dev accuracy"]["mean"]}
    lines = (out / "tasks.md").read_text().splitlines()
    assert lines[2:5:2] == ["|  | sst2, accuracy | paper |", f"| BERT | {results['BERT']['sst2']:.1f} | 92.7 |"]
    assert lines[-1] == f"| + BiLSTM | {results['+ BiLSTM']['sst2']:.1f} | 91.6 |"

    capsys.readouterr()
    assert ablate.main(asked) == results  # Nothing is fine-tuned again.
    assert "training.finetune" not in capsys.readouterr().out
    shutil.copy(out / "tasks-no-nsp" / "model.safetensors", out / "tasks-bert")
    ablate.main(asked)  # The encoder is another, so its score is found anew, and no other.
    assert capsys.readouterr().out.count("training.finetune") == 1


def test_sizes_are_fine_tuned_too(folders):
    folder, paired, _ = folders
    out = folder / "sizes"
    asked = command(folders, "--tasks", f"sst2:{folder}", "--table", "sizes", "--sizes", "1x64", "--output", str(out))
    ((_, numbers),) = ablate.main(asked).items()
    run = json.loads((out / "tasks-size-1x64-sst2" / "result.json").read_text())
    assert numbers["tasks"] == {"sst2": run["best"]["dev"]["dev accuracy"]["mean"]}
    line = (out / "sizes.md").read_text().splitlines()[4]
    assert line.startswith("| 1x64 | ") and line.endswith(f"|  |  | {numbers['tasks']['sst2']:.1f} |")
    with pytest.raises(SystemExit, match="tables of sizes and of tasks. Received: --table masking"):
        ablate.main(command(folders, "--tasks", f"sst2:{folder}", "--table", "masking"))


@pytest.mark.parametrize("tasks", [[], ["--tasks", "cola:x"], ["--tasks", "mrpc"]])
def test_no_task_is_told(folders, tasks):
    with pytest.raises(SystemExit, match="--tasks must be TASK:FOLDER, the task one of mnli, .* Received: "):
        ablate.main(command(folders, *tasks))
