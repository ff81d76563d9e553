import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from transforms import work
from transforms.chunking import make_cutter
from transforms.extraction.markdown import extract_markdown
from transforms.planning import samples
from transforms.planning.corpus import AUTO, CUTTERS, LEVELS
from transforms.planning.samples import Sample
from transforms.settings import ChunkingSettings

TOKENIZER = load_tokenizer(EncoderSettings(encoder="hashing", max_input_tokens=30))
SETTINGS = ChunkingSettings(window_tokens=20, overlap_tokens=3, max_context_tokens=8)

words = st.sampled_from(["one", "two.", "Three", "four,", "five!"])
paragraphs = st.lists(words, min_size=1, max_size=40).map(" ".join)
blocks = st.one_of(paragraphs, paragraphs.map(lambda text: f"# {text[:12]}"))
documents = st.lists(blocks, min_size=1, max_size=6).map("\n\n".join)


def sampled(texts):
    sample = Sample(SETTINGS, TOKENIZER, 2, 32.0)
    for text in texts:
        sample.add(extract_markdown(text))
    return sample


@given(st.lists(documents, min_size=1, max_size=3, unique=True))
def test_a_sample_is_what_the_cutters_make_and_every_level_holds_every_token_once(texts):
    corpus = sampled(texts).finish("sample")
    assert set(corpus.passes) == {*CUTTERS, AUTO, *LEVELS}
    for name in (*CUTTERS, AUTO):
        cutter = make_cutter(SETTINGS.model_copy(update={"chunker": name}), TOKENIZER, 2)
        units = [unit for text in texts for unit in cutter.cut(extract_markdown(text)).units]
        texts_read = {unit.embedded_text: unit for unit in units}.values()
        lengths = [unit.n_tokens + int(TOKENIZER.count([unit.context])[0]) + 2 for unit in texts_read]
        found = corpus.passes[name]
        assert (found.n_inputs, found.content_tokens) == (len(units), sum(unit.n_tokens for unit in units))
        assert (found.tokens, found.pairs) == (sum(lengths), sum(length**2 for length in lengths))
        assert found.tokens <= found.padded_slots
    total = sum(int(TOKENIZER.count([extract_markdown(text).text])[0]) for text in texts)
    assert corpus.n_tokens == total
    assert {corpus.passes[level].content_tokens for level in LEVELS} == {total}
    longest = 28
    assert all(corpus.passes[level].content_tokens <= longest * corpus.passes[level].n_inputs for level in LEVELS)


def test_documents_are_packed_as_a_run_packs_them():
    assert samples.CHARS_PER_TOKEN == work.CHARS_PER_TOKEN


def test_equal_texts_are_read_once_a_call():
    text = "\n\n".join([f"# Part {number}\n\nThe same words under each." for number in range(9)])
    once = Sample(ChunkingSettings(heading_prefix=False, min_tokens=0, window_tokens=6), TOKENIZER, 0, 32.0)
    often = Sample(ChunkingSettings(heading_prefix=False, min_tokens=0, window_tokens=6), TOKENIZER, 0, 32.0, 8)
    for sample in (once, often):
        sample.add(extract_markdown(text))
    one, more = (sample.finish("sample").passes["structural"] for sample in (once, often))
    assert one.n_inputs == more.n_inputs and one.tokens < more.tokens <= one.content_tokens


def test_copies_and_blanks_are_counted_and_cut_once():
    sample = sampled(["One two.", "One two.", "   ", "Three."])
    assert sample.n_documents == 2 and sample.outcomes == {"copies": 1, "empty": 1}


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_scaled_sample_is_the_sample_times_the_scale(scale):
    sample = sampled(["One two. Three four.", "Five."])
    one, many = sample.finish("sample"), sample.finish("sample", scale)
    for name, part in one.passes.items():
        counts = np.array([part.n_inputs, part.content_tokens, part.tokens, part.pairs, part.padded_slots])
        scaled = many.passes[name]
        assert (counts * scale).tolist() == [
            scaled.n_inputs, scaled.content_tokens, scaled.tokens, scaled.pairs, scaled.padded_slots,
        ]  # fmt: skip
