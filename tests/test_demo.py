"""The page, driven in a real browser on a real (tiny, untrained) checkpoint; no request may leave this machine."""

import contextlib
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import unicodedata
import urllib.parse
import urllib.request

import gradio_client
import keras
import pytest

import kbert
from demo.app import LAUNCH_OPTIONS, build_app, main
from demo.bars import bar_list, marked_excerpt
from demo.fill_mask_tab import EXAMPLES as SENTENCES
from demo.fill_mask_tab import MAX_MASKS
from demo.questions import MAX_CHARACTERS
from demo.sentence_pair_tab import EXAMPLES as NAMED_PAIRS
from kbert import BertBackbone, BertConfig, BertPretrainer, FillMask, SentencePair, learn_vocabulary, save_checkpoint
from kbert.inference.languages import preset_for
from kbert.text.tokenizer import WordPieceTokenizer

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES, PAIRS = SENTENCES["en"], list(NAMED_PAIRS["en"].values())
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def fill_mask(checkpoint):
    return FillMask(checkpoint)


@pytest.fixture(scope="module")
def sentence_pair(checkpoint):
    return SentencePair(checkpoint)


@contextlib.contextmanager
def serve(*arguments):
    """Open the page by its command; yield where it is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "demo.app", *arguments, "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            printed = server.stdout.readline()
            assert f"http://127.0.0.1:{port}" in printed
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def address(checkpoint):
    with serve("--model", checkpoint) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is driven through playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on this machine")
    playwright.expect.set_options(timeout=20_000)  # The first answer compiles the model.
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])


@pytest.fixture(params=[1440, 390])
def page(request, browser, address):
    """The page on a desktop and on a phone. Afterwards: it asked this machine only, logged no error, and fits."""
    page = browser.new_page(viewport={"width": request.param, "height": 844})
    hosts, errors = set(), []
    page.on("request", lambda sent: hosts.add(urllib.parse.urlsplit(sent.url).hostname))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.get_by_role("button", name="Fill", exact=True).wait_for()
    yield page
    right_edges = page.locator("button, textarea, .kb-card").evaluate_all(
        "parts => parts.map(part => part.getBoundingClientRect().right)"
    )
    page.close()
    assert hosts - {None} == {"127.0.0.1"}  # None: data and blob addresses, which are in the page itself.
    assert not errors  # One would be what the content security policy had to stop.
    assert max(right_edges) <= request.param


def text_box(page):
    return page.get_by_label("Text with [MASK]")


def expect_bars(page, expected):
    """Wait until the bars on the page are those of (label, probability) pairs."""
    from playwright.sync_api import expect

    bars = page.locator(".kb-bars:visible")
    expect(bars.locator(".kb-percent")).to_have_text([f"{probability:.1%}" for _, probability in expected])
    expect(bars.locator(".kb-label")).to_have_text([label for label, _ in expected])
    for row, (_, probability) in zip(bars.locator("li").all(), expected, strict=True):
        track = row.locator(".kb-track").bounding_box()
        fill = row.locator(".kb-track > span").bounding_box()
        assert fill["x"] == track["x"]
        assert fill["width"] == pytest.approx(max(2, probability * track["width"]), abs=0.1)


def candidates(masks):
    return [(candidate.word, candidate.probability) for mask in masks for candidate in mask.candidates]


def test_typed_text_is_filled_on_enter(page, fill_mask):
    text = "The museum opened in [MASK]."
    text_box(page).fill(text)
    text_box(page).press("Enter")
    expect_bars(page, candidates(fill_mask(text, 5)))


def test_example_with_two_masks_gets_two_lists_of_the_asked_length(page, fill_mask):
    page.get_by_label("number input for Words").fill("3")
    page.get_by_role("button", name=EXAMPLES[2]).click()
    expect_bars(page, candidates(fill_mask(EXAMPLES[2], 3)))
    assert page.locator(".kb-excerpt mark").count() == page.locator(".kb-bars:visible").count() == 2


def test_a_text_longer_than_the_model_is_filled_at_each_of_its_masks(page, fill_mask):
    from playwright.sync_api import expect

    text = "[MASK] " + "The river flows into the city. " * 30 + "He studied [MASK]."
    text_box(page).fill(text)
    text_box(page).press("Enter")
    masks = fill_mask(text, 5)
    expect_bars(page, candidates(masks))
    notes = [f"it read the {mask.window[1] - mask.window[0]} characters round" for mask in masks]
    expect(page.locator(".kb-card .kb-note")).to_contain_text(notes)
    text_box(page).fill(" The river. [MASK] ")
    text_box(page).press("Enter")
    expect(page.locator(".kb-card .kb-note")).to_have_count(0)


def test_insert_mask_replaces_the_selected_word(page):
    from playwright.sync_api import expect

    text_box(page).fill("The river flows.")
    text_box(page).evaluate("box => box.setSelectionRange(4, 9)")
    page.get_by_role("button", name="Insert [MASK]").click()
    expect(text_box(page)).to_have_value("The [MASK] flows.")


def test_refusals_are_sentences_on_the_page(page):
    from playwright.sync_api import expect

    for text, sentence in {
        "No word is missing": "A text must hold at least one [MASK].",
        " ": "A text must have at least one word.",
        "[MASK] " * (MAX_MASKS + 1): "A text must have at most 20 masks. Received: 21 masks.",
        "long " * MAX_CHARACTERS: "A text must have at most 10,000 characters.",
    }.items():
        text_box(page).fill(text)
        page.get_by_role("button", name="Fill", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text(sentence)
    assert "Traceback" not in page.content()


def test_typed_html_stays_text(page):
    from playwright.sync_api import expect

    text = "<img src='//192.0.2.1/x' onerror='x()'> ${1+1} {{v}} [MASK] <b>!"
    text_box(page).fill(text)
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.locator(".kb-excerpt")).to_have_text(text)
    text_box(page).fill(text.replace("[MASK]", ""))
    page.get_by_role("button", name="Fill", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("onerror='x()'> ${1+1} {{v}}  <b>!")


def test_a_question_asked_while_another_is_answered_is_answered_too(browser, checkpoint, fill_mask, sentence_pair):
    def slow_fill_mask(text, top_k):
        time.sleep(1)
        return fill_mask(text, top_k)

    app = build_app(slow_fill_mask, sentence_pair, {"tiny": WordPieceTokenizer.from_folder(checkpoint)})
    _, address, _ = app.launch(prevent_thread_lock=True, quiet=True, **LAUNCH_OPTIONS)
    page = browser.new_page()
    page.goto(address)
    for text in EXAMPLES[:2]:
        text_box(page).fill(text)
        text_box(page).press("Enter")
    expect_bars(page, candidates(fill_mask(EXAMPLES[1], 5)))
    for text in EXAMPLES[2:]:
        page.get_by_role("button", name=text).click()
    expect_bars(page, candidates(fill_mask(EXAMPLES[3], 5)))
    page.close()
    app.close()


def test_pair_is_judged_swapped_and_refused(page, sentence_pair):
    from playwright.sync_api import expect

    def expect_verdict(first, second):
        verdict = sentence_pair(first, second)
        expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])

    page.get_by_role("tab", name="Sentence pair").click()
    page.get_by_label("First sentence").fill("He studied law.")
    page.get_by_label("Second sentence").fill("The river flows into the city.")
    page.get_by_role("button", name="Compare").click()
    expect_verdict("He studied law.", "The river flows into the city.")
    page.get_by_role("button", name="Swap").click()
    expect_verdict("The river flows into the city.", "He studied law.")
    page.get_by_role("button", name="A contradiction").click()
    expect_verdict(*PAIRS[3])
    page.get_by_label("Second sentence").fill("")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("A text must have at least one word.")


def test_pieces_of_a_text_in_two_vocabularies(page, checkpoint):
    from playwright.sync_api import expect

    page.get_by_role("tab", name="Tokens").click()
    text = "Zoë's <b> café [MASK] unknowable 학교에"
    page.get_by_label("Text to split").fill(text)
    cards = page.locator(".kb-card:visible")
    normal = "zoe ' s < b > cafe [MASK] unknowable " + unicodedata.normalize("NFD", "학교에")
    for card, name in zip((cards.nth(0), cards.nth(1)), (pathlib.Path(checkpoint).name, "kbert-small-en"), strict=True):
        tokenizer = kbert.load(checkpoint if name in checkpoint else name).tokenizer
        packed = tokenizer.pack(text)
        expected = [tokenizer.id_to_token(token_id) for token_id in packed.token_ids[1:-1]]
        expect(card.locator("strong")).to_have_text(name)
        expect(card.locator("li b")).to_have_text(expected)
        places = [f"{start}–{end}" for start, end in packed.offsets[1:-1]]
        expect(card.locator("li span:last-child")).to_have_text(places)
        unknown = expected.count("[UNK]")
        counts = f"{len(expected)} pieces of {tokenizer.vocabulary_size:,}" + f", {unknown} unknown" * (unknown > 0)
        expect(card.locator(".kb-pieces-head .kb-note")).to_have_text(counts)
        expect(card.locator("p")).to_have_text(f"normalised: {normal}")
    page.get_by_label("Text to split").fill("  ")
    expect(cards).to_have_text(["The pieces appear here."])


def test_without_a_model_the_page_answers_english_and_korean(browser):
    with serve() as address:
        page = browser.new_page(viewport={"width": 1440, "height": 844})
        page.goto(address)
        for text in (SENTENCES["en"][3], SENTENCES["ko"][0]):
            page.get_by_role("button", name=text).click()
            expect_bars(page, candidates(FillMask(preset_for(text))(text)))
        typed = "나는 [MASK]을 먹었다."
        text_box(page).fill("")
        text_box(page).press_sequentially(typed)
        page.get_by_role("button", name="Fill", exact=True).click()
        expect_bars(page, candidates(FillMask("kbert-small-ko")(typed)))
        page.get_by_role("tab", name="Sentence pair").click()
        page.get_by_role("button", name="태풍과 소설").click()
        verdict = SentencePair("kbert-small-ko")(*NAMED_PAIRS["ko"]["태풍과 소설"])
        expect_bars(page, [("follows", verdict.follows), ("random", verdict.random)])
        page.close()


def test_source_names_no_other_host_and_browsers_are_told_to_ask_none(address):
    with urllib.request.urlopen(address) as response:
        source = response.read().decode()
    assert {urllib.parse.urlsplit(url).hostname for url in re.findall(r"https?://[^\s\"'\\]+", source)} == {"127.0.0.1"}
    assert response.headers["content-security-policy"].startswith("default-src 'self' ")


def test_endpoints_answer_programs_with_data(address, fill_mask, sentence_pair):
    client = gradio_client.Client(address, verbose=False, analytics_enabled=False)
    (mask,) = client.predict(EXAMPLES[0], 2, api_name="/fill_mask")
    assert EXAMPLES[0][mask["start"] : mask["end"]] == "[MASK]"
    assert [(answer["word"], pytest.approx(answer["probability"])) for answer in mask["candidates"]] == candidates(
        fill_mask(EXAMPLES[0], 2)
    )
    verdict = client.predict(*PAIRS[0], api_name="/sentence_pair")
    assert verdict == {
        "follows": pytest.approx(sentence_pair(*PAIRS[0]).follows),
        "random": pytest.approx(sentence_pair(*PAIRS[0]).random),
    }
    pieces = client.predict("Café 학교", "kbert-small-ko", api_name="/tokenize")
    tokenizer = kbert.load("kbert-small-ko").tokenizer
    assert [piece["id"] for piece in pieces] == tokenizer.encode("Café 학교")
    assert "".join("Café 학교"[piece["start"] : piece["end"]] for piece in pieces) == "Café학교"
    with pytest.raises(gradio_client.exceptions.AppError, match="must be one of .*, kbert-small-en, kbert-small-ko"):
        client.predict("a", "other", api_name="/tokenize")
    for name, texts in {"/fill_mask": (["a", "list"], 2), "/sentence_pair": ("", "b")}.items():
        with pytest.raises(gradio_client.exceptions.AppError, match="A text must"):
            client.predict(*texts, api_name=name)


def test_command_says_when_the_port_is_taken(address, checkpoint):
    port = urllib.parse.urlsplit(address).port
    with pytest.raises(SystemExit, match=f"127.0.0.1:{port}.* --port {port + 1}"):
        main(["--model", checkpoint, "--port", str(port)])


def test_command_says_when_there_is_no_model(tmp_path):
    with pytest.raises(SystemExit, match="no model to show.*Received: .*nowhere"):
        main(["--model", str(tmp_path / "nowhere")])


def test_bars_escape_words_and_round_honestly():
    shown = bar_list([("<b>&", 0.5), ("rare", 0.0004), ("never", 0.0)])
    assert "&lt;b&gt;&amp;" in shown and "<b>" not in shown
    assert re.findall(r'percent">(.*?)<', shown) == ["50.0%", "&lt;0.1%", "0.0%"]


def test_long_texts_are_shown_in_excerpt():
    shown = marked_excerpt("a" * 70 + "[MASK]" + "b" * 61, 70, 76)
    assert re.sub("<.*?>", "", shown) == "… " + "a" * 60 + "[MASK]" + "b" * 60 + " …"
