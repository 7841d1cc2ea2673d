"""The page for programs and at the command line, and the HTML of answers."""

import concurrent.futures
import json
import re
import urllib.parse
import urllib.request

import gradio_client
import numpy as np
import pytest

import kbert
from demo.app import _tabs, build_app, main
from demo.bars import bar_list, marked_excerpt
from demo.page_model import open_page_model
from kbert import InspectText, PlayMasking, load, save_checkpoint
from page.page_driver import EXAMPLES, PAIRS, candidates
from training import benchmark_page


def test_source_names_no_other_host_and_browsers_are_told_to_ask_none(address):
    with urllib.request.urlopen(address) as response:
        source = response.read().decode()
    assert {urllib.parse.urlsplit(url).hostname for url in re.findall(r"https?://[^\s\"'\\]+", source)} == {"127.0.0.1"}
    assert response.headers["content-security-policy"].startswith("default-src 'self' ")


def test_endpoints_answer_programs_with_data(address, checkpoint, fill_mask, sentence_pair):
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
    shares = client.predict("He studied law.", "", 2, 3, api_name="/attention")
    found = InspectText(checkpoint)("He studied law.")
    assert shares["tokens"] == found.tokens
    np.testing.assert_allclose(shares["attention"], found.attention_maps[1, 2], atol=1e-5)
    joints = client.predict("He studied law. The river flows.", api_name="/joints")
    assert joints["sentences"] == ["He studied law.", "The river flows."]
    assert joints["follows"] == [pytest.approx(sentence_pair("He studied law.", "The river flows.").follows)]
    assert client.predict(api_name="/about")["models"][0]["sizes"]["layers"] == 2
    played = client.predict("He studied law.", 3, api_name="/masking_game")
    expected = PlayMasking(checkpoint)("He studied law.", 3, 4)
    assert played["tokens"] == list(expected.tokens) and played["loss"] == pytest.approx(expected.loss)
    with pytest.raises(gradio_client.exceptions.AppError, match="`head` between 1 and 3. Received: layer=1, head=4"):
        client.predict("He studied law.", "", 1, 4, api_name="/attention")
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


def test_the_benchmark_finds_every_answer_right(address, capsys):
    options = ["--questions", "3", "--people", "3", "--each", "2", "--loads", "1"]
    with concurrent.futures.ThreadPoolExecutor() as pool:  # Playwright has one driver a thread.
        found = pool.submit(benchmark_page.main, [address, *options]).result()
    assert (found["together"]["answers"], found["together"]["wrong"]) == (6, 0)
    for name in ("alone", "together", "load"):
        assert 0 < found[name]["median_ms"] <= found[name]["p95_ms"]
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == found
    with pytest.raises(SystemExit, match="A page must answer at the address. Received: http://127.0.0.1:9/"):
        benchmark_page.main(["http://127.0.0.1:9/"])
    answers = [[{"candidates": [{"word": word, "probability": share}]}] for word, share in (("a", 0.5), ("b", 0.5))]
    assert benchmark_page._is_same(answers[0], answers[0]) and not benchmark_page._is_same(*answers)


@pytest.mark.parametrize(
    ("missing", "tabs"),
    [
        (("nsp",), ["fill_mask", "inside", "tokens", "about"]),
        (("pooler", "nsp"), ["fill_mask", "inside", "tokens", "about"]),
        (("mlm",), ["pair", "tokens", "about"]),
    ],
)
def test_a_checkpoint_is_asked_what_its_heads_answer(checkpoint, tmp_path, missing, tabs):
    whole = load(checkpoint)
    save_checkpoint(whole.model, whole.tokenizer, tmp_path, missing_parts=missing)
    model = open_page_model(tmp_path)
    assert [name for name, _ in _tabs(model)] == tabs
    build_app(model)


def test_a_checkpoint_without_heads_is_refused(checkpoint, tmp_path):
    whole = load(checkpoint)
    save_checkpoint(whole.model, whole.tokenizer, tmp_path, missing_parts=("mlm", "nsp"))
    with pytest.raises(SystemExit, match="no model to show.*trained weights for mlm"):
        main(["--model", str(tmp_path)])
