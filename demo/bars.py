"""HTML of answers. Whatever a person or a model wrote is escaped here and nowhere else."""

import html

EXCERPT_LENGTH = 60  # Characters kept on each side of a mask.


def bar_list(bars):
    """Return a list of bars as HTML.

    Args:
        bars: iterable of (label, probability): str, and float in [0, 1].
    """
    rows = "".join(
        f'<li><span class="kb-label">{html.escape(label)}</span>'
        f'<span class="kb-track" aria-hidden="true"><span style="width:{probability:.2%}"></span></span>'
        f'<span class="kb-percent">{percent(probability)}</span></li>'
        for label, probability in bars
    )
    return f'<ol class="kb-bars">{rows}</ol>'


def number_list(numbers):
    """Return a list of (label, float) as HTML."""
    rows = "".join(
        f'<li><span class="kb-label">{html.escape(label)}</span><span></span>'
        f'<span class="kb-percent">{number:.3f}</span></li>'
        for label, number in numbers
    )
    return f'<ol class="kb-bars">{rows}</ol>'


def progress_bar(share, label):
    """Return how much of something is done as HTML.

    Args:
        share: float in [0, 1].
        label: str, what a screen reader calls it.
    """
    return (
        f'<div class="kb-track" role="progressbar" aria-label="{html.escape(label)}" aria-valuenow="{100 * share:.0f}">'
        f'<span style="width:{share:.2%}"></span></div>'
    )


def marked_excerpt(text, start, end):
    """Return the text around the characters [start, end) as HTML, these characters marked."""
    before, after = text[:start], text[end:]
    if len(before) > EXCERPT_LENGTH:
        before = "… " + before[-EXCERPT_LENGTH:]
    if len(after) > EXCERPT_LENGTH:
        after = after[:EXCERPT_LENGTH] + " …"
    marked = f"<mark>{html.escape(text[start:end])}</mark>"
    return f'<p class="kb-excerpt">{html.escape(before)}{marked}{html.escape(after)}</p>'


def window_note(say, text, start, end):
    """Return the sentence that says a model read only the characters [start, end) of a text; "" if it read all."""
    if not (text[:start] + text[end:]).strip():
        return ""
    return note(say("fill_mask.window", count=end - start))


def answer_card(*parts):
    """Return one answer of several pieces of HTML. Screen readers speak it when it appears."""
    return f'<div class="kb-card" role="status">{"".join(parts)}</div>'


def refusal_card(say, error):
    """Return the sentence that says why there is no answer."""
    return f'<div class="kb-card kb-refusal" role="alert"><p>{html.escape(say.refusal(error))}</p></div>'


def empty_card(hint):
    """Return what stands in the answer's place before the first question."""
    return f'<div class="kb-card kb-empty"><p>{html.escape(hint)}</p></div>'


def note(text):
    """Return a remark in small letters."""
    return f'<p class="kb-note">{html.escape(text)}</p>'


def percent(probability):
    """Return a probability as HTML that is honest about small ones."""
    return "&lt;0.1%" if 0 < probability < 0.0005 else f"{probability:.1%}"
