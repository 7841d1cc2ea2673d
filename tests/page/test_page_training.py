"""The tab "Training", driven in a real browser on the files of a run."""

import gradio_client
import pytest
from conftest import once

from demo.app import main
from demo.training_run import read_run
from page.page_driver import open_tab
from page.watched_run import write_run

pytestmark = once


def test_a_run_is_read_while_it_is_written(training_run):
    write_run(training_run, 2, "2,5.0,0.3")
    found = read_run(training_run)
    assert (found.done, found.total, found.steps) == (200, 250, [100, 200])
    assert found.rows_per_second == pytest.approx((200 - 100) * 16 * 2 / 50)
    assert found.curves["val_mlm_loss"] == [5.2, 4.7]
    # Up over the first tenth, 25 updates, then down along a line to 0 at 250.
    assert found.curves["learning_rate"] == pytest.approx([1e-3 * (250 - 100) / 225, 1e-3 * (250 - 200) / 225])
    write_run(training_run, 3)
    assert read_run(training_run).steps == [100, 200, 250]
    (training_run / "history.csv").unlink()
    assert (read_run(training_run).steps, read_run(training_run).rows_per_second) == ([], None)
    write_run(training_run, 1)
    assert read_run(training_run).rows_per_second is None  # Its only line is older than its last start.


def test_curves_grow_on_the_page_as_the_run_saves(page, address, training_run):
    from playwright.sync_api import expect

    write_run(training_run, 2)
    open_tab(page, "Training")
    status = page.locator(".kb-note").filter(has_text="updates;")
    expect(status).to_have_text("200 of 250 updates; 64 rows a second since the last start.")
    expect_lines(page, 0, [[6.7, 4.9], [5.2, 4.7]])
    write_run(training_run, 3)
    expect(status).to_contain_text("250 of 250 updates")
    expect_lines(page, 0, [[6.7, 4.9, 4.5], [5.2, 4.7, 4.4]])
    expect_lines(page, 2, [[0.57, 0.78, 0.8], [0.66, 0.76, 0.8]])
    ask = gradio_client.Client(address, verbose=False, analytics_enabled=False).predict
    assert ask(api_name="/training_run")["curves"]["nsp_accuracy"] == [0.57, 0.78, 0.8]


def expect_lines(page, place, expected):
    page.wait_for_function(
        """([place, expected]) => {
          const charts = [...document.querySelectorAll(".js-plotly-plot")].filter(chart => chart.offsetParent);
          return charts.length === 4 &&
            JSON.stringify(charts[place].data.map(line => [...line.y])) === JSON.stringify(expected);
        }""",
        arg=[place, expected],
        timeout=60_000,
    )


def test_a_folder_without_a_run_is_refused(checkpoint, tmp_path):
    with pytest.raises(SystemExit, match="A run must be a folder .* Received: .* without run.json"):
        main(["--model", checkpoint, "--run", str(tmp_path)])
