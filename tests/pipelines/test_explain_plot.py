import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SettingsError
from pipelines import cli
from pipelines.explain_plot import MAX_DOTS, MAX_PANELS, Explained, draw, write_plot
from transforms.chunkers.explaining import Explanation, Sentence

SVG = "{http://www.w3.org/2000/svg}"
CUT, THRESHOLD = "#b4480e", "#555"


def elements(picture, name):
    return list(ElementTree.fromstring(picture).iter(SVG + name))


def explained(scores, *, threshold=0.5, cuts=(), text=None, measure="distance", labels=None):
    text = text or "abcdefghij" * len(scores)
    rows = tuple(
        Sentence(10 * at, 10 * at + 10, 3, score, at in cuts, labels[at] if labels else "")
        for at, score in enumerate(scores)
    )
    return Explained("a.txt", text, Explanation("semantic", measure, threshold, rows))


def test_each_cut_is_a_line_between_its_sentence_and_the_next_and_a_higher_score_stands_higher():
    picture = draw([explained([0.1, 0.9, 0.4, None], cuts={1})])
    (cut,) = (line for line in elements(picture, "line") if line.get("stroke") == CUT)
    dots = elements(picture, "circle")
    heights = [float(dot.get("cy")) for dot in dots]
    assert len(dots) == 3 and heights[1] < heights[2] < heights[0]
    assert cut.get("x1") == cut.get("x2") == dots[1].get("cx")
    (mark,) = (line for line in elements(picture, "line") if line.get("stroke") == THRESHOLD)
    assert heights[1] < float(mark.get("y1")) < heights[2]
    assert [title.text for title in elements(picture, "title")][1] == "2 0.9000: abcdefghij"


def test_similarities_stand_at_their_sentences_in_the_colours_of_their_labels():
    labels = ("near", "far", "near")
    picture = draw([explained([0.9, -0.2, 0.8], cuts={0, 1}, measure="similarity", labels=labels)])
    *legend, near, far, again = elements(picture, "circle")
    cuts = sorted(float(line.get("x1")) for line in elements(picture, "line") if line.get("stroke") == CUT)
    assert near.get("fill") == again.get("fill") != far.get("fill") and len(legend) == 2
    assert float(near.get("cx")) < cuts[0] < float(far.get("cx")) < cuts[1] < float(again.get("cx"))


def test_sentences_without_scores_are_dots_on_the_ground():
    picture = draw([explained([None, None], threshold=None, cuts={0}, measure="model")])
    assert len({dot.get("cy") for dot in elements(picture, "circle")}) == 1
    assert not elements(picture, "polyline") and "after the sentences that the model named" in picture


def test_what_is_drawn_is_bounded():
    picture = draw([explained([0.1] * (MAX_DOTS + 1))] * (MAX_PANELS + 3))
    assert len(elements(picture, "g")) == MAX_PANELS and not elements(picture, "circle")
    assert "and 3 documents more" in picture


@given(st.text(min_size=1, max_size=30), st.lists(st.none() | st.floats(-1, 1), max_size=6))
def test_any_text_and_any_scores_give_a_picture(text, scores):
    picture = draw([Explained(text, text * 60, explained(scores).explanation)])
    ElementTree.fromstring(picture.encode())
    assert draw([]).startswith("<svg")


def test_a_name_that_is_no_plot_or_no_place_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match=r"is no name of a plot; end it in \.svg"):
        write_plot(tmp_path / "a.png", [])
    with pytest.raises(SettingsError, match="cannot be written: No such file"):
        write_plot(tmp_path / "none" / "a.svg", [])


def test_as_a_command(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("Cats sleep. Cats purr. Banks lend. Banks save. Ships sail.")
    flags = ["chunk", str(tmp_path / "a.txt"), "--encoder", "hashing", "--chunker", "semantic"]
    assert cli.main([*flags, "--explain", "--plot", str(tmp_path / "a.svg"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["explanations"]
    picture = (tmp_path / "a.svg").read_text()
    n_cuts = sum(row["is_cut"] for row in found["sentences"])
    assert sum(line.get("stroke") == CUT for line in elements(picture, "line")) == n_cuts
    assert cli.main([*flags, "--plot", str(tmp_path / "b.svg")]) == 2
    assert "--plot draws what --explain shows; give both" in capsys.readouterr().err
