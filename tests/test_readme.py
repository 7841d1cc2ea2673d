"""What the README says, done."""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import urllib.request

import pytest
from conftest import once

import kbert

ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
KOREAN = (ROOT / "README.ko.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines()]
# As a person has it: the commands of this environment first on the path.
ENVIRONMENT = os.environ | {"PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def block_of(start):
    """The commands of the block that begins so."""
    return next(block.splitlines() for language, block in BLOCKS if language == "bash" and block.startswith(start))


def test_make_commands_are_targets():
    targets = {command.removeprefix("make ") for command in COMMANDS if command.startswith("make ")}
    assert targets == {"demo", "test"}
    for target in targets:
        planned = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert {"demo": "kbert demo", "test": "pytest"}[target] in planned


@pytest.mark.parametrize("index", [i for i, (language, _) in enumerate(BLOCKS) if language == "python"])
def test_python_blocks_print_what_stands_below_them(index):
    code, (language, expected) = BLOCKS[index][1], BLOCKS[index + 1]
    assert language == "text"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert without_numbers(finished.stdout) == without_numbers(expected)
    for ours, shown in zip(numbers(finished.stdout), numbers(expected), strict=True):
        assert ours == pytest.approx(shown, abs=2e-3)  # The last digit may differ between backends.


def without_numbers(text):
    return re.sub(r"\d[\d.,]*", "#", text)


def numbers(text):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d.,]*", text)]


@once
def test_the_road_from_a_text_file_to_answers(tmp_path):
    """The commands as written, but for the number of steps."""
    paragraphs = [line for line in README.splitlines() if len(line) > 80]
    (tmp_path / "corpus.txt").write_text("\n\n".join(f"{line}\n{line[::-1]}. The end." for line in paragraphs * 8))
    road = block_of("kbert vocab")
    assert [shlex.split(command)[:3] for command in road] == [
        ["kbert", "vocab", "corpus.txt"],
        ["python", "-m", "training.prepare"],
        ["python", "-m", "training.pretrain"],
        ["kbert", "fill-mask", "The city is the [MASK] of the country."],
    ]
    for command in road:
        printed = run(re.sub(r"--steps \d+", "--steps 2", command), tmp_path)
    answers = printed.splitlines()
    assert len(answers) == 5 and all("The city is the" in line for line in answers)


def run(command, folder):
    settings = {"cwd": folder, "env": ENVIRONMENT, "capture_output": True, "text": True}
    finished = subprocess.run(shlex.split(command), **settings, check=False)
    assert finished.returncode == 0, f"{command}\n{finished.stderr}"
    return finished.stdout


@once
def test_a_table_of_ones_own_is_learnt_and_asked(tmp_path):
    (tmp_path / "reviews").mkdir()
    rows = [("A wonderful film", "good"), ("What a waste of time", "bad")] * 4
    for name in ("train", "dev"):
        lines = ["document,label", *(f"{text} {number},{label}" for number, (text, label) in enumerate(rows))]
        (tmp_path / "reviews" / f"{name}.csv").write_text("\n".join(lines))
    finetune, ask = block_of("python -m training.finetune")
    run(finetune, tmp_path)
    assert {line.split()[-1] for line in run(ask, tmp_path).splitlines()} == {"good", "bad"}


@once
def test_a_served_model_answers_the_request(tmp_path):
    export, serve = block_of("kbert export")
    (ask,) = block_of("curl")
    run(export, tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = subprocess.Popen(
        [*shlex.split(serve), "--port", port], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert port in server.stdout.readline()
        curl = shlex.split(ask)
        body, address = curl[curl.index("-d") + 1], curl[-1].replace("8501", port)
        with urllib.request.urlopen(urllib.request.Request(address, body.encode())) as response:
            (answer,) = json.load(response)["predictions"]
    finally:
        server.terminate()
        server.wait()
    (mask,) = kbert.FillMask("kbert-small-en")(json.loads(body)["instances"][0])
    assert answer["words"][0][:5] == [candidate.word for candidate in mask.candidates]


def test_the_tree_names_what_exists():
    tree = next(block for language, block in BLOCKS if language == "text" and "kbert/config.py" in block)
    for line in tree.splitlines():
        assert (ROOT / line.split()[0]).exists(), line


def test_the_questions_are_commands_and_names():
    rows = re.findall(r"\| `kbert ([\w-]+)` \| `kbert\.(\w+)` \|", README)
    assert len(rows) == 9
    text = subprocess.run([sys.executable, "-m", "kbert.cli", "--help"], capture_output=True, text=True).stdout
    for command, name in rows:
        assert re.search(rf"^ +{command}\s", text, flags=re.MULTILINE), command
        assert name in kbert.__all__


@pytest.mark.parametrize("text", [README, KOREAN], ids=["English", "Korean"])
def test_links_and_pictures_exist(text):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_korean_readme_has_the_same_commands_and_answers():
    english = [block for block in BLOCKS if block[0] == "bash" or "FillMask" in block[1]]
    ours = re.findall(r"```(\w+)\n(.*?)```", KOREAN, flags=re.DOTALL)
    assert [block for block in ours if block[0] != "text"] == english
    python = next(block for block in english if block[0] == "python")
    assert [text for language, text in ours if language == "text"] == [BLOCKS[BLOCKS.index(python) + 1][1]]
    rows = r"\| (`kbert [\w-]+` \| `kbert\.\w+`|`pip install [^`]+`) "
    assert re.findall(rows, KOREAN) == re.findall(rows, README) != []


@once
def test_korean_options_are_the_real_ones():
    helps = {
        "kbert vocab": [sys.executable, "-m", "kbert.cli", "vocab", "--help"],
        "training.prepare": [sys.executable, "-m", "training.prepare", "--help"],
    }
    for name, options in {
        "kbert vocab": ["--keep-accents", "--language"],
        "training.prepare": ["--keep_accents", "--language"],
    }.items():
        text = subprocess.run(helps[name], capture_output=True, text=True, check=True).stdout
        assert all(option in text for option in options)
