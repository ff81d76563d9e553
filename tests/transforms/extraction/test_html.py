import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.errors import ExtractionError
from transforms.extraction import heading_text
from transforms.extraction import html as html_module
from transforms.extraction.html import declared_html_charset, extract_html

# fmt: off
TAGS = ["p", "div", "h1", "h3", "ul", "ol", "li", "table", "thead", "tr", "td", "th", "caption", "pre", "code", "b",
        "blockquote", "a", "script", "style", "title", "svg", "br", "body", "dl", "dt", "dd", "select", "section",
        "textarea"]
# fmt: on
pieces = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]),
    st.sampled_from(
        ["&amp;", "&#0;", "&#xD800;", "&#13;", "&bogus;", "<", "<!--", "-->", "<![CDATA[", " \n", "|", "# x"]
    ),
    st.text(st.characters(exclude_categories=()), max_size=4),
)


@settings(max_examples=500, deadline=None)
@given(pieces=st.lists(pieces, max_size=20))
@example(pieces=["<table>", "lost", "<tr>", "<td>", "a", "<table>", "<td>", "b", "</table>", "<h1>", "c"])
def test_any_html_gives_exact_blocks_that_cover_it(check, uncovered, pieces):
    snapshot, metadata = extract_html("".join(pieces))
    check(snapshot)
    assert uncovered(snapshot) == ""
    "".join(metadata.values()).encode("utf-8")


words = st.lists(st.sampled_from(["alpha", "beta", "gamma"]), min_size=1, max_size=3).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["p", "div", "li", "td", "h2", "pre", "dd", "b", "blockquote"]), words)))
def test_no_visible_word_is_lost(leaves):
    source = "<table><tr>" + "".join(f"<{tag}>{text}</{tag}>" for tag, text in leaves)
    snapshot, _ = extract_html(source)
    shown = [word for _, text in leaves for word in text.split()]
    assert sum(snapshot.text.count(word) for word in ("alpha", "beta", "gamma")) == len(shown)


def test_nested_structure_keeps_its_headings(kinds):
    source = (
        "<p>lead</p><h1>A</h1><div><ul><li>one</li></ul></div><h2>B</h2>"
        "<table><tr><td>x</td></tr></table><script>evil()</script>"
    )
    snapshot, _ = extract_html(source)
    expected = [("paragraph", "lead"), ("heading", "A"), ("list", "- one"), ("heading", "B"), ("table", "| x |")]
    assert kinds(snapshot) == expected
    assert [block.level for block in snapshot.blocks] == [0, 1, 0, 2, 0]


def test_lists_quotes_and_code(kinds):
    snapshot, metadata = extract_html(
        "<title>T &amp; U</title><p>a<br>b\nc</p><ol><li>x<ul><li>y</ul><li><p>z</p><p>zz</p></ol>"
        "<pre>\n def f():\n   x&lt;y\n</pre><blockquote><p>q<p>r</blockquote>tail"
    )
    assert metadata == {"title": "T & U"}
    assert kinds(snapshot) == [
        ("paragraph", "a\nb c"),
        ("list", "1. x\n  - y\n2. z\n  zz"),
        ("code", " def f():\n   x<y"),
        ("quote", "q\nr"),
        ("paragraph", "tail"),
    ]


def test_table_header_rows_and_separator(kinds):
    snapshot, _ = extract_html(
        "<table><caption>Cap</caption><thead><tr><th>a<th>b<tr><td>a2<td>b|2</thead><tr><td>1<td>2</table>"
    )
    caption, table = snapshot.blocks
    assert snapshot.text[caption.start : caption.end] == "Cap"
    assert snapshot.text[table.start : table.header_end] == "| a | b |\n| a2 | b\\|2 |\n| --- | --- |"
    assert snapshot.text[table.header_end : table.end] == "\n| 1 | 2 |"


def test_a_table_for_layout_is_no_table(kinds):
    snapshot, _ = extract_html(
        "<table><tr><td>menu<h2>Head</h2><p>para<td><table><tr><th>k<th>v<tr><td>c<td>d</table>end</table>z"
    )
    assert [kind for kind, _ in kinds(snapshot)] == [
        "paragraph",
        "heading",
        "paragraph",
        "table",
        "paragraph",
        "paragraph",
    ]


def test_heading_names_are_not_read_as_markdown():
    snapshot, _ = extract_html("<h1>C# and f(*args, **kwargs)</h1>")
    assert heading_text(snapshot, snapshot.blocks[0]) == "C# and f(*args, **kwargs)"


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        (b'<meta charset="iso-8859-2">', "iso-8859-2"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', "windows-1251"),
        (b'<meta charset="utf-16">', "utf-8"),
        (b'\xef\xbb\xbf<meta charset="latin-1">', None),
        (b"<p>charset=x", None),
    ],
)
def test_declared_charset(data, charset):
    assert declared_html_charset(data) == charset


HOSTILE = {
    "deep": "<div>" * 10_000 + "x" + "</div>" * 10_000,
    "deeper, unclosed": "<div>" * 100_000 + "x",
    "deep lists": "<ul><li>" * 10_000 + "x",
    "deep tables": "<table><tr><td>" * 10_000 + "x",
    "formatting": "".join(f"<b id={number}>" for number in range(2_000)) + "<p>x" * 2_000,
    "entities": "x&amp;" * 500_000,
    "unknown entities": "x&a;" * 500_000,
    "ampersands": "x" + "&" * 1_000_000,
    "angles": "x" + "<" * 1_000_000,
    "comments": "x" + "<!--" * 500_000,
    "attributes": "x<a " + " b=c" * 500_000 + ">",
    "no line feed": "word " * 2_000_000,
    "declared entities": '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><p>x&b;' * 10,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_html_takes_linear_time_and_space(name, check):
    start = time.process_time()
    snapshot, _ = extract_html(HOSTILE[name])
    assert time.process_time() - start < 10
    assert "x" in snapshot.text or "word" in snapshot.text
    assert len(snapshot.text) <= 2 * len(HOSTILE[name])
    check(snapshot)


def test_end_tags_below_many_open_elements_are_refused(monkeypatch):
    monkeypatch.setattr(html_module, "MAX_END_TAG_STEPS", 1_000_000)
    with pytest.raises(ExtractionError, match="too_deep: 2000"):
        extract_html("<div>" * 20_000 + "</p>" * 20_000)
