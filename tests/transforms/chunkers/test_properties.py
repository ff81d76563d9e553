"""What holds for every chunker, tokenizer and text."""

import json
import random

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import snapshots

from models.encoder import load_encoder
from models.fakes import RandomEncoder
from models.llm.records import OVER_CONTEXT, Answer, LlmFailure
from models.settings import EncoderSettings
from transforms.chunking import Detection, Questioning, make_cutter
from transforms.elements import Snapshot
from transforms.rewriting.asking import Asking, estimated_tokens
from transforms.rewriting.settings import PicSettings
from transforms.semantic.detection import Detector
from transforms.settings import ChunkingSettings, SemanticSettings

CHUNKERS = ["fixed", "recursive", "structural", "auto", "semantic", "pic", "llm"]
HASHING = EncoderSettings(encoder="hashing", max_input_tokens=24)


@st.composite
def chunking_settings(draw, chunker):
    window = draw(st.sampled_from([1, 2, 4, 7, 20, 64, 150]))
    return ChunkingSettings(
        chunker=chunker,
        window_tokens=window,
        overlap_tokens=draw(st.just(0) | st.integers(0, window - 1)),
        min_tokens=min(window, draw(st.sampled_from([0, 5, 32]))),
        heading_prefix=draw(st.booleans()),
        max_context_tokens=draw(st.sampled_from([0, 6, 64])),
    )


@st.composite
def detections(draw):
    """Ways to find boundaries, by the hashing encoder or by one that answers at random."""
    chosen = SemanticSettings(
        detection_windows=draw(st.sampled_from(["mean", "text"])),
        neighbour_sentences=draw(st.integers(0, 3)),
        compare_windows=draw(st.sampled_from(["apart", "overlapping"])),
        threshold=draw(st.sampled_from(["percentile", "absolute", "deviation", "iqr", "gradient"])),
        threshold_percentile=draw(st.sampled_from([0.0, 50.0, 95.0])),
        threshold_deviations=draw(st.sampled_from([0.0, 1.0])),
        min_distance=draw(st.sampled_from([0.0, 0.3])),
        min_run_sentences=draw(st.integers(1, 3)),
    )
    load = draw(st.sampled_from([load_encoder, lambda _: RandomEncoder()]))
    return Detection(chosen, Detector(HASHING, load))


@st.composite
def questionings(draw):
    """Models that answer at random: nonsense, numbers that may be right, a summary, nothing, or not at all."""
    model = RandomModel(draw(st.integers(0, 2**32)))
    asking = Asking(model.ask, {"kind": "random"}, draw(st.sampled_from([600, 1200, 8192])), estimated_tokens)
    pic = PicSettings(
        pic_min_chars=draw(st.sampled_from([0, 20])),
        pic_min_sentences=draw(st.sampled_from([1, 3])),
        pic_min_spread=draw(st.sampled_from([0.0, 0.5])),
    )
    return Questioning(asking, pic)


class RandomModel:
    """Answers each prompt in its own way, and always in the same."""

    def __init__(self, seed):
        self._seed = seed

    def ask(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        chance = random.Random(f"{self._seed} {request.messages}")
        numbers = [chance.randint(-1, 12) for _ in range(chance.randint(0, 4))]
        words = chance.sample(request.messages[-1].content.split() or ["none"], 1)
        texts = ["", "{", json.dumps({"cut_after": numbers}), json.dumps({"cut_after": sorted(set(numbers))})]
        answers = [*map(Answer, [*texts, " ".join(words)]), LlmFailure(OVER_CONTEXT), Answer("[1", is_cut=True)]
        return chance.choice(answers)


@pytest.mark.parametrize("name", ["hashing", "minilm", "foreign", "tiktoken"])
@pytest.mark.parametrize("chunker", CHUNKERS)
@settings(max_examples=50, deadline=None)
@given(snapshots(), st.data())
def test_every_chunker_keeps_every_promise(tokenizers, chunker, name, snapshot, data):
    tokenizer = tokenizers[name]
    chosen = data.draw(chunking_settings(chunker))
    asked = {"detection": data.draw(detections()) if chunker in ("semantic", "pic") else None}
    asked["questioning"] = data.draw(questionings()) if chunker in ("pic", "llm") else None
    cut = make_cutter(chosen, tokenizer, **asked).cut(snapshot)
    assert cut == make_cutter(chosen, tokenizer, **asked).cut(snapshot)
    check_spans(snapshot, cut.units)
    check_coverage(snapshot, cut, tokenizer)
    check_tokens(cut, chosen.window_tokens, tokenizer)
    check_graphemes(snapshot, cut)


@pytest.mark.parametrize("name", ["hashing", "minilm", "foreign"])
@pytest.mark.parametrize("chunker", CHUNKERS)
@settings(max_examples=25, deadline=None)
@given(snapshots(), st.data())
def test_windows_of_another_tokenizer_keep_the_encoders_limit(tokenizers, chunker, name, snapshot, data):
    chosen = data.draw(chunking_settings(chunker)).model_copy(update={"budget_tokenizer": "tiktoken:cl100k_base"})
    tokenizer = SmallInput(tokenizers[name], data.draw(st.sampled_from([12, 30, 256])))
    asked = {"detection": data.draw(detections()) if chunker in ("semantic", "pic") else None}
    asked["questioning"] = data.draw(questionings()) if chunker in ("pic", "llm") else None
    cut = make_cutter(chosen, tokenizer, **asked).cut(snapshot)
    check_spans(snapshot, cut.units)
    check_coverage(snapshot, cut, tokenizer)
    check_tokens(cut, 256, tokenizer)
    check_graphemes(snapshot, cut)
    check_budget(snapshot, cut, chosen.window_tokens, tokenizers["tiktoken"])


class SmallInput:
    """A tokenizer whose encoder reads less."""

    def __init__(self, tokenizer, max_input_tokens):
        self._tokenizer, self.max_input_tokens = tokenizer, max_input_tokens

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


def check_budget(snapshot, cut, window, budget):
    starts, ends = budget.offsets(snapshot.text)
    for unit in cut.units:
        assert len(unit.text) == 1 or ((ends > unit.start) & (starts < unit.end)).sum() <= window


def check_spans(snapshot, units):
    assert all(snapshot.text[unit.start : unit.end] == unit.text and unit.text.strip() for unit in units)
    assert (np.diff([unit.start for unit in units]) > 0).all()


def check_coverage(snapshot, cut, tokenizer):
    """White space apart, only what the encoder finds no token in is left out, and that is counted."""
    left = set(range(len(snapshot.text)))
    for unit in cut.units:
        left.difference_update(range(unit.start, unit.end))
    is_seen = tokenizer.count([snapshot.text])[0] > 0
    # Where an encoder has tokens for white space, a text of nothing else has no units all the same.
    assert bool(cut.units) == (is_seen and not snapshot.text.isspace())
    unseen = "".join(snapshot.text[place] for place in left if not snapshot.text[place].isspace())
    assert not is_seen or not tokenizer.count(list(unseen)).any()
    assert not unseen or cut.counts == {"texts_without_tokens": 1} or cut.counts["units_without_tokens"] > 0


def check_tokens(cut, window, tokenizer):
    units = cut.units
    assert [unit.n_tokens for unit in units] == tokenizer.count([unit.text for unit in units]).tolist()
    # One code point can hold more tokens than the smallest windows.
    assert all(unit.n_tokens <= window or len(unit.text) == 1 for unit in units)
    whole = tokenizer.count([unit.embedded_text for unit in units]) + tokenizer.overhead_tokens
    assert (whole <= tokenizer.max_input_tokens).all()
    if tokenizer.max_word_letters is not None:
        assert not any(tokenizer.tokenize(unit.text).forced_cuts.size for unit in units)


def check_graphemes(snapshot, cut):
    boundaries = {match.start() for match in regex.finditer(r"\X", snapshot.text)} | {len(snapshot.text)}
    n_inside = sum(place not in boundaries for unit in cut.units for place in (unit.start, unit.end))
    assert n_inside == 0 or cut.counts["cut_graphemes"] > 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["cat", "embeddings", "unaffable", ".", "naïve", "食"]), max_size=60), st.data())
@example(["cat"] * 30, None)
def test_window_formulas_are_exact_where_no_cut_moved(tokenizers, words, data):
    tokenizer = tokenizers["minilm"]
    window = data.draw(st.integers(1, 12)) if data else 10
    overlap = data.draw(st.integers(0, window - 1)) if data else 3
    snapshot = Snapshot(" ".join(words))
    chosen = ChunkingSettings(chunker="fixed", window_tokens=window, overlap_tokens=overlap)
    cut = make_cutter(chosen, tokenizer).cut(snapshot)
    starts, ends = tokenizer.offsets(snapshot.text)
    n, stride = len(starts), window - overlap
    if cut.counts.get("moved_cuts"):
        return
    assert len(cut.units) == (0 if n == 0 else 1 if n <= window else -(-(n - overlap) // stride))
    assert [unit.start for unit in cut.units] == starts[::stride][: len(cut.units)].tolist()
    assert [unit.end for unit in cut.units] == ends[
        np.minimum(np.arange(len(cut.units)) * stride + window, n) - 1
    ].tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=8), st.integers(4, 30))
def test_recursive_never_parts_a_paragraph_or_sentence_that_fits(tokenizers, paragraphs, window):
    sentences = [[" ".join(["Word"] * n) + "." for n in paragraph] for paragraph in paragraphs]
    text = "\n\n".join(" ".join(paragraph) for paragraph in sentences)
    chosen = ChunkingSettings(chunker="recursive", window_tokens=window)
    inner_ends = {unit.end for unit in make_cutter(chosen, tokenizers["hashing"]).cut(Snapshot(text)).units[:-1]}
    place = 0
    for paragraph in sentences:
        fits = len(" ".join(paragraph).replace(".", " .").split()) <= window
        for number, sentence in enumerate(paragraph):
            inside = range(place + 1, place + len(sentence))
            assert len(sentence.split()) + 1 > window or not inner_ends.intersection(inside)
            place += len(sentence)
            assert not fits or number == len(paragraph) - 1 or place not in inner_ends
            place += 2 if number == len(paragraph) - 1 else 1
