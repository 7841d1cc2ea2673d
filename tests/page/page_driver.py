"""What the tests of the page share: the command that opens it, and what stands on it."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

from demo.fill_mask_tab import EXAMPLES as SENTENCES
from demo.sentence_pair_tab import EXAMPLES as NAMED_PAIRS

ROOT = pathlib.Path(__file__).parent.parent.parent
EXAMPLES, PAIRS = SENTENCES["en"], list(NAMED_PAIRS["en"].values())
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


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
