import io
import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.output import make_console, print_json, print_pairs, print_table, safe, snippet
from pipelines.views import show_hits

HOSTILE = "a\x1b]0;title\x07\x9b31m\r\n[bold red]b[/] \u202ereversed\u2066 \ud800 :smile: \u2028end"


def printed(show):
    stream = io.StringIO()
    show(make_console(stream))
    return stream.getvalue()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=60))
def test_safe_text_steers_nothing(text):
    line = safe(text)
    assert all(c in "\u200c\u200d" or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in line)
    assert len(line.splitlines()) <= 1
    line.encode("utf-8")


def test_plain_words_in_any_script_stay_as_they_are():
    for text in ("Grüße, 世界", "नमस्ते", "می\u200cخواهم", "👩\u200d🚀"):
        assert safe(text) == text


def test_a_hit_cannot_steer_the_terminal():
    hit = {"uri": HOSTILE, "uris": [HOSTILE, "other" + HOSTILE], "start": 0, "end": 5, "text": HOSTILE}
    hit |= {"heading_path": [HOSTILE], "score": 0.5, "matched": {"start": 0, "end": 5, "text": HOSTILE}}
    text = printed(lambda console: show_hits([hit], None, console))
    assert not set(text) & set("\x1b\x07\x9b\r\u202e\u2066\u2028\ud800")
    assert "[bold red]b[/]" in text and ":smile:" in text


@pytest.mark.parametrize("n_chars", [1, 10, 230])
def test_a_snippet_is_short_whatever_the_text(n_chars):
    assert len(snippet("x" * 100_000, n_chars)) <= n_chars + 4
    assert len(snippet("\x1b" * 100_000, n_chars)) <= n_chars + 4
    assert snippet("ab", 10) == "ab"


def test_off_a_terminal_output_is_plain_and_80_wide():
    def show(console):
        print_table(console, ("name", "value"), [("a" * 50, "b" * 200), ("[x]", "y")])
        print_pairs(console, [("name", "value " * 60)])

    text = printed(show)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("b") == 200 and "[x]" in text


def test_no_color_is_respected_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    for no_color, coloured in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", no_color)
        stream = Terminal()
        make_console(stream).print("x", style="red")
        assert ("\x1b[31m" in stream.getvalue()) is coloured


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.text(alphabet=st.characters(), max_size=20)))
def test_json_is_one_ascii_line_that_reads_back(payload):
    stream = io.StringIO()
    print_json(payload, stream)
    text = stream.getvalue()
    assert text.isascii() and text.count("\n") == 1 and text.endswith("\n")
    assert json.loads(text) == payload
