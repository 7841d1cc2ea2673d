"""Spans as a tag a word, and back: IOB1, IOB2, BIOES.

Tags are read by one rule, which all three schemes keep: a span begins at B, at S, where the kind differs from the word
before, and after O, E or S. So a chain that keeps no scheme, as models make, has spans too, those of conlleval.
"""

SCHEMES = ("IOB1", "IOB2", "BIOES")
_PREFIXES = "BIESLU"  # L and U: other letters for E and S.


def split_tag(tag):
    """Return (prefix, kind) of a tag such as "B-PER"; ("O", "") for "O".

    Raises:
        ValueError: it is no such tag.
    """
    if tag == "O":
        return "O", ""
    prefix, dash, kind = tag.partition("-")
    if len(prefix) != 1 or prefix not in _PREFIXES or not dash or not kind:
        raise ValueError(f"A tag must be O, or one of B-, I-, E-, S- and a kind. Received: {tag!r}.")
    return prefix, kind


def is_span_tag(tag):
    """Tell whether a tag looks like one of a span, or "O"; parts of speech do not."""
    return tag == "O" or (tag[:1] in _PREFIXES and tag[1:2] == "-")


def spans_of_tags(tags):
    """Return (first, end, kind) of each span of a sentence, `end` not included.

    Args:
        tags: sequence of str, one a word, in any of `SCHEMES`.

    Raises:
        ValueError: one is no tag.
    """
    spans, open_kind, start = [], None, 0
    for place, tag in enumerate([*tags, "O"]):
        prefix, kind = split_tag(tag)
        goes_on = open_kind is not None and kind == open_kind and prefix in "IEL"
        if not goes_on:
            if open_kind is not None:
                spans.append((start, place, open_kind))
            open_kind, start = kind or None, place
        if open_kind is not None and prefix in "ESLU":
            spans.append((start, place + 1, open_kind))
            open_kind = None
    return spans


def tags_of_spans(spans, length, scheme="IOB2"):
    """Return the tags of a sentence.

    Args:
        spans: list of (first, end, kind) in reading order, none over another.
        length: int, words of the sentence.
        scheme: one of `SCHEMES`.

    Raises:
        ValueError: there is no such scheme.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"`scheme` must be one of {SCHEMES}. Received: scheme={scheme!r}.")
    tags = ["O"] * length
    last_end, last_kind = -1, None
    for start, end, kind in spans:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        # In IOB1 a B is needed only where a span of the same kind ends right before.
        if scheme != "IOB1" or (last_end, last_kind) == (start, kind):
            tags[start] = f"B-{kind}"
        if scheme == "BIOES":
            tags[end - 1] = f"S-{kind}" if end - start == 1 else f"E-{kind}"
        last_end, last_kind = end, kind
    return tags


def label_names(kinds, scheme="IOB2"):
    """Return the tags that a model of these kinds can give, O first."""
    prefixes = "BIES" if scheme == "BIOES" else "BI"
    return ("O", *(f"{prefix}-{kind}" for kind in sorted(kinds) for prefix in prefixes))
