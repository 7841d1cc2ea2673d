"""Read the running text of articles out of a MediaWiki XML dump, such as `kowiki-latest-pages-articles.xml.bz2`.

The XML is read as a stream, one page in memory; the wikitext of a page is parsed by mwparserfromhell.
"""

import pathlib
import re
import xml.etree.ElementTree
from collections.abc import Iterator

from kbert.text.text_files import BROKEN_FILE_ERRORS, open_binary

ARTICLE = "0"  # The namespace of articles; talk, user, template and other pages have others.
MEDIA, FILE, CATEGORY = "-2", "6", "14"
# Beside the names that the head of the dump gives, which leaves out older ones that links still use.
HIDDEN_NAMESPACES = {"media", "file", "image", "category", "파일", "그림", "분류"}

GAP = "\0"  # Stands where something was left out; `clean_text` closes it. XML cannot hold it.
_LIST_ITEM = "\1"
_LIST_TAGS = {"li", "dt", "dd"}
_NO_PROSE_TAGS = {
    *("ref", "references", "table", "tr", "td", "th", "caption", "ul", "ol", "dl", "li", "dt", "dd", "h1", "h2", "h3"),
    *("h4", "h5", "h6", "math", "chem", "ce", "gallery", "imagemap", "timeline", "score", "graph", "mapframe"),
    *("maplink", "hiero", "pre", "source", "syntaxhighlight", "templatedata", "templatestyles", "inputbox"),
    *("categorytree", "indicator", "includeonly", "section", "rp", "rt", "style"),
}
_BLOCK_TAGS = {"blockquote", "center", "div", "hr", "p", "poem"}
# A link that starts so leads to the same article in another language, and stands beside the page, not in it.
_LANGUAGE_CODE = re.compile(r"(?:[a-z]{2,3}|simple)(?:-[a-z]+)*")
_GENITIVE = re.compile(r"(?<!')''([^'\n]+)'''(?=s\b)")  # "''Titanic'''s": italics and an apostrophe, not bold.
_QUOTES_AND_SWITCHES = re.compile(r"'{2,}|__[^\W\d_]+__")
_TABLE_LINE = re.compile(r"\{\||[|!]")  # Of a table that is not closed, and so is none for the parser.


def read_articles(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield (title, running text) of each article of a dump, in order, one page in memory.

    Redirects and pages that are no articles are left out. A page with several revisions counts with the last one.

    Args:
        path: the .xml file, also compressed as .bz2, .gz or .xz. The XML says its encoding itself.
    Raises:
        ImportError: mwparserfromhell is not installed.
        ValueError: the file is cut off, or is XML of another kind.
    """
    hidden = set(HIDDEN_NAMESPACES)
    text = model = None
    try:
        with open_binary(path) as file:
            events = xml.etree.ElementTree.iterparse(file, ("start", "end"))
            _, root = next(events)
            if _name(root) != "mediawiki":
                raise ValueError(
                    f"An XML file must be a MediaWiki dump. Received: {path}, whose root is <{_name(root)}>. "
                    "Give its text as plain text or JSON lines."
                )
            for event, element in events:
                name = _name(element) if event == "end" else None
                if name == "namespace" and element.get("key") in (MEDIA, FILE, CATEGORY):
                    hidden.add((element.text or "").lower())
                elif name == "revision":
                    text, model = element.findtext("{*}text"), element.findtext("{*}model", "wikitext")
                    element.clear()  # A full history has thousands of them in a page.
                elif name == "page":
                    is_article = element.findtext("{*}ns", ARTICLE) == ARTICLE and element.find("{*}redirect") is None
                    title = element.findtext("{*}title", "")
                    root.clear()
                    if is_article and model == "wikitext" and text:
                        yield title, running_text(text, frozenset(hidden))
                    text = model = None
    except (xml.etree.ElementTree.ParseError, *BROKEN_FILE_ERRORS) as error:
        raise ValueError(
            f"A MediaWiki dump must be whole. Received: {path}: {error}. It may be cut off: copy it again."
        ) from error


def running_text(wikitext: str, hidden_namespaces: frozenset = frozenset(HIDDEN_NAMESPACES)) -> str:
    """Return the paragraphs of an article, one a line, in the raw form that `clean_text` takes.

    Left out are headings, lists and indented lines, tables, templates, references, formulas, pictures with their
    captions, categories, links to other languages, and a paragraph that ends in a colon: what it announces is gone.

    Args:
        wikitext: str, the source of a page.
        hidden_namespaces: lower-case names of the namespaces whose links do not show, such as "file".
    """
    try:
        import mwparserfromhell
    except ImportError as error:
        raise ImportError(
            "MediaWiki dumps need mwparserfromhell. Install it with `pip install 'keras-kbert[corpora]'`."
        ) from error
    # Without its tags of bold and italics: an open one would hide others from the parser.
    text = _render(mwparserfromhell.parse(wikitext, skip_style_tags=True), hidden_namespaces)
    text = _QUOTES_AND_SWITCHES.sub("", _GENITIVE.sub(r"\1&#39;", text))
    paragraphs = [[]]
    for line in text.split("\n"):
        if _LIST_ITEM in line or _TABLE_LINE.match(line) or not line.replace(GAP, "").strip():
            paragraphs.append([])
        else:
            paragraphs[-1].append(line.strip())
    joined = (" ".join(lines) for lines in paragraphs if lines)
    return "\n".join(paragraph for paragraph in joined if not paragraph.rstrip(f" {GAP}").endswith(":"))


def _name(element):
    return element.tag.rpartition("}")[2]


def _render(wikicode, hidden):
    if wikicode is None:
        return ""
    return "".join(_RENDERERS.get(type(node).__name__, _leave_out)(node, hidden) for node in wikicode.nodes)


def _leave_out(node, hidden):
    return GAP


def _render_tag(node, hidden):
    name = str(node.tag).strip().lower()
    if node.wiki_markup and name in _LIST_TAGS:
        return _LIST_ITEM
    if name in _NO_PROSE_TAGS:
        return GAP
    if name == "br":
        return " "
    if name == "nowiki":
        return str(node.contents or "").replace("'", "&#39;")
    inner = _render(node.contents, hidden)
    return f"\n\n{inner}\n\n" if name in _BLOCK_TAGS else inner


def _render_link(node, hidden):
    title = str(node.title).strip()
    namespace, colon, _ = title.partition(":")
    if colon and (namespace.strip().lower() in hidden or _LANGUAGE_CODE.fullmatch(namespace)):
        return GAP
    return _render(node.text, hidden) if node.text is not None else _render(node.title, hidden).removeprefix(":")


def _render_external_link(node, hidden):
    if node.title is None:
        return GAP if node.brackets else str(node.url)
    return _render(node.title, hidden)


_RENDERERS = {
    "Text": lambda node, hidden: node.value,
    "HTMLEntity": lambda node, hidden: str(node),
    "Comment": lambda node, hidden: "",
    "Heading": lambda node, hidden: "\n\n",
    "Tag": _render_tag,
    "Wikilink": _render_link,
    "ExternalLink": _render_external_link,
}
