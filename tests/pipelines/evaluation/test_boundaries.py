import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from models.settings import EncoderSettings
from pipelines import cli
from pipelines.evaluation.boundaries import gaps_of_units, measure_boundaries, parse_marked_text, read_marked_texts
from pipelines.output import make_console
from transforms.elements import Unit
from transforms.evaluation.boundaries import compare
from transforms.settings import ChunkingSettings

ENCODER = EncoderSettings(encoder="hashing")
TEXT = """========,1,preface.
One a.
Two b.
========,2,Next.
========,3,Deep.
Three c.

Four d.
========,2,Last.
Five e.
Six f.
"""


@pytest.fixture
def folder(tmp_path):
    for name, n_sections in (("a", 4), ("b", 7)):
        sections = (
            "".join(f"Line {line} of {section}.\n" for line in range(section + 2)) for section in range(n_sections)
        )
        (tmp_path / f"{name}.txt").write_text("".join(f"========,1,S.\n{section}" for section in sections))
    (tmp_path / "short.txt").write_text("========\none\n========\ntwo\n")
    (tmp_path / "readme").write_text("no marks here\n")
    return tmp_path


def test_marks_are_not_lines_and_a_section_without_lines_is_none():
    marked = parse_marked_text("a", TEXT)
    assert marked.lines == ["One a.", "Two b.", "Three c.", "Four d.", "Five e.", "Six f."]
    assert marked.gaps.tolist() == [False, True, False, True, False]
    assert parse_marked_text("a", TEXT, level=1).gaps.any() == False  # noqa: E712
    assert parse_marked_text("a", TEXT, level=2).gaps.tolist() == [False, True, False, True, False]


@given(st.lists(st.integers(1, 8), min_size=1, max_size=10), st.data())
def test_a_cut_goes_to_the_nearest_gap(lengths, data):
    lines = ["x" * length for length in lengths]
    text = "\n".join(lines)
    begins = sorted(set(data.draw(st.lists(st.integers(0, len(text) - 1), max_size=6))))
    starts = [sum(lengths[:n]) + n for n in range(len(lengths))]
    expected = np.zeros(len(lines) - 1, bool)
    for begin in begins:
        distances = [abs(start - begin) for start in starts]
        nearest = max(n for n, distance in enumerate(distances) if distance == min(distances))
        if nearest:
            expected[nearest - 1] = True
    units = [Unit(begin, len(text), text[begin:], 1) for begin in begins]
    assert gaps_of_units(units, lines).tolist() == expected.tolist()


def test_fixed_windows_of_one_line_are_all_boundaries(tmp_path):
    lines = ["one two three four."] * 12
    (tmp_path / "a").write_text("\n".join([*lines[:5], "========", *lines[5:]]))
    report = measure_boundaries(str(tmp_path), ChunkingSettings(chunker="fixed", window_tokens=5), ENCODER)
    assert report.results[0].n_cuts == 11
    assert report.mean("pk") == report.mean("pk", "all_boundaries")
    whole = measure_boundaries(str(tmp_path), ChunkingSettings(chunker="fixed", window_tokens=200), ENCODER)
    assert whole.mean("windowdiff") == whole.mean("windowdiff", "no_boundaries")


def test_means_are_over_texts_and_shares_over_windows(folder):
    report = measure_boundaries(str(folder), ChunkingSettings(chunker="recursive", window_tokens=20), ENCODER)
    assert [result.name for result in report.results] == ["a.txt", "b.txt"] and report.skipped == ["short.txt"]
    found = [result.disagreements["chunker"] for result in report.results]
    assert report.mean("pk") == pytest.approx(np.mean([one.pk for one in found]))
    assert report.pooled("pk") == pytest.approx(
        sum(one.pk_errors for one in found) / sum(one.n_windows for one in found)
    )
    texts = [text for text in read_marked_texts(str(folder)) if text.name != "short.txt"]
    for text, result in zip(texts, report.results, strict=True):
        assert result.disagreements["no_boundaries"] == compare(text.gaps, np.zeros_like(text.gaps))
    stream = io.StringIO()
    report.show(make_console(stream))
    assert "no boundaries" in stream.getvalue() and max(map(len, stream.getvalue().splitlines()[1:])) <= 80


def test_the_published_baseline_of_fifty_articles(shared):
    """Marks, gaps and windows are those of the literature: never cutting has a Pk and a WindowDiff of 42.2."""
    folder = shared("data/wiki_test_50/docs")
    report = measure_boundaries(str(folder), ChunkingSettings(chunker="fixed"), ENCODER)
    assert len(report.results) == 50 and sum(result.n_sections for result in report.results) == 384
    assert round(100 * report.mean("pk", "no_boundaries"), 1) == 42.2
    assert round(100 * report.mean("windowdiff", "no_boundaries"), 1) == 42.2


@pytest.mark.parametrize("content", [b"no marks\n", b"========\none line\n", b""])
def test_a_folder_without_sections_is_refused(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SettingsError, match="has no marked text of two sections"):
        measure_boundaries(str(tmp_path), ChunkingSettings(), ENCODER)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SettingsError, match="name a folder of marked texts"):
        measure_boundaries(str(tmp_path / "nowhere"), ChunkingSettings(), ENCODER)
    (tmp_path / "a").write_bytes(b"========\n\xff\n")
    with pytest.raises(SettingsError, match=r"is not UTF-8 \(byte 9\)"):
        measure_boundaries(str(tmp_path), ChunkingSettings(), ENCODER)


def test_as_a_command(folder, capsys, checkout):
    assert cli.main(["boundaries", str(folder), "--encoder", "hashing", "--window-tokens", "20", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    section = (checkout / "docs" / "json.md").read_text().split("## corpusmill boundaries\n")[1].split("\n## ")[0]
    assert all(f"`{key}`" in section for key in [*answer, *answer["texts"][0]])
