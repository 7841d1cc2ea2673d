"""The tab "Inside", driven in a real browser."""

import numpy as np

from demo.inside_tab import LOOKS
from kbert import InspectText, PlayMasking
from page.page_driver import both_widths, expect_bars, open_tab


@both_widths
def test_inside_shows_the_attention_and_the_sum_of_what_is_typed(page, checkpoint):
    from playwright.sync_api import expect

    open_tab(page, "Inside")
    page.get_by_label("Text to look into").fill("He studied 학교.")
    page.get_by_label("Second text").fill("The river.")
    page.get_by_role("button", name="Look inside").click()
    found = InspectText(checkpoint)("He studied 학교.", "The river.")
    pieces = page.locator(".kb-answer .kb-pieces:visible")
    expect(pieces.locator("b")).to_have_text(found.tokens)
    expect(pieces.locator("span:nth-child(2)")).to_have_text(["AB"[s] for s in found.segment_ids])
    page.get_by_label("Layer").click()
    page.get_by_role("option", name="2", exact=True).click()
    for head, expected in (("average", found.attention_maps[1].mean(0)), ("3", found.attention_maps[1, 2])):
        page.get_by_label("Head").click()
        page.get_by_role("option", name=head, exact=True).last.click()  # The list of layers may still fade.
        expect_chart(page, 1, expected)
    page.get_by_label("to the left only").click()
    seen = np.tril(found.attention_maps[1, 2])
    expect_chart(page, 1, np.where(np.tri(len(seen)), seen / seen.sum(-1, keepdims=True), np.nan))
    page.get_by_label("lines (from 2%)").click()
    page.wait_for_function(SAME_LINES, arg=np.argwhere(np.tril(seen / seen.sum(-1, keepdims=True)) > 0.02).tolist())
    page.get_by_label("Embeddings of token").click()
    page.get_by_role("option", name=f"4 {found.tokens[4]}", exact=True).click()
    rows = [getattr(found, name)[4] for name in ("token_vectors", "segment_vectors", "position_vectors")]
    expect_chart(page, 0, np.stack([*rows, np.sum(rows, 0)]))
    for label, place in {"From token": 5, "at token": 3}.items():
        page.get_by_label(label, exact=True).click()
        page.get_by_role("option", name=f"{place} {found.tokens[place]}", exact=True).last.click()
    shares = {(n, m): found.attention_maps[n, m, 5, 3] for n in range(2) for m in range(3)}
    best = sorted(shares, key=shares.get, reverse=True)[:5]
    heads = page.locator(".kb-pictures")
    expect(heads.locator(".kb-label")).to_have_text([f"layer {n + 1}, head {m + 1}" for n, m in best])
    expect(heads.locator(".kb-percent")).to_have_text([f"{shares[one]:.1%}" for one in best])
    page.get_by_label("Second text").fill("The river. " * 40)
    page.get_by_role("button", name="Look inside").click()
    expect(page.locator(".kb-answer").get_by_role("alert")).to_contain_text("A text must have at most 64 tokens")


def test_a_shorter_text_leaves_no_token_chosen_that_it_has_not(page, checkpoint):
    from playwright.sync_api import expect

    open_tab(page, "Inside")
    page.get_by_label("Text to look into").fill("He studied.")
    found = InspectText(checkpoint)("He studied.")
    last = len(found.tokens) - 1
    assert last < LOOKS["en"][0]  # What was chosen for the example.
    for layer in ("2", "1"):
        page.get_by_label("Layer").click()
        page.get_by_role("option", name=layer, exact=True).last.click()
        expect_chart(page, 1, found.attention_maps[int(layer) - 1].mean(0))
    expect(page.get_by_label("From token", exact=True)).to_have_value(f"{last} {found.tokens[last]}")
    page.get_by_role("button", name="Look inside").click()
    shares = {(n, m): found.attention_maps[n, m, last, LOOKS["en"][1]] for n in range(2) for m in range(3)}
    expect(page.locator(".kb-pictures .kb-percent")).to_have_text([f"{s:.1%}" for s in sorted(shares.values())[:0:-1]])
    expect(page.get_by_text("is not in the list of choices")).to_have_count(0)


@both_widths
def test_the_masking_game_is_played_with_what_is_typed(page, checkpoint):
    from playwright.sync_api import expect

    text = "He studied law. The river flows into the city near the museum."
    open_tab(page, "Inside")
    game = page.locator(".kb-game")
    page.get_by_label("Text to look into").fill(text)
    page.get_by_role("button", name="Look inside").click()
    play = PlayMasking(checkpoint)
    for draw in (1, 2):
        played = play(text, draw, 4)
        drawn = {one.position: one for one in played.drawn}
        shown = [drawn[place].shown if place in drawn else token for place, token in enumerate(played.tokens)]
        expect(game.locator(".kb-pieces b")).to_have_text(shown)
        expect(game.locator(".kb-drawn span")).to_have_text([one.token for one in played.drawn])
        expect_bars(game, [candidate for one in played.drawn for candidate in one.candidates])
        expect(game.locator(".kb-card > .kb-excerpt")).to_contain_text(f": {played.loss:.2f}")
        page.get_by_role("button", name="Draw again").click()
    page.get_by_label("Text to look into").fill("long " * 80)
    page.get_by_role("button", name="Look inside").click()
    expect(game.get_by_role("alert")).to_contain_text("at most 64 tokens")


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


# The lines of the second chart are these, whatever their order.
SAME_LINES = """(expected) => {
  const charts = [...document.querySelectorAll(".js-plotly-plot")].filter(chart => chart.offsetParent);
  const ends = charts[1]?.data.filter(trace => trace.mode === "lines").flatMap(trace => [...trace.y]) ?? [];
  const lines = ends.flatMap((end, place) => (place % 3 ? [] : [[end, ends[place + 1]]]));
  const inOrder = (all) => JSON.stringify(all.map(String).sort());
  return inOrder(lines) === inOrder(expected);
}"""


def expect_chart(page, place, expected):
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in expected]
    page.wait_for_function(SAME_NUMBERS, arg=[place, rows], timeout=60_000)  # A busy machine draws late.
