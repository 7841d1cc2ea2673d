"""Short rows, then long ones, in one run: --long_data of training/pretrain.py."""

import functools
import json
import re
import shutil

import keras
import numpy as np
import pytest
from conftest import once_on_torch
from test_pretrain_recipe import assert_same_weights, weights_of
from test_training import command, flags, history, make_data

from demo.training_run import read_run
from kbert.config import BertConfig
from kbert.data.pipelines import pretraining_dataset
from kbert.models import BertBackbone, BertPretrainer
from kbert.optimization import BertAdamW, WarmupLinearDecay
from kbert.text.tokenizer import WordPieceTokenizer
from training import prepare, pretrain
from training.phases import check_data, epoch_ends, legs, phase_at, phases_of, rows_between
from training.state import SaveState, saved_states

SLOTS = {"mask_selection_length": 5, "long_mask_selection_length": 9}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"), num_documents=60, block_characters=3000)


@pytest.fixture(scope="module")
def long_data(data):
    """The same text in rows of 61 tokens where the others have 29."""
    output = data.parent / "long"
    arguments = [data.parent / "corpus.txt", "--vocabulary", data, "--output", output]
    sizes = {"max_sequence_length": 61, "held_out_rate": 0.15, "block_characters": 3000, "workers": 1}
    prepare.main([*map(str, arguments), *flags(sizes)])
    return output


def settings_of(**changes):
    names = {"data": ("short",), "long_data": ("long",), "steps": 50, "save_every": 20, "batch_size": 6}
    return pretrain.Settings(**(names | changes))


def test_the_papers_phases():
    first, second = phases_of(settings_of(steps=1_000_000, batch_size=256))
    assert first == (("short",), 256, 20, 0, 900_000)
    assert second == (("long",), 256, 77, 900_000, 1_000_000)
    assert phases_of(settings_of(long_data=None)) == [(("short",), 6, 20, 0, 50)]
    assert phases_of(settings_of(long_batch_size=2))[1].batch_size == 2


def test_legs_by_hand():
    one = functools.partial(settings_of, long_data=None)
    (phase,) = phases_of(one())
    assert epoch_ends(one()) == [20, 40, 50]
    assert legs(one(), 0) == [(phase, 0, 2, 0, 40, 20), (phase, 2, 3, 40, 50, 10)]
    assert legs(one(), 20) == [(phase, 1, 2, 20, 40, 20), (phase, 2, 3, 40, 50, 10)]
    assert legs(one(), 40) == [(phase, 2, 3, 40, 50, 10)]
    assert [leg[1:] for leg in legs(one(steps=60), 0)] == [(0, 3, 0, 60, 20)]
    assert [leg[1:] for leg in legs(one(steps=7), 0)] == [(0, 1, 0, 7, 7)]
    assert legs(one(), 50) == legs(one(steps=60), 60) == []

    two = settings_of(long_share=0.5)
    first, second = phases_of(two)
    assert epoch_ends(two) == [20, 25, 45, 50]
    assert legs(two, 0) == [
        (first, 0, 1, 0, 20, 20),
        (first, 1, 2, 20, 25, 5),
        (second, 2, 3, 25, 45, 20),
        (second, 3, 4, 45, 50, 5),
    ]
    assert legs(two, 25) == legs(two, 0)[2:]
    # Equally long epochs on both sides of the switch are still two calls: the rows differ.
    assert [leg[1:] for leg in legs(settings_of(steps=40, long_share=0.5), 0)] == [
        (0, 1, 0, 20, 20),
        (1, 2, 20, 40, 20),
    ]
    assert [phase_at(two, step) for step in (0, 24, 25, 50)] == [first, first, second, second]
    assert rows_between(settings_of(long_share=0.5, long_batch_size=2, accumulate=3), 20, 30) == 3 * (5 * 6 + 5 * 2)


@pytest.fixture(scope="module")
def arguments(data, long_data):
    """A run of 4 updates on short rows and 3 on long ones, without --output."""
    changes = {"steps": 7, "save_every": 2, "long_share": 3 / 7, "long_batch_size": 4, "learning_rate": 1e-2} | SLOTS
    return [*command(data, "unused", **changes), "--long_data", str(long_data), "--no_dropout"]


@pytest.fixture(scope="module")
def finished(arguments, tmp_path_factory):
    """That run, with each of its states kept."""
    output = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrain, "SaveState", functools.partial(SaveState, keep=9))
        pretrain.main([*arguments, "--output", str(output)])
    return output


def test_one_optimizer_goes_through_both_phases(finished, data, long_data):
    """Against the loop that a person would write."""
    keras.utils.set_random_seed(5)
    vocabulary_size = WordPieceTokenizer.from_folder(data).vocabulary_size
    config = BertConfig.named("1x64", vocabulary_size=vocabulary_size, dropout=0.0, attention_dropout=0.0)
    model = BertPretrainer(BertBackbone(config))
    model.compile(BertAdamW(WarmupLinearDecay(1e-2, total_steps=7)))
    short = pretraining_dataset(data, batch_size=6, mask_selection_length=5, seed=5).take(4)
    long = pretraining_dataset(long_data, batch_size=4, mask_selection_length=9, seed=5).take(3)
    for inputs, targets, weights in [*short.as_numpy_iterator(), *long.as_numpy_iterator()]:
        model.train_on_batch(inputs, targets, sample_weight=weights)
    found = weights_of(finished)
    for name, variable in (
        ("bert.embeddings.position_embeddings.weight", model.backbone.embeddings.position_embedding.embeddings),
        ("bert.embeddings.word_embeddings.weight", model.backbone.embeddings.token_embedding.embeddings),
        ("cls.predictions.bias", model.mlm_head.bias),
    ):
        np.testing.assert_allclose(found[name], keras.ops.convert_to_numpy(variable), rtol=0, atol=1e-5, err_msg=name)
    assert [row["epoch"] for row in history(finished)] == [0, 1, 2, 3]


@once_on_torch
@pytest.mark.parametrize("last", [2, 4, 6])  # In the first phase, at the switch, in the second phase.
def test_a_killed_run_goes_on_in_its_phase(finished, arguments, tmp_path, last, capsys):
    output = tmp_path / "run"
    shutil.copytree(finished, output)
    (output / "result.json").unlink()
    for step, path in saved_states(output / "state"):
        if step > last:
            path.unlink()
    pretrain.main([*arguments, "--output", str(output)])
    assert_same_weights(output, finished)
    printed = capsys.readouterr().out
    steps = re.findall(r"step (\d)/7", printed)
    assert steps == [str(step) for step in (2, 4, 6, 7) if step > last]
    assert ("left to the long rows" in printed) == (last < 2)
    assert [row["epoch"] for row in history(output)] == [0, 1, 2, 3]
    saves = json.loads((output / "run.json").read_text())["saves"]
    assert saves == [[2, 12], [4, 24], [6, 32], [7, 36]]  # 6 rows an update, then 4.
    assert read_run(output).steps == [2, 4, 6, 7]


@once_on_torch
def test_what_does_not_fit_is_refused_before_the_run(data, long_data, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(long_data, other)
    tokens = (other / "vocab.txt").read_text().splitlines()
    (other / "vocab.txt").write_text("\n".join([*tokens[:-2], tokens[-1], tokens[-2]]) + "\n")
    output = tmp_path / "run"
    run = command(data, output, steps=None)
    run = [text for text in run if text not in ("--steps", "None")]
    for changes, message in (
        (["--steps", "4", "--long_data", str(long_data)], "--long_share must leave both phases an update. Rec.* of 4 "),
        (["--epochs", "4", "--long_data", str(long_data)], "two phases must have its budget in --steps or --minutes"),
        (["--steps", "40", "--long_data", str(tmp_path)], "must hold dataset.json"),
        (
            ["--steps", "40", "--long_data", str(other)],
            "must be prepared with its vocabulary. Received: .*other of 46 ",
        ),
    ):
        with pytest.raises(SystemExit, match=message):
            pretrain.main([*run, *changes])
    assert not output.exists()


def test_rows_of_a_tokenizer_with_other_settings_are_refused(data, long_data, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(long_data, other)
    settings = settings_of(data=(str(data),), long_data=(str(other),))
    tokenizer, config = WordPieceTokenizer.from_folder(data), BertConfig.named("tiny", max_sequence_length=61)
    WordPieceTokenizer(tokenizer.vocabulary, strip_accents=True).save(other)  # What None means in lower case.
    check_data(settings, tokenizer, config)
    WordPieceTokenizer(tokenizer.vocabulary, strip_accents=False).save(other)
    with pytest.raises(ValueError, match="its tokenizer. Received: .*'strip_accents': False.* in .*other, .*True"):
        check_data(settings, tokenizer, config)


def test_rows_longer_than_the_model_are_refused(data, long_data):
    tokenizer = WordPieceTokenizer.from_folder(data)
    settings = settings_of(data=(str(data),), long_data=(str(long_data),))
    check_data(settings, tokenizer, BertConfig.named("tiny", max_sequence_length=61))
    with pytest.raises(
        ValueError, match="Rows must not be longer than the model. Received: .*long with rows of 61 .* 60"
    ):
        check_data(settings, tokenizer, BertConfig.named("tiny", max_sequence_length=60))
