"""Measure a page that runs: the time to an answer, twenty people at once, and the time to load.

    kbert demo &
    python -m training.benchmark_page http://127.0.0.1:7860/

People are clients of the page's endpoint `fill_mask`, which answers out of the same queue as the page's buttons. Their
texts differ, so that an answer that went to the wrong person is found: each answer must be the one that the same text
got when it was asked alone. The time to load is from the request to the page's first button, in a new Chromium each
time; it is left out where playwright or Chromium is missing. The last line is one JSON object.
"""

import concurrent.futures
import dataclasses
import datetime
import json
import os
import shutil
import time

import gradio_client
import numpy as np

from training.arguments import one_line_errors, parse, setting

SUBJECTS = ("river", "museum", "teacher", "city", "book", "train", "garden", "letter", "king", "school")
PLACES = ("the north", "the village", "a forest", "the old town", "Vienna")
TEXTS = tuple(f"The {subject} of {place} is very [MASK]." for subject in SUBJECTS for place in PLACES)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    address: str = setting(text="of the page, such as http://127.0.0.1:7860/")
    questions: int = setting(200, "asked one after the other")
    people: int = setting(20, "at once")
    each: int = setting(10, "questions of each of them")
    loads: int = setting(5, "of the page in a browser")


def main(argv=None):
    """Measure, print what was found, and return it."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        client = _open(settings.address)
        alone = {text: _ask(client, text)[0] for text in TEXTS}  # Warms the server up, too.
        milliseconds = [_ask(client, TEXTS[number % len(TEXTS)])[1] for number in range(settings.questions)]
        found = {"alone": _spread(milliseconds), "together": _ask_together(settings, alone)}
    load = _loads(settings.address, settings.loads)
    if load:
        found["load"] = _spread(load)
    for name, numbers in found.items():
        print(f"{name:<10}" + "  ".join(f"{key} {value:,.0f}" for key, value in numbers.items()))
    found |= {"date": datetime.date.today().isoformat(), "settings": dataclasses.asdict(settings)}
    found |= {"cores": os.cpu_count(), "load_average": os.getloadavg()[0]}
    print(json.dumps(found))
    return found


def _open(address):
    try:
        return gradio_client.Client(address, verbose=False, analytics_enabled=False)
    except Exception as error:  # Whatever the client's own libraries raise.
        raise ValueError(
            f"A page must answer at the address. Received: {address}: {error}. Start kbert demo."
        ) from error


def _ask(client, text):
    """Return the answer of the page, and the milliseconds it took."""
    started = time.perf_counter()
    answer = client.predict(text, 5, api_name="/fill_mask")
    return answer, 1000 * (time.perf_counter() - started)


def _ask_together(settings, alone):
    """Return the spread of the milliseconds of many people who ask at once, and how many answers were wrong."""
    clients = [_open(settings.address) for _ in range(settings.people)]

    def ask_all(number):
        texts = [TEXTS[(number * settings.each + turn) % len(TEXTS)] for turn in range(settings.each)]
        return [(text, *_ask(clients[number], text)) for text in texts]

    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(settings.people) as pool:
        answers = [answer for person in pool.map(ask_all, range(settings.people)) for answer in person]
    seconds = time.perf_counter() - started
    wrong = sum(not _is_same(answer, alone[text]) for text, answer, _ in answers)
    numbers = _spread([milliseconds for *_, milliseconds in answers])
    return numbers | {"answers": len(answers), "wrong": wrong, "a_second": len(answers) / seconds}


def _is_same(answer, other):
    """Return whether two answers name the same words with the same probabilities, but for rounding."""
    one, two = ([(found["word"], found["probability"]) for found in mask[0]["candidates"]] for mask in (answer, other))
    return [word for word, _ in one] == [word for word, _ in two] and np.allclose(
        [share for _, share in one], [share for _, share in two], rtol=1e-3
    )


def _spread(milliseconds):
    return {"median_ms": float(np.median(milliseconds)), "p95_ms": float(np.percentile(milliseconds, 95))}


def _loads(address, count):
    """Return the milliseconds of some loads, an empty list without a browser."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        found = None
    if found is None:
        print("no playwright or no Chromium here: the time to load is left out")
        return []
    milliseconds = []
    with sync_playwright() as driver:
        for _ in range(count):
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page()
            started = time.perf_counter()
            page.goto(address)
            page.locator("button.primary").first.wait_for()
            milliseconds.append(1000 * (time.perf_counter() - started))
            browser.close()
    return milliseconds


if __name__ == "__main__":
    main()
