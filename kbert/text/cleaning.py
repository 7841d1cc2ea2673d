"""Remove from extracted text what is surely no prose: tags, templates, formulas, table markup, empty parentheses."""

import html
import re
import unicodedata

_LETTER = re.compile(r"[^\W\d_]")
# Only entities closed by ";": html.unescape alone would turn the address "?a=1&copy=2" into "?a=1©=2".
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|\w+);")
# Elements whose content is no prose go whole. Other tags go by name, so that "a <b and c> d" stays.
_NO_PROSE = re.compile(r"<(math|chem|ce|score|timeline|mapframe)\b[^<>]*>.*?</\1>|<!--.*?-->", re.S | re.I)
_BREAK_TAG = re.compile(r"</?(?:br|hr|p|div|li|[uod]l|d[dt]|table|t[rdh]|h[1-6]|poem)(?: [^<>]*=[^<>]*)? ?/?>", re.I)
_INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|big|blockquote|ce|center|chem|cite|code|del|em|font|gallery|i|includeonly|ins|kbd|mapframe|math"
    r"|noinclude|nowiki|onlyinclude|pre|q|ref|references|ruby|r[pt]|s|samp|score|section|small|span|strong|su[bp]"
    r"|syntaxhighlight|templatestyles|timeline|tt|u|var|wbr)(?: [^<>]*=[^<>]*)? ?/?>",
    re.I,
)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
_CATEGORY_LINK = re.compile(r"\[\[ ?(?:Category|분류) ?:[^\[\]]*\]\]", re.I)
_LINK = re.compile(r"\[\[(?:[^\[\]]*\|)?([^\[\]|]*)\]\]")
_PLACEHOLDER = re.compile(r"(?:formula|codice)_\d+")
# A row of a table that was not recognised as one. Prose that starts with "!" or "|" has neither of these.
_TABLE_ROW = re.compile(
    r"\{\||\|[-}]|[!|].*(?:\|\||!!|\b(?:colspan|rowspan|scope|style|class|align|width|bgcolor) ?=)", re.I
)
# What dropped templates leave: "Paris ()", "Paris (, ; )", "Paris (; born", "(巴黎, )", "(Arabic: )". Not the call
# "main()", not a typed "(;)" or "f(x,)". "\0" is a gap.
_EMPTY_PARENTHESES = re.compile(r"\((?:(?<![A-Za-z0-9_]\()|[^\W_][^\0,;:()\n]{0,40}: ?[ \0]|[,;\0]*[ \0][,; \0]*)\)")
_PARENTHESIS_START = re.compile(r"\((?=[,;\0])[,; \0]*[ \0]")
_PARENTHESIS_END = re.compile(r" ?(?=[,;]*[ \0])[,;\0][,; \0]*\)")
_DOUBLE_COMMA = re.compile(r"[,;] ?\0 ?([,;])")
_UNDERSCORE_ITALICS = re.compile(r"(?<!\w)_([^_\s](?:[^_\n]*[^_\s])?)_(?!\w)")
_GAP_AT_START = re.compile(r"^ ?\0[,;: \0]*", re.M)
_BLANK_BEFORE_GAP = re.compile(r" \0(?=[\s,.;:!?)\0]|$)")


def clean_text(text: str) -> str:
    """Remove what is surely no prose from extracted text; leave everything else as it is.

    Gone are HTML tags and comments, escaped once or twice, formulas and their placeholders (`formula_12`),
    `{{templates}}`, the brackets of `[[links]]`, empty parentheses, the underscores of `_italics_`, repeated blanks,
    rows of wiki tables, and lines without a letter. Letters apart from their accents, and Hangul in jamo, are
    composed (NFC), so that a text is the same whatever program it came from.
    """
    text = unicodedata.normalize("NFC", text)
    for _ in range(2 if "&amp;" in text else 1):
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n"))
    if "<" in text:
        text = _INLINE_TAG.sub("", _BREAK_TAG.sub(" ", _NO_PROSE.sub("", text)))
    # "\0" marks a gap: "Paris \0, the" closes to "Paris, the".
    while (outer := _TEMPLATE.sub("\0", text)) != text:  # from the inside out
        text = outer
    while (outer := _LINK.sub(r"\1", _CATEGORY_LINK.sub("", text))) != text:
        text = outer
    if "_" in text:
        text = _UNDERSCORE_ITALICS.sub(r"\1", _PLACEHOLDER.sub("\0", text))
    if "(" in text:
        text = _EMPTY_PARENTHESES.sub("\0", text)
        text = _PARENTHESIS_END.sub(")", _PARENTHESIS_START.sub("(", text))
    if "\0" in text:
        text = _GAP_AT_START.sub("", _DOUBLE_COMMA.sub(r"\1", text))
        text = _BLANK_BEFORE_GAP.sub("", text).replace("\0", "")
    paragraphs = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in paragraphs if _LETTER.search(line) and not _TABLE_ROW.match(line))
