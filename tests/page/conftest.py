"""The page, opened by its command on a real (tiny, untrained) checkpoint, and the browser that drives it.

No request of the page may leave this machine.
"""

import os
import pathlib
import urllib.parse

import keras
import numpy as np
import pytest
import tiny_model
from conftest import once, randomise

from kbert import (
    BertBackbone,
    BertClassifier,
    BertConfig,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanFinder,
    BertTagger,
    FillMask,
    SentencePair,
    learn_vocabulary,
    save_checkpoint,
)
from kbert.text.tokenizer import WordPieceTokenizer
from page.page_driver import CHROMIUM, EXAMPLES, PAIRS, serve
from page.watched_run import write_run

FOLDER = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Open the page on one backend: what it shows is asked of `kbert.inference`, which is tested on all.

    But for questions asked at the same time: each backend has its own way with threads.
    """
    for item in items:
        if item.path.parent == FOLDER and "asked_while_another_is_answered" not in item.name:
            item.add_marker(once)


@pytest.fixture(scope="package")
def checkpoint(tmp_path_factory):
    """A folder with an untrained model, its weights large so that its probabilities differ."""
    keras.utils.set_random_seed(11)
    tokens = learn_vocabulary([*EXAMPLES, *sum(PAIRS, [])], 150, min_frequency=1)
    config = BertConfig(
        vocabulary_size=len(tokens),
        num_layers=2,
        num_heads=3,
        hidden_dim=12,
        intermediate_dim=20,
        max_sequence_length=90,
        initializer_stddev=0.5,
    )
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(BertPretrainer(BertBackbone(config)), WordPieceTokenizer(tokens), folder)
    return str(folder)


@pytest.fixture(scope="package")
def fill_mask(checkpoint):
    return FillMask(checkpoint)


@pytest.fixture(scope="package")
def sentence_pair(checkpoint):
    return SentencePair(checkpoint)


@pytest.fixture(scope="package")
def tasks(tmp_path_factory):
    """A folder for each kind of fine-tuned model, by name; untrained, all weights random."""
    makers = {
        "mood": lambda encoder: BertClassifier(encoder, 2, "one_class", ("bad", "good")),
        "stars": lambda encoder: BertClassifier(encoder, 1, "regression", ("stars",)),
        "names": lambda encoder: BertTagger(encoder, 3, ("O", "B-PER", "B-LOC")),
        "squad": BertSpanFinder,
        "swag": BertMultipleChoice,
    }
    folder = tmp_path_factory.mktemp("tasks")
    for name, make in makers.items():
        model = make(BertBackbone(tiny_model.CONFIG.replace(num_layers=1)))
        randomise(model, np.random.default_rng(8), 0.7)
        save_checkpoint(model, tiny_model.make_tokenizer(), folder / name)
    return {name: str(folder / name) for name in makers}


@pytest.fixture(scope="package")
def training_run(tmp_path_factory):
    """The folder of a run with two lines."""
    folder = tmp_path_factory.mktemp("run")
    write_run(folder, 2)
    return folder


@pytest.fixture(scope="package")
def address(checkpoint, tasks, training_run):
    """The page with all its tabs, as the command `kbert` opens it."""
    options = ("--model", checkpoint, "--task", *tasks.values(), "--run", str(training_run))
    with serve(*options, command=("kbert.cli", "demo")) as address:
        yield address


@pytest.fixture(scope="package")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is driven through playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on this machine")
    playwright.expect.set_options(timeout=60_000)  # The first answer compiles the model, on a busy machine slowly.
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])


@pytest.fixture
def page(request, browser, address):
    """The page on a desktop; with `both_widths` on a phone, too.

    Afterwards: it asked this machine only, logged no error, and fits.
    """
    width = getattr(request, "param", 1440)
    page = browser.new_page(viewport={"width": width, "height": 844})
    hosts, errors = set(), []
    page.on("request", lambda sent: hosts.add(urllib.parse.urlsplit(sent.url).hostname))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.get_by_role("button", name="Fill", exact=True).wait_for()
    yield page
    if folder := os.environ.get("KBERT_SCREENSHOTS"):  # Set in continuous integration, which keeps them.
        page.screenshot(path=pathlib.Path(folder, f"{request.node.name}.png"), full_page=True)
    right_edges = page.locator("button:not(.visually-hidden *), textarea, .kb-card").evaluate_all(
        "parts => parts.map(part => part.getBoundingClientRect().right)"
    )
    page.close()
    assert hosts - {None} == {"127.0.0.1"}  # None: data and blob addresses, which are in the page itself.
    assert not errors  # One would be what the content security policy had to stop.
    assert max(right_edges) <= width
