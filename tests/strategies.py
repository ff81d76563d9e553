"""Texts that break careless code: any Unicode, and Markdown with every kind of block.

Import it as `from strategies import ...`; another distribution owns the package name `tests`.
"""

from hypothesis import strategies as st

from transforms.elements import Snapshot
from transforms.extraction.markdown import extract_markdown
from transforms.extraction.normalising import normalise

# fmt: off
NASTY_PIECES = [
    "a", "é", "e\u0301", "e" + "\u0301" * 30, "ß", "İ", "ﬁ", "\u0301", "\u093e", "ि", "क्षि", "नमस्ते", "กำลังทำ",
    "한국어", "각", "\u1100\u1161\u11a8", "食べ物", "日本語。", "本当？", "𝔘𝔫𝔦", "مرحبا", "שָׁלוֹם",
    "👍🏽", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪🇫🇷🇩", "❤️", "1️⃣", "\u200d", "\u200b", "\ufeff", "\u0600!", "\ue000",
    "\U0010ffff",
    " ", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\t", "\n", "\n\n", " \n \n ", "\x01", "\ufffd",
    "word", "Word. ", "Dr. Who? ", "v1.2.3", "a@b.co", "https://x.y/z.html", ", and ", "; ", "...", "[SEP]",
    "[UNK]", "##ing",
    "antidisestablishmentarianism", "x" * 130, "é" * 101, "한" * 40, "👍" * 101, "-" * 40, "&amp;", "<b>", "\\", "`",
]
MARKDOWN_PIECES = [
    "# Top\n\n", "## C# ##\n\n", "Setext\n===\n\n", "Sub\n---\n", "###### deep [link](/x)\n", "# \n", "#\u0301\n",
    "- item one\n- item two\n  - nested\n\n", "1. first\n2. second\n\n", "> quoted\n> more\n\n", "***\n\n",
    "| a | b |\n|---|:-:|\n| 1 | 2 |\n| three | four five |\n\n", "| h |\n|-|\n" + "| row of a table |\n" * 12 + "\n",
    "```py\ndef f():\n\n    return 1\n```\n\n", "~~~\n# not a heading\n~~~\n", "````\n```\n", "    indented code\n\n",
    "A short paragraph.\n\n",
    "One sentence here. Another one there, with a clause; and more. " * 4 + "\n\n", "line\nline\n",
]
# fmt: on


def texts(max_pieces: int = 40) -> st.SearchStrategy[str]:
    """Normalised texts: words and marks of many scripts in a row, or code points drawn from all of Unicode."""
    pieces = st.lists(st.sampled_from(NASTY_PIECES), max_size=max_pieces).map("".join)
    drawn = st.text(st.characters(exclude_categories=["Cs"]), max_size=max_pieces)
    return (pieces | drawn | st.tuples(pieces, drawn).map("".join)).map(lambda text: normalise(text)[0])


def markdown(max_pieces: int = 14) -> st.SearchStrategy[str]:
    """Markdown with every kind of block, and nasty text in between."""
    piece = st.sampled_from(MARKDOWN_PIECES) | texts(max_pieces=6).map(lambda text: text + "\n\n")
    return st.lists(piece, max_size=max_pieces).map("".join)


def snapshots() -> st.SearchStrategy[Snapshot]:
    """Snapshots with the blocks that extraction finds in them, or with none."""
    return markdown().map(extract_markdown) | texts().map(Snapshot)
