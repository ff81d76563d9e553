"""The block scanner against markdown-it-py, on Markdown made of the pieces that tell parsers apart."""

import re
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from transforms.elements import Block
from transforms.extraction import heading_text
from transforms.extraction.markdown import MAX_NESTING, extract_markdown

ORACLE = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
ORACLE.core.ruler.disable(["inline"])
KINDS = {
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "paragraph_open": "paragraph",
    "html_block": "paragraph",
    "hr": "paragraph",
}
# fmt: off
PIECES = [
    "# h", "## C# ##", "   # g", "#x", "para", "  text", "    code", "\tt", "", "", "   ", "```", "````", "~~~",
    "  ```", "- a", "* b", "  - c", "1. x", "2. y", "1) p", "10. k", "- ```", "-\tt", "    - deep", "---", "===",
    "- - -", "***", "> q", ">", "> - z", ">     c", "> ```", "> # h", "|-|-|", "| c | d", "<div>", "</div>", "<!-- x",
    "-->", "<span>", "<script>", "</script>", "<?", "?>", "```py", "``` a`b", "\\# no", "+ # in list", "1. > both",
]
# fmt: on
TWO_HEADER_ROWS = re.compile(r"\|.*\n\s*\|.*\n\s*\|-")


def oracle_blocks(text: str) -> list[tuple[str, int, int, int]]:
    lines = text.split("\n")
    blocks = []
    for token in ORACLE.parse(text):
        if token.level == 0 and token.type in KINDS:
            first, last = token.map
            while last > first and not lines[last - 1].strip():
                last -= 1
            blocks.append((KINDS[token.type], first, last, int(token.tag[1]) if token.type == "heading_open" else 0))
    return blocks


def own_blocks(text: str) -> list[tuple[str, int, int, int]]:
    blocks = extract_markdown(text).blocks
    return [(b.kind, text.count("\n", 0, b.start), text.count("\n", 0, b.end) + 1, b.level) for b in blocks]


@settings(max_examples=800, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_blocks_are_those_of_the_oracle(pieces):
    text = "\n".join(["start", "", *pieces])
    assume(not TWO_HEADER_ROWS.search(text))  # a row of its own in the standard, by intent part of the header here
    assert own_blocks(text) == oracle_blocks(text)


def test_where_the_oracle_leaves_the_standard_the_scanner_does_not():
    """A lazy continuation line may be indented by any number of columns (CommonMark 0.31, block quotes)."""
    assert own_blocks("> > n\n    - deep") == [("quote", 0, 2, 0)]


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=()) | st.sampled_from("#`~->|*1. \t\n\r\0"), max_size=120))
@example(text="\ud800\0\r\n# \x1c\r\x0b")
def test_any_text_gives_exact_blocks_that_cover_it(check, uncovered, text):
    snapshot = extract_markdown(text)
    check(snapshot)
    assert uncovered(snapshot) == ""
    assert len(snapshot.text) == len(text) - text.count("\r\n")


def headings(text):
    snapshot = extract_markdown(text)
    return [(block.level, heading_text(snapshot, block)) for block in snapshot.blocks if block.kind == "heading"]


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "~~~~~"])
@pytest.mark.parametrize("indent", ["", "   "])
def test_a_fence_hides_headings_and_is_one_block(fence, indent, kinds):
    inner = fence[:-1] if len(fence) > 3 else ("~~~" if fence[0] == "`" else "```")
    text = f"# Real\n\n{indent}{fence} py\n{inner}\n# not\n\n{inner}\n{indent}{fence}\n\n# Next\n"
    assert headings(text) == [(1, "Real"), (1, "Next")]
    assert [kind for kind, _ in kinds(extract_markdown(text))] == ["heading", "code", "heading"]


def test_an_unclosed_fence_runs_to_the_end():
    assert own_blocks("a\n\n```\n# not\n\nstill") == [("paragraph", 0, 1, 0), ("code", 2, 6, 0)]


def test_setext_headings_have_levels():
    assert headings("Real\n====\n\nbody\n\nSub\n---\n\nmore\n") == [(1, "Real"), (2, "Sub")]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("# C#", "C#"),
        ("# F##", "F##"),
        ("## C# ##", "C#"),
        ("#", ""),
        ("### ###", ""),
        ("# a \\#", "a #"),
        ("# **Bold** and `code_x` [link](http://x/y)", "Bold and code_x link"),
        ("# snake_case_name & co", "snake_case_name & co"),
        ("Two\nlines\n---", "Two lines"),
        ("  #\ttab", "tab"),
    ],
)
def test_heading_names(source, name):
    assert [found for _, found in headings(source + "\n\nbody\n")] == [name]


def test_a_heading_in_another_format_is_taken_as_it_is():
    assert heading_text(extract_markdown("x"), Block("heading", 0, 1, 3)) == "x"


def test_all_rows_above_the_separator_are_the_header(kinds):
    rows = "".join(f"| {number} | x |\n" for number in range(30))
    snapshot = extract_markdown("Caption of it\n| a | b |\n| c | d |\n|---|---|\n" + rows + "\nafter")
    caption, table, _ = snapshot.blocks
    assert [block.kind for block in snapshot.blocks] == ["paragraph", "table", "paragraph"]
    assert snapshot.text[caption.start : caption.end] == "Caption of it"
    assert snapshot.text[table.start : table.header_end] == "| a | b |\n| c | d |\n|---|---|"
    assert snapshot.text[table.header_end : table.end].count("\n") == 30


def test_front_matter_is_no_heading(kinds):
    text = "---\ntitle: x\ntags: [a]\n---\n# H\n"
    assert kinds(extract_markdown(text)) == [("code", "---\ntitle: x\ntags: [a]\n---"), ("heading", "# H")]
    assert own_blocks("---\n\ntext\n\n---\n") == oracle_blocks("---\n\ntext\n\n---\n")


HOSTILE = {
    "headings": "# head\n\nbody text\n\n" * 100_000,
    "no line feed": "word " * 2_000_000,
    "no white space": "x" * 10_000_000,
    "quotes": ">" * 3_000_000 + "a",
    "bullets": "- " * 1_000_000 + "a",
    "dashes": "-" * 4_000_000 + "a",
    "spaces": " " * 10_000_000 + "a",
    "blank lines": "\n \t" * 1_000_000,
    "separators": "| a | b |\n|---|\n" * 50_000,
    "attributes": "<a" + " b='" * 500_000,
    "deep list": "".join("  " * min(depth, 90) + "- a\n\n" for depth in range(5_000)),
    "link openers": "# " + "[" * 1_000_000,
    "emphasis": "# " + "*a_ " * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_takes_linear_time(name, check):
    start = time.process_time()
    snapshot = extract_markdown(HOSTILE[name])
    for block in snapshot.blocks[:3]:
        if block.kind == "heading":
            heading_text(snapshot, block)
    assert time.process_time() - start < 10
    check(snapshot)
