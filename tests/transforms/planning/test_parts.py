from hypothesis import given
from hypothesis import strategies as st
from strategies import snapshots

from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from transforms.chunking import make_cutter
from transforms.elements import Block, Snapshot
from transforms.planning.parts import expected_units
from transforms.settings import ChunkingSettings

TOKENIZER = load_tokenizer(EncoderSettings(encoder="hashing"))


def blocks(*texts):
    """A document of these blocks, headings being those that begin with a mark."""
    found, start = [], 0
    for text in texts:
        kind = "heading" if text.startswith("#") else "list"
        found.append(Block(kind, start, start + len(text), level=int(kind == "heading")))
        start += len(text) + 2
    return Snapshot("\n\n".join(texts), tuple(found))


def cut(snapshot, **settings):
    return len(make_cutter(ChunkingSettings(chunker="structural", **settings), TOKENIZER).cut(snapshot).units)


@given(st.lists(st.integers(40, 90), min_size=1, max_size=30), st.sampled_from([0, 32]))
def test_of_words_of_four_characters_it_is_what_the_cutter_makes(lengths, min_tokens):
    snapshot = blocks("# one", *("two " * n for n in lengths), "# six", "ten " * 50)
    assert expected_units(snapshot, 100, min_tokens) == cut(snapshot, window_tokens=100, min_tokens=min_tokens)


def test_a_part_over_the_window_gives_as_many_units_as_fill_three_quarters():
    assert expected_units(blocks("# a", "two " * 900), 100, 32) == 13


@given(snapshots(), st.integers(1, 60), st.integers(0, 40))
def test_no_text_gives_less_than_a_unit_or_more_than_its_characters(snapshot, window, min_tokens):
    n_units = expected_units(snapshot, window, min_tokens)
    assert bool(snapshot.text) <= n_units <= max(1, len(snapshot.text))
