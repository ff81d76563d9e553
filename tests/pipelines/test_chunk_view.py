import io
import json

import pytest

from pipelines import cli
from pipelines.chunk_view import cut_file
from pipelines.config import load_settings
from pipelines.output import make_console

TEXT = "# Café\n\nOne two three four. Five six seven eight.\n\n## Ünder\n\n" + "Nine ten eleven twelve. " * 20


@pytest.fixture
def view(tmp_path):
    """Cuts a file with this name and content, with the hashing encoder."""

    def cut(name, content, **settings):
        (tmp_path / name).write_text(content, encoding="utf-8")
        loaded = load_settings(None, {"encoder": "hashing", **settings})
        return cut_file(str(tmp_path / name), loaded.reading, loaded.chunking, loaded.encoder)

    return cut


def printed(view):
    stream = io.StringIO()
    view.show(make_console(stream))
    return stream.getvalue()


@pytest.mark.parametrize("chunker", ["auto", "fixed", "recursive", "structural", "semantic"])
def test_units_are_exact_in_order_and_within_the_window(view, chunker):
    found = view("a.md", TEXT, chunker=chunker, window_tokens="20", min_tokens="1")
    units = found.to_json()["units"]
    text = found.documents[0].snapshot.text
    assert len(units) > 3
    assert all(text[unit["start"] : unit["end"]] == unit["text"] and 0 < unit["tokens"] <= 20 for unit in units)
    assert [unit["start"] for unit in units] == sorted(unit["start"] for unit in units)


def test_the_text_is_shown_once_with_shared_parts_marked(view):
    found = view(
        "a.txt", "".join(f"w{i} " for i in range(100)), chunker="fixed", window_tokens="30", overlap_tokens="5"
    )
    lines = printed(found).splitlines()
    fresh = " ".join(line for line in lines if line.startswith("    "))
    shared = " ".join(line.removeprefix("  < ") for line in lines if line.startswith("  < "))
    assert fresh.split() == [f"w{i}" for i in range(100)]
    assert len(shared.split()) == 5 * (len(found.documents[0].cut.units) - 1)
    assert not any(line.startswith("  ! ") for line in lines)


def test_a_row_is_a_document_and_a_bad_row_is_named(view):
    found = view("a.jsonl", '{"id": "a", "text": "one two"}\n{"id": "b"}\n{"id": "c", "text": "three"}\n')
    answer = found.to_json()
    assert [(unit["key"], unit["text"]) for unit in answer["units"]] == [("a", "one two"), ("c", "three")]
    assert [failure["row"] for failure in answer["failures"]] == [1] and answer["failures"][0]["reason"]
    assert "a.jsonl#a: 1 unit " in printed(found) and "a.jsonl#b: no_text" in printed(found)


def test_what_fell_back_is_noted(view):
    found = view("a.txt", "The same again. " * 9, chunker="semantic")
    assert found.to_json()["outcomes"] == {"no_separation": 1}
    assert "noted: 1 no separation" in printed(found)


def test_hostile_text_cannot_steer_the_terminal(view):
    text = printed(view("a\x1b[31m.txt", "one \x1b]0;title\x07 [bold]two[/] \u202e three"))
    assert not set(text) & set("\x1b\x07\u202e") and "[bold]two[/]" in text


def test_as_a_command(tmp_path, capsys, checkout):
    (tmp_path / "a.txt").write_text("one two three")
    assert cli.main(["chunk", str(tmp_path / "a.txt"), "--encoder", "hashing", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(unit["start"], unit["end"], unit["tokens"]) for unit in answer["units"]] == [(0, 13, 3)]
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill chunk\n")[1]
    assert all(f"`{key}`" in section for key in answer)
    assert all(f"`units[].{key}`" in section for key in answer["units"][0])
    flags = ["--encoder", "hashing", "--chunker", "semantic", "--explain", "--json"]
    assert cli.main(["chunk", str(tmp_path / "a.txt"), *flags]) == 0
    answer = json.loads(capsys.readouterr().out)
    (found,) = answer["explanations"]
    assert all(f"`explanations[].{key}`" in section for key in found)
    assert all(f"`explanations[].sentences[].{key}`" in section for key in found["sentences"][0])


@pytest.mark.parametrize(
    ("name", "flags", "code", "part"),
    [
        ("nowhere.txt", [], 1, "No such file"),
        ("a.exe", [], 1, "unknown_format"),
        ("a.pdf", [], 1, "a.pdf: "),
        ("a.txt", ["--window-tokens", "100000"], 2, "window_tokens = 100000"),
        ("a.txt", ["--max-document-bytes", "2"], 1, "a.txt: "),
        ("a.txt", ["--explain"], 2, "chunker = auto measures nothing to explain"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, capsys, name, flags, code, part):
    if name != "nowhere.txt":
        (tmp_path / name).write_text("one two three")
    assert cli.main(["chunk", str(tmp_path / name), "--encoder", "hashing", *flags]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and part in captured.err
