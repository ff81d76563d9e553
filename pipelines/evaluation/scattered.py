"""A published version whose shards are searched one by one, by whoever has one open, and its rankings put together.

What one shard finds for a block of questions is a `Found`: ids, scores, and all that is measured of the units, but no
texts. It does not depend on which process found it, so a ranking of many is that of an index which has all shards.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.settings import EncoderSettings
from models.tokenizer import Tokenizer
from pipelines.evaluation.arms import Ranking, ranked_units
from pipelines.evaluation.measuring import Cuts, units_enough
from pipelines.evaluation.published import PublishedArm, places_of
from pipelines.search.index import may_have_propositions
from pipelines.search.serving import owners_of, serve_owned
from pipelines.search.shard import SearchedShard
from transforms.indexing.searching import NONE, Candidates, merge_candidates
from transforms.settings import IndexSettings

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]


class Found(NamedTuple):
    """The best units of one shard for q questions: `candidates`, (q, n), and whom each is served as, int64 (q, n).

    `ids` int64 (m,), ascending, are those to be served, with their contents, places and tokens, int64 (m,) each.
    """

    shard: int
    candidates: Candidates
    owners: Numbers
    ids: Numbers
    content_ids: Sequence[str]
    starts: Numbers
    ends: Numbers
    n_tokens: Numbers


_PLAIN = ("owners", "ids", "starts", "ends", "n_tokens")


def to_arrays(found: Found) -> dict[str, NDArray[Any]]:
    """All of `found` but the shard's number, to be written."""
    plain = {name: getattr(found, name) for name in _PLAIN}
    names = np.array(found.content_ids, np.str_)
    return {"hits": found.candidates.ids, "scores": found.candidates.scores, "content_ids": names, **plain}


def from_arrays(shard: int, arrays: Mapping[str, NDArray[Any]]) -> Found:
    """What `to_arrays` was given."""
    plain = {name: arrays[name] for name in _PLAIN}
    candidates = Candidates(arrays["hits"], arrays["scores"])
    return Found(shard, candidates, content_ids=arrays["content_ids"].tolist(), **plain)


class Searcher:
    """Searches the shards of an arm, and holds one of them at a time."""

    def __init__(self, arm: "ScatteredArm", counter: Tokenizer) -> None:
        self._arm, self._counter = arm, counter
        self.shard = lru_cache(maxsize=2)(self._open)

    def search(self, number: int, vectors: Vectors, n: int) -> Found:
        """The `n` best of shard `number` for each question, float32 (q, d)."""
        shard = self.shard(number)
        candidates = shard.search(vectors, n, self._arm.index_settings)
        owners = owners_of(candidates.ids, [shard.levels])
        ids = np.unique(owners[owners != NONE])
        units = shard.units(ids)
        rows = [units[int(one)] for one in ids]
        columns = (*places_of(rows), self._arm.count(rows, self._counter))
        starts, ends, n_tokens = (np.array(column, np.int64) for column in columns)
        return Found(number, candidates, owners, ids, [str(row["content_id"]) for row in rows], starts, ends, n_tokens)

    def text(self, number: int, unit: int) -> str:
        """The text of one unit of a shard."""
        return str(self.shard(number).units(np.array([unit]))[unit]["text"])

    def _open(self, number: int) -> SearchedShard:
        manifest = self._arm.index.manifest
        plain = None if may_have_propositions(manifest) else manifest.recipes.get("cut", {}).get("id")
        return SearchedShard(self._arm.store, manifest.shards[number], plain)


class ScatteredArm(PublishedArm):
    """Ranks what was found elsewhere: `hand_over` gives it, block by block. What is missing it looks up itself."""

    def __init__(self, root: str, version: str | None, encoder: EncoderSettings | None, counter: Tokenizer) -> None:
        super().__init__(root, version, encoder)
        self._searcher = Searcher(self, counter)
        self._vectors: Vectors = np.empty((0, 0), np.float32)
        self._found: Mapping[int, Sequence[Found]] = {}

    @property
    def shard_numbers(self) -> list[int]:
        """The shards that there is something to search in."""
        return [number for number, shard in enumerate(self.index.manifest.shards) if shard.index]

    @property
    def index_settings(self) -> IndexSettings:
        """How the version is searched."""
        return IndexSettings.model_validate(self.index.manifest.settings.get("index", {}))

    def hand_over(self, vectors: Vectors, found: Mapping[int, Sequence[Found]]) -> None:
        """Take the next block: vectors of its questions, and what each shard found, by how many were asked for."""
        self._vectors, self._found = vectors, found

    def search(self, number: int, vectors: Vectors, n: int) -> Found:
        """What one shard has for a block."""
        return self._searcher.search(number, vectors, n)

    def encode(self, questions: Sequence[str]) -> Vectors:
        """The vectors that were handed over, which are those of the questions that are asked."""
        assert len(questions) == len(self._vectors)
        return self._vectors

    def rank(self, vectors: Vectors, k: int, counter: Tokenizer) -> Ranking:
        n = k
        while True:
            parts = self._parts(vectors, n)
            found = merge_candidates([part.candidates for part in parts], n)
            served = serve_owned(found, _looked_up(found.ids, parts), k)
            if np.all((served.ids[:, -1] != NONE) | (found.ids[:, -1] == NONE)):
                break
            n *= 2
        order = np.argsort(np.concatenate([part.ids for part in parts]))
        known = np.concatenate([part.ids for part in parts])[order]
        contents = [name for part in parts for name in part.content_ids]
        wanted = np.isin(known, served.ids)
        codes = np.zeros(len(known), np.int64)
        codes[wanted] = [self.document_code(contents[row]) for row in order[wanted].tolist()]
        fields = [
            np.concatenate([getattr(part, name) for part in parts])[order] for name in ("starts", "ends", "n_tokens")
        ]
        shards = np.repeat([part.shard for part in parts], [len(part.ids) for part in parts])[order]
        ranked = ranked_units(served.ids, known, [codes, *fields])

        def text(question: int, rank: int) -> str:
            unit = int(served.ids[question, rank])
            return self._searcher.text(int(shards[np.searchsorted(known, unit)]), unit)

        return Ranking(ranked, text)

    def _parts(self, vectors: Vectors, n: int) -> Sequence[Found]:
        if n in self._found:
            return self._found[n]
        return [self._searcher.search(number, vectors, n) for number in self.shard_numbers]


def sizes_asked(arm: PublishedArm, cuts: Cuts, unit_tokens: float) -> tuple[int, ...]:
    """How many units each shard is asked for: once where search is exact, and once for each cut where it is not."""
    enough = units_enough(cuts, unit_tokens)
    if arm.is_exact:
        return (enough,)
    return tuple(sorted({enough, cuts.k, *([cuts.matched_k] if cuts.matched_k else [])}))


def _looked_up(ids: Numbers, parts: Sequence[Found]) -> Numbers:
    """Whom each of `ids` is served as."""
    known = np.concatenate([part.candidates.ids.ravel() for part in parts])
    owners = np.concatenate([part.owners.ravel() for part in parts])
    order = np.argsort(known)
    found = owners[order][np.searchsorted(known[order], ids).clip(max=len(known) - 1)]
    return np.where(ids == NONE, NONE, found)
