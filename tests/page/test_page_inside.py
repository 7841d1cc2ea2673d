"""The tab "Inside", driven in a real browser."""

import numpy as np

from kbert import InspectText


def test_inside_shows_the_attention_and_the_sum_of_what_is_typed(page, checkpoint):
    from playwright.sync_api import expect

    page.get_by_role("tab", name="Inside").click()
    page.get_by_label("Text to look into").fill("He studied 학교.")
    page.get_by_label("Second text").fill("The river.")
    page.get_by_role("button", name="Look inside").click()
    found = InspectText(checkpoint)("He studied 학교.", "The river.")
    expect(page.locator(".kb-pieces:visible b")).to_have_text(found.tokens)
    expect(page.locator(".kb-pieces:visible span:nth-child(2)")).to_have_text(["AB"[s] for s in found.segment_ids])
    page.get_by_label("Layer").click()
    page.get_by_role("option", name="2", exact=True).click()
    for head, expected in (("average", found.attention_maps[1].mean(0)), ("3", found.attention_maps[1, 2])):
        page.get_by_label("Head").click()
        page.get_by_role("option", name=head, exact=True).last.click()  # The list of layers may still fade.
        expect_chart(page, 1, expected)
    page.get_by_label("to the left only").click()
    seen = np.tril(found.attention_maps[1, 2])
    expect_chart(page, 1, np.where(np.tri(len(seen)), seen / seen.sum(-1, keepdims=True), np.nan))
    page.get_by_label("number input for Embeddings").fill("4")
    rows = [getattr(found, name)[4] for name in ("token_vectors", "segment_vectors", "position_vectors")]
    expect_chart(page, 0, np.stack([*rows, np.sum(rows, 0)]))
    page.get_by_label("Second text").fill("The river. " * 40)
    page.get_by_role("button", name="Look inside").click()
    expect(page.get_by_role("alert")).to_contain_text("A text must have at most 64 tokens")


# The numbers of a chart are these, an empty cell null.
SAME_NUMBERS = """([place, expected]) => {
  const charts = [...document.querySelectorAll(".js-plotly-plot")].filter(chart => chart.offsetParent);
  if (charts.length <= place) return false;
  const found = charts[place].data[0].z;
  const isSame = (value, other) =>
    other === null ? value === null || Number.isNaN(value) : Math.abs(value - other) < 1e-4;
  return found.length === expected.length &&
    found.every((row, i) => [...row].every((value, j) => isSame(value, expected[i][j])));
}"""


def expect_chart(page, place, expected):
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in expected]
    page.wait_for_function(SAME_NUMBERS, arg=[place, rows], timeout=60_000)  # A busy machine draws late.
