"""What the tests of the page share: the command that opens it, and what stands on it."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

from demo.app import _open_model, _parser, build_app, launch_options
from demo.fill_mask_tab import EXAMPLES as SENTENCES
from demo.sentence_pair_tab import EXAMPLES as NAMED_PAIRS

ROOT = pathlib.Path(__file__).parent.parent.parent
EXAMPLES, PAIRS = SENTENCES["en"], list(NAMED_PAIRS["en"].values())
both_widths = pytest.mark.parametrize("page", [1440, 390], indirect=True, ids=["desktop", "phone"])
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextlib.contextmanager
def serve(*arguments, command=("demo.app",)):
    """Open the page by its command, a module with its first arguments; yield where it is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    full_command = [sys.executable, "-m", *command, *arguments, "--port", str(port)]
    with subprocess.Popen(full_command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            printed = server.stdout.readline()
            assert f"http://127.0.0.1:{port}" in printed
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


@contextlib.contextmanager
def show(*arguments):
    """Open the page that the command would open in this process, which has loaded its backend; yield where it is."""
    app = build_app(_open_model(_parser().parse_args(arguments)))
    _, address, _ = app.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    try:
        yield address
    finally:
        app.close()


def open_tab(page, name):
    """Open a tab, and wait until it is. On a phone the last ones are behind a button."""
    from playwright.sync_api import expect

    page.get_by_role("tab").first.wait_for()
    page.wait_for_timeout(300)  # Gradio moves them there when it has measured them.
    tab = page.get_by_role("tab", name=name, exact=True)
    if tab.count():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
    else:
        page.get_by_role("button", name="More tabs").first.click()
        page.locator(".overflow-dropdown").get_by_role("button", name=name, exact=True).click()
    page.wait_for_timeout(300)  # The panel before goes.


def text_box(page):
    return page.locator("#fill-mask-text textarea")


def expect_bars(page, expected):
    """Wait until the bars on the page are those of (label, probability) pairs."""
    from playwright.sync_api import expect

    bars = page.locator(".kb-bars:visible")
    percentages = ["<0.1%" if 0 < probability < 0.0005 else f"{probability:.1%}" for _, probability in expected]
    expect(bars.locator(".kb-percent")).to_have_text(percentages)
    expect(bars.locator(".kb-label")).to_have_text([label for label, _ in expected])
    for row, (_, probability) in zip(bars.locator("li").all(), expected, strict=True):
        track = row.locator(".kb-track").bounding_box()
        fill = row.locator(".kb-track > span").bounding_box()
        assert fill["x"] == track["x"]
        assert fill["width"] == pytest.approx(max(2, probability * track["width"]), abs=0.1)


def candidates(masks):
    return [(candidate.word, candidate.probability) for mask in masks for candidate in mask.candidates]
