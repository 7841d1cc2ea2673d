"""The surprise of each word of a whole text on the tab "Fill mask"; a click on a word puts [MASK] in its place."""

import dataclasses
import html
import math
import re

import gradio as gr

from demo.bars import answer_card, note, percent
from demo.questions import PAGE_QUESTION, answer_on_page, answer_to_program, check_masks, check_texts

MAX_CHARACTERS = 1_000  # A text of n tokens takes n passes of the model.
FULL_COLOR = 10.0  # Nats at which a word has all the colour: a probability of 0.005 %.

# The text is read back from the page: a word that is pressed is a [MASK].
PRESS_WORD = """element.addEventListener("click", (event) => {
  const word = event.target.closest("button");
  if (!word) return;
  word.setAttribute("aria-pressed", word.getAttribute("aria-pressed") !== "true");
  const parts = [...element.querySelector(".kb-words").childNodes];
  const isMasked = (part) => part.ariaPressed === "true";
  trigger("select", { text: parts.map((part) => (isMasked(part) ? "[MASK]" : part.textContent)).join("") });
});"""

# Words of another text go: one that is pressed would put that text in the place of what was typed.
KEEP_WORDS = """(text, shown) => {
  const parts = [...(document.querySelector(".kb-surprise .kb-words")?.childNodes ?? [])];
  const isMasked = (part) => part.ariaPressed === "true";
  return parts.map((part) => (isMasked(part) ? "[MASK]" : part.textContent)).join("") === text ? shown : "";
}"""


def build_section(say, model, text):
    """Lay out the button and what it shows.

    Args:
        say: `demo.words.Words`.
        model: `demo.page_model.PageModel`.
        text: `gr.Textbox`, the text to score; a pressed word changes it.

    Returns:
        The event after which the text has a word masked.
    """

    @answer_on_page(say)
    def show(text):
        check_texts(text, most=MAX_CHARACTERS)
        check_masks(text)
        words = ()
        if "[MASK]" in text:  # The best whole text of it.
            (best,) = model.fill_jointly(text, 1, None)
            text, words = best.text, best.words
        return surprise_card(say, text, _score(model, text), words)

    def masked(event: gr.EventData):
        return event.text

    ask = gr.Button(say("surprise.ask"))
    shown = gr.HTML("", js_on_load=PRESS_WORD, elem_classes="kb-surprise")
    ask.click(show, text, shown, **PAGE_QUESTION)
    quiet = dict(show_progress="hidden", api_visibility="private")
    text.change(None, [text, shown], shown, js=KEEP_WORDS, **quiet)
    return shown.select(masked, None, text, **quiet)


def publish(model):
    """Publish the section's endpoint of a `PageModel`."""

    def answer(text: str) -> dict:
        """How natural a whole text is: log-likelihood, perplexity, and the surprise of each token in nats."""
        return dataclasses.asdict(_score(model, text))

    answer_to_program(answer, "score")


def _score(model, text):
    check_texts(text, most=MAX_CHARACTERS)
    return model.score(text)


def surprise_of_words(text, tokens):
    """Return (start, end, surprise) of each word of a text, in reading order.

    A word is a run of letters and digits, or another sign; its surprise is the sum of its tokens'.

    Args:
        text: str.
        tokens: iterable of `kbert.inference.score.TokenScore`.
    """
    words = [[*match.span(), 0.0] for match in re.finditer(r"[\w\u0300-\u036f]+|[^\w\s]", text)]
    place = 0
    for token in tokens:
        while place + 1 < len(words) and words[place][1] <= token.start:
            place += 1
        words[place][2] += token.surprise
    return [tuple(word) for word in words]


def surprise_card(say, text, score, filled=()):
    """Return the words of a text as HTML, each a button, the more coloured the more it surprises.

    Args:
        say: `demo.words.Words`.
        text: str.
        score: `kbert.inference.score.TextScore` of it.
        filled: tuple of str, the words that the model put where [MASK] stood.
    """
    parts, done = [], 0
    for start, end, surprise in surprise_of_words(text, score.tokens):
        share = min(1.0, surprise / FULL_COLOR)
        hint = say("surprise.word", surprise=surprise, probability=html.unescape(percent(math.exp(-surprise))))
        parts.append(html.escape(text[done:start]))
        parts.append(
            f'<button type="button" aria-pressed="false" style="--share:{share:.2f}" title="{html.escape(hint)}">'
            f"{html.escape(text[start:end])}</button>"
        )
        done = end
    words = "".join(parts) + html.escape(text[done:])
    return answer_card(
        f'<p class="kb-words">{words}</p>',
        note(say("surprise.filled", words=", ".join(filled))) if filled else "",
        note(say("surprise.perplexity", perplexity=score.perplexity)),
        note(say("surprise.note")),
    )
