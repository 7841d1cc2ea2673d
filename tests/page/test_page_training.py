"""The tab "Training", driven in a real browser on the files of a run."""

import json

import gradio_client
import pytest

from demo.app import main
from demo.training_run import read_run
from page.page_driver import both_widths, open_tab
from page.watched_run import EXAMPLES, write_run


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
    history = training_run / "history.csv"
    history.write_text(history.read_text().replace("0.23,5.2,0.66", "NA,NA,NA"))  # Nothing is held out.
    assert set(read_run(training_run).curves) == {"loss", "mlm_accuracy", "mlm_loss", "nsp_accuracy", "learning_rate"}


@both_widths
def test_curves_grow_on_the_page_as_the_run_saves(page, address, training_run):
    from playwright.sync_api import expect

    write_run(training_run, 0)
    open_tab(page, "Training")
    status = page.locator(".kb-note").filter(has_text="updates;")
    expect(status).to_have_text("0 of 250 updates; nothing saved yet since the last start.")
    expect(page.locator(".js-plotly-plot:visible")).to_have_count(0)  # No axes without a curve.
    write_run(training_run, 2)
    expect(status).to_have_text("200 of 250 updates; 64 rows a second since the last start.")
    expect_lines(page, 0, [[6.7, 4.9], [5.2, 4.7]])
    learnt = page.locator(".kb-learnt:visible")
    expect(learnt).to_have_count(0)
    (training_run / "examples.json").write_text(json.dumps(EXAMPLES))
    write_run(training_run, 3)
    expect(status).to_contain_text("250 of 250 updates")
    expect(learnt.locator("b")).to_have_text([token for row in EXAMPLES for token in row["tokens"]])
    expect(learnt.locator(".kb-drawn span")).to_have_text(["was cat", "→ cat 50.0%", "was ran", "→ sat 90.0%"])
    expect(learnt.locator(".kb-right b")).to_have_text(["[MASK]"])
    assert learnt.locator(".kb-drawn").last.get_attribute("title") == "sat 90.0%, ran <0.1%, a 0.0%"
    pairs = learnt.locator(".kb-pieces + .kb-note")
    expect(pairs).to_have_text(["Second part follows: 75.0%. In truth it comes from elsewhere."])
    expect_lines(page, 0, [[6.7, 4.9, 4.5], [5.2, 4.7, 4.4]])
    expect_lines(page, 2, [[0.57, 0.78, 0.8], [0.66, 0.76, 0.8]])
    ask = gradio_client.Client(address, verbose=False, analytics_enabled=False).predict
    run = ask(api_name="/training_run")
    assert (run["curves"]["nsp_accuracy"], run["examples"]) == ([0.57, 0.78, 0.8], EXAMPLES)
    (training_run / "examples.json").unlink()


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
