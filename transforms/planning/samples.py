"""A sample of real documents, really cut: what each cutter and each level makes of them. No Beam, and no encoder."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.settings import EncoderSettings
from models.tokenizer import Tokenizer
from transforms.chunkers.sentences import sentence_starts
from transforms.chunking import has_markup, make_cutter
from transforms.elements import CutDocument, Snapshot
from transforms.extraction import content_id
from transforms.planning.corpus import AUTO, CUTTERS, LEVELS, CorpusPasses, Windows, settings_of
from transforms.planning.work import PassTally
from transforms.settings import ChunkingSettings

CHARS_PER_TOKEN = 4
"""Characters of a work item for each token of a call, as `transforms.work` packs them."""


class Sample:
    """Takes documents one by one and keeps sums alone. Equal contents are cut once, as a run does it.

    `prompt_tokens` are those of the encoder's document prompt, `call_tokens` what one encoder call may hold, within
    which equal texts are read once. Raises as `make_cutter`.
    """

    def __init__(
        self,
        settings: ChunkingSettings,
        tokenizer: Tokenizer,
        prompt_tokens: int,
        slots_per_sentence: float,
        call_tokens: int = EncoderSettings().work_item_tokens,
    ) -> None:
        self._calls = {name: _Call(call_tokens) for name in (*CUTTERS, AUTO)}
        self._items = _Items(call_tokens * CHARS_PER_TOKEN)
        self._tokenizer = tokenizer
        self._overhead = tokenizer.overhead_tokens + prompt_tokens
        self._room = tokenizer.max_input_tokens - self._overhead
        self._cutters = {
            name: make_cutter(settings_of(name, settings, self._room), tokenizer, prompt_tokens) for name in CUTTERS
        }
        self._windows = {name: int(cutter.identity["windows"][name]) for name, cutter in self._cutters.items()}
        self._overlap = settings.overlap_tokens
        reserved = {name: settings.max_context_tokens if name == "structural" else 0 for name in CUTTERS}
        slots: dict[str, float] = {
            name: min(self._windows[name] + reserved[name], self._room) + self._overhead for name in CUTTERS
        }
        slots[AUTO] = max(slots["recursive"], slots["structural"])
        slots |= {level: self._room + self._overhead for level in LEVELS} | {"sentence": slots_per_sentence}
        self._tallies = {name: PassTally(size, self._overhead) for name, size in slots.items()}
        self._seen: set[str] = set()
        self.n_tokens = 0
        self.outcomes: Counter[str] = Counter()

    @property
    def n_documents(self) -> int:
        """Documents with a text that no earlier one had."""
        return len(self._seen)

    def add(self, snapshot: Snapshot) -> None:
        """Measure one document."""
        if not snapshot.text.strip():
            self.outcomes["empty"] += 1
            return
        name = content_id(snapshot)
        if name in self._seen:
            self.outcomes["copies"] += 1
            return
        self._seen.add(name)
        if self._items.is_new(len(snapshot.text)):
            for call in self._calls.values():
                call.start()
        starts = self._tokenizer.tokenize(snapshot.text).starts
        self.n_tokens += len(starts)
        cuts = {name: cutter.cut(snapshot) for name, cutter in self._cutters.items()}
        for cutter_name, cut in cuts.items():
            self._add_cut(cutter_name, cut)
        self._add_cut(AUTO, cuts["structural" if has_markup(snapshot) else "recursive"])
        self._add_levels(snapshot, starts)

    def finish(self, source: str, scale: float = 1.0) -> CorpusPasses:
        """The passes of `scale` times the sample."""
        basis = {name: f"{name} cuts of the sample" for name in (*CUTTERS, AUTO)} | {
            name: f"{name}s of the sample" for name in LEVELS
        }
        return CorpusPasses(
            n_documents=self.n_documents * scale,
            n_tokens=self.n_tokens * scale,
            mark="measured",
            source=source,
            passes={name: tally.finish(basis[name], scale) for name, tally in self._tallies.items()},
            windows=Windows(**self._windows, overlap_tokens=self._overlap),
        )

    def _add_cut(self, name: str, cut: CutDocument) -> None:
        contents = np.array([unit.n_tokens for unit in cut.units], np.int64)
        texts = sorted({unit.context for unit in cut.units if unit.context})
        counts = dict(zip(texts, self._tokenizer.count(texts).tolist(), strict=True)) if texts else {}
        contexts = np.array([counts.get(unit.context, 0) for unit in cut.units], np.int64)
        is_read = self._calls[name].take([unit.embedded_text for unit in cut.units], contents + self._overhead)
        self._tallies[name].add(contents, contexts, is_read)

    def _add_levels(self, snapshot: Snapshot, starts: NDArray[np.int64]) -> None:
        places = {
            "sentence": np.fromiter(sentence_starts(snapshot.text), np.int64),
            "paragraph": np.array([block.start for block in snapshot.blocks if block.kind != "page"], np.int64),
            "section": np.array([block.start for block in snapshot.blocks if block.kind == "heading"], np.int64),
        }
        places["sentence"] = np.concatenate([places["sentence"], places["paragraph"]])
        for level, cuts in places.items():
            self._tallies[level].add(_within(_sizes(cuts, starts), self._room))


class _Items:
    """Packs documents into work items as a run does; a call never goes over the end of one."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._n_chars = 0

    def is_new(self, n_chars: int) -> bool:
        """Whether a document of so many characters begins another item."""
        is_new = self._n_chars + n_chars > self._max_chars
        self._n_chars = n_chars if is_new else self._n_chars + n_chars
        return is_new


class _Call:
    """Tells which texts an encoder call has not read yet, call after call."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self.start()

    def start(self) -> None:
        """Begin another call."""
        self._n_tokens = 0
        self._seen: set[str] = set()

    def take(self, texts: Sequence[str], n_tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the next texts are read, bool (n,)."""
        is_read = np.ones(len(texts), np.bool_)
        for number, (text, count) in enumerate(zip(texts, n_tokens.tolist(), strict=True)):
            if self._n_tokens + count > self._max_tokens:
                self.start()
            self._n_tokens += count
            is_read[number] = text not in self._seen
            self._seen.add(text)
        return is_read


def _sizes(places: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tokens of each piece of a text that is cut at `places`, its tokens beginning at `starts`; no piece is empty."""
    edges = np.unique(np.concatenate([[0], starts.searchsorted(places), [len(starts)]]))
    return np.diff(edges)


def _within(sizes: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """The sizes with those over `room` in as few even parts as fit."""
    parts = -(-sizes // room)
    quotient, rest = np.divmod(sizes, parts)
    numbers = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.repeat(quotient, parts) + (numbers < np.repeat(rest, parts))
