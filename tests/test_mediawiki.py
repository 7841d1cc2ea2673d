"""MediaWiki XML dumps: which pages count, what of a page is running text, broken files, memory."""

import bz2
import subprocess
import sys
import tracemalloc
import xml.sax.saxutils

import pytest
from conftest import once

from kbert.text.cleaning import clean_text
from kbert.text.corpora import Document, read_documents
from kbert.text.mediawiki import running_text

pytestmark = once

SITE = (
    '<siteinfo><namespaces><namespace key="6" case="first-letter">Datei</namespace><namespace key="0" />'
    '<namespace key="14">Kategorie</namespace><namespace key="4">Wikipedia</namespace></namespaces></siteinfo>'
)


def page(title, *texts, ns="0", extra="", model="wikitext"):
    revisions = "".join(
        f"<revision><id>{number}</id><contributor><username>Kim</username></contributor><model>{model}</model>"
        f'<text xml:space="preserve">{xml.sax.saxutils.escape(text)}</text></revision>'
        for number, text in enumerate(texts)
    )
    title = xml.sax.saxutils.escape(title)
    return f"<page><title>{title}</title><ns>{ns}</ns><id>7</id>{extra}{revisions}</page>\n"


def dump(*pages, head="", version="0.10"):
    namespace = f' xmlns="http://www.mediawiki.org/xml/export-{version}/"' if version else ""
    return f"{head}<mediawiki{namespace} xml:lang='de'>\n  {SITE}\n{''.join(pages)}</mediawiki>\n"


ARTICLE = """{{Infobox city
| name = Seoul
| map = [[File:Map.png|20px]]
}}
[[Datei:Seoul.jpg|mini|The [[Han River|river]] at night]]
'''Seoul''' ({{lang|ko|서울}}; ''Sŏul'') is the [[capital city|capital]] of [[South Korea]].<ref name="a">A
* ref</ref> It has {{convert|605|km2}}, 25&nbsp;districts
and a mayor.<!-- which
one? -->
== History ==
<div class="x">The city was founded in 18&nbsp;BC [https://example.org by ''Onjo''].</div>
These were its names:
* [[Wirye]]
** [[Hanyang]]
: ''an indented line''
{| class="wikitable"
! Year !! People
|-
| 1950 || {{formatnum|1,700,000}}
|}
A &lt; b holds for <math>a^2 +
b</math>.<br />So it does.
----
<gallery>
File:A.jpg|A caption
</gallery>
# one
<ul><li>two</li></ul>

=== See also ===
[[Kategorie:Seoul]] [[Category:Cities|Seoul]]
[[de:Seoul]]
__NOTOC__
"""
ARTICLE_TEXT = (
    "Seoul (Sŏul) is the capital of South Korea. It has, 25 districts and a mayor.\n"
    "The city was founded in 18 BC by Onjo.\n"
    "A < b holds for. So it does."
)


@pytest.mark.parametrize("suffix", ["", ".bz2"])
@pytest.mark.parametrize("head", ["", '<?xml version="1.0" encoding="utf-8"?>\n', "\ufeff\n"])
@pytest.mark.parametrize("version", ["0.11", ""])
def test_a_dump_gives_the_running_text_of_its_articles(tmp_path, suffix, head, version):
    pages = [
        page("Seoul & Co", ARTICLE),
        page("Soul", "#REDIRECT [[Seoul]]\n\nA note on why.", extra='<redirect title="Seoul" />'),
        page("Talk:Seoul", "A question. And an answer.", ns="1"),
        page("Template:City", "A template.", ns="10"),
        page("Data", '{"a": "b"}', model="json"),
        page("Nothing", "{{stub}}\n* [[a list]]"),
        page("No text"),
        page("Han", "An older text.", "The newest text."),
    ]
    path = tmp_path / f"wiki.xml{suffix}"
    data = dump(*pages, head=head.replace("\ufeff\n", ""), version=version).encode()
    data = b"\xef\xbb\xbf" + data if head.startswith("\ufeff") else data
    # Wikimedia's own files are several bz2 streams one after another.
    half = len(data) // 2
    path.write_bytes(bz2.compress(data[:half]) + bz2.compress(data[half:]) if suffix else data)
    assert list(read_documents([path])) == [
        Document(ARTICLE_TEXT, str(path), "Seoul & Co"),
        Document("The newest text.", str(path), "Han"),
    ]


def test_a_dump_says_its_own_encoding(tmp_path):
    path = tmp_path / "wiki.xml"
    head = '<?xml version="1.0" encoding="iso-8859-1"?>\n'
    path.write_bytes(dump(page("Café", "Un café fermé."), head=head).encode("latin-1"))
    assert [(d.title, d.text) for d in read_documents([path], encoding="cp949")] == [("Café", "Un café fermé.")]


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("One line\nand the next.\n\nAnother paragraph.", "One line and the next.\nAnother paragraph."),
        ("Before.\n{{Infobox|a=\n* b\n}}\nAfter.", "Before.\nAfter."),
        ("''[[Titanic]]'''s maiden voyage, '''bold'''\n\n'''open", "Titanic's maiden voyage, bold\nopen"),
        ("'''''Both''''' and '''bold''' and ''slanted''.", "Both and bold and slanted."),
        ("[[Main Page]]s, [[a (b)|a]]c, [[:Talk:Seoul]], [[wikt:word|word]].", "Main Pages, ac, Talk:Seoul, word."),
        ("[[파일:a.jpg|섬네일|[[서울]]의 밤]]서울은 도시다.[[분류:도시]]", "서울은 도시다."),
        ("See [http://a.org] and [http://a.org the site] at http://a.org/x.", "See and the site at http://a.org/x."),
        ("A list:\n* one\n# two\n; three : four\nProse.", "Prose."),
        ("{|\n! a || b\n| not closed\nProse.", "Prose."),
        ("<pre>code</pre>Water is H<sub>2</sub>O, <nowiki>''so''</nowiki>.", "Water is H2O, ''so''."),
        ("First.<blockquote>Quoted.</blockquote>Last.", "First.\nQuoted.\nLast."),
        ("A {{a {{b}} }} c {{{1|x}}} d&amp;nbsp;e.", "A c d e."),
        ("{{asof|2010}}, it is ({{IPA|x}}) here.", "it is here."),
    ],
)  # fmt: skip
def test_running_text(wikitext, expected):
    assert clean_text(running_text(wikitext)) == expected


def test_hidden_namespaces_are_those_of_the_wiki():
    text = "Prose [[Fichier:a.jpg|thumb|caption]] here."
    assert clean_text(running_text(text, frozenset({"fichier"}))) == "Prose here."
    assert "caption" in running_text(text)


def test_broken_dumps_are_refused(tmp_path):
    whole = dump(page("A", "Text one."), page("B", "Text two.")).encode()
    for name, data, message in (
        ("cut.xml", whole[:-60], r"dump must be whole. Received: .*cut\.xml: unclosed token"),
        ("cut.xml.bz2", bz2.compress(whole)[:-9], r"file must be whole. Received: .*cut\.xml\.bz2: Compressed file"),
        ("bad.xml", whole.replace(b"Text two.", b"Text <two."), r"Received: .*bad\.xml: .*line \d+"),
        ("feed.xml", b"<?xml version='1.0'?>\n<feed xmlns='x' />", r"must be a MediaWiki dump. .*feed\.xml, .*<feed>"),
    ):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(data)
        documents = read_documents([path])
        with pytest.raises(ValueError, match=message):
            list(documents)


def test_memory_does_not_grow_with_the_dump_or_with_a_history(tmp_path):
    path = tmp_path / "wiki.xml"
    text = "A sentence of an article. " * 40  # 1 kB.
    revisions = page("History", *(f"{number} {text}" for number in range(6000)))
    path.write_text(dump(*(page(f"A{number}", text) for number in range(2000)), revisions))
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    count = sum(1 for _ in read_documents([path]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2001
    assert peak < 1_500_000


def test_without_the_parser_a_sentence_says_what_to_install(tmp_path):
    (tmp_path / "wiki.xml").write_text(dump(page("A", "Text.")))
    code = (
        "import sys; sys.modules['mwparserfromhell'] = None\n"
        "from kbert.cli import main; sys.exit(main(['corpus', sys.argv[1]]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "wiki.xml")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2 and finished.stderr.count("\n") == 1
    assert "pip install 'keras-kbert[corpora]'" in finished.stderr
