"""Search in a published version."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, SettingsError, StoreError
from models.settings import EncoderSettings
from pipelines.search.documents import Documents, Place, uri_matcher
from pipelines.search.hits import Hit, Matched
from pipelines.search.serving import Served, serve
from pipelines.search.shard import Row, SearchedShard
from transforms.indexing.searching import NONE, Candidates, merge_candidates
from transforms.settings import IndexSettings
from transforms.store.files import Store
from transforms.store.manifest import Manifest
from transforms.store.versions import load_manifest

if TYPE_CHECKING:
    from models.encoder import Encoder

QUERIES_AT_ONCE = 64


def open_index(root: str, version: str | None = None, encoder_settings: EncoderSettings | None = None) -> "Index":
    """The index of `version` under `root`, or of the current one.

    :param encoder_settings: those for the questions' encoder, where they are not the version's own (a folder that has
        moved, another device). It must have the weights and the limits that the version was made with.
    :raises StoreError: no such version.
    :raises ModelError: another encoder.
    """
    store = Store(root)
    manifest = load_manifest(store, version)
    if manifest is None:
        raise StoreError(f"no index in {store.root}; `corpusmill ingest --output` makes one")
    settings = encoder_settings or EncoderSettings.model_validate(manifest.encoder["settings"])
    _check_encoder(settings, manifest)
    return Index(store, manifest, settings)


class _Scope(NamedTuple):
    """What a search is held to: which uris, and the indexed ids of each shard that no such document has."""

    is_match: Callable[[str], bool]
    excluded: Sequence[NDArray[np.int64]]


class Index:
    """A version opened for search. It stays on its version whatever is published meanwhile.

    `outcomes` counts the questions asked, those over the encoder's limit, whose ends were not read, the passages that
    were served, and the units that were matched until there were `k` of them.
    """

    def __init__(self, store: Store, manifest: Manifest, encoder_settings: EncoderSettings) -> None:
        self.manifest = manifest
        self.outcomes: Counter[str] = Counter()
        self._settings = IndexSettings.model_validate(manifest.settings.get("index", {}))
        self._encoder_settings = encoder_settings
        plain = None if may_have_propositions(manifest) else manifest.recipes.get("cut", {}).get("id")
        self._shards = [SearchedShard(store, shard, plain) for shard in manifest.shards if shard.index]
        self._documents = Documents(store, manifest.document_shards)

    @property
    def version(self) -> str:
        return self.manifest.version

    @cached_property
    def encoder(self) -> "Encoder":
        """The questions' encoder, loaded when the first one comes."""
        from models.encoder import load_encoder

        return load_encoder(self._encoder_settings)

    @property
    def has_propositions(self) -> bool:
        """Whether some units are served for others that are matched."""
        return any(len(shard.levels.children) > 0 for shard in self._shards)

    @property
    def fan_in(self) -> float | None:
        """Units matched for each passage served, over all questions so far; None where nothing was found."""
        n_served = self.outcomes["served"]
        return self.outcomes["matched"] / n_served if n_served else None

    def search(self, texts: Sequence[str], k: int = 10, uri: str | None = None) -> list[list[Hit]]:
        """The `k` best units for each question, best first; equal scores in the order of what was matched by id.

        Propositions are served as their passages, each passage once, with the score of its best proposition.

        :param uri: pattern of the shell, such as `*/notes/*`; only texts of documents whose whole uri matches are
            searched, as if the index had no others.
        :raises DamagedFileError: a file that the answer needs is damaged, and is named.
        """
        if isinstance(texts, str):
            raise SettingsError("texts is one text; search takes a list of them: search([text])")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise SettingsError(f"k = {k!r} must be at least 1, and whole")
        k = min(k, max(1, sum(shard.n_units for shard in self.manifest.shards)))
        if not texts or not self._shards:
            return [[] for _ in texts]
        scope = None if uri is None else self._scope(uri)
        queries = self.encode(texts)
        blocks = [queries[start : start + QUERIES_AT_ONCE] for start in range(0, len(queries), QUERIES_AT_ONCE)]
        return [hits for block in blocks for hits in self._search_block(block, k, scope)]

    def _scope(self, pattern: str) -> "_Scope":
        content_ids = self._documents.contents_under(pattern)
        if not content_ids:
            raise SettingsError(
                f"uri = {pattern!a} matches no document; it is held against whole uris, as in '*/notes/*' or '*.md'"
            )
        excluded = tuple(shard.indexed_outside(content_ids) for shard in self._shards)
        return _Scope(uri_matcher(pattern), excluded)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions, float32 (q, d). `ModelError` names a question that has none."""
        encoded = self.encoder.encode_queries(texts)
        self.outcomes["queries"] += len(texts)
        self.outcomes["queries_over_limit"] += int(np.sum(encoded.over_limit))
        if not np.all(encoded.valid):
            number = int(np.argmin(encoded.valid))
            raise ModelError(f"question {number} has no usable vector: {texts[number][:80]!r}; ask it in other words")
        return np.asarray(encoded.vectors, np.float32)

    def _search_block(self, queries: NDArray[np.float32], k: int, scope: "_Scope | None") -> list[list[Hit]]:
        served = self._serve(queries, k, scope)
        self.outcomes["served"] += int(np.sum(served.ids != NONE))
        self.outcomes["matched"] += served.n_matched
        wanted = np.unique([served.ids, served.matched])
        units = self.units(wanted[wanted != NONE])
        shown = np.unique(served.ids[served.ids != NONE]).tolist()
        hits = self._hits({number: units[number] for number in shown}, scope)
        columns = zip(served.ids, served.matched, served.scores, strict=True)
        return [_scored(*column, hits, units) for column in columns]

    def rank(self, queries: NDArray[np.float32], k: int) -> Candidates:
        """Ids and scores of the `k` best units for each vector, as `search` ranks them, without their texts."""
        served = self._serve(queries, k)
        return Candidates(served.ids, served.scores)

    def _serve(self, queries: NDArray[np.float32], k: int, scope: "_Scope | None" = None) -> Served:
        """The best `k` units to serve. More are matched until there are so many, or no more are found."""
        excluded = scope.excluded if scope else [None] * len(self._shards)
        n, shards = k, list(zip(self._shards, excluded, strict=True))
        while True:
            found = merge_candidates([shard.search(queries, n, self._settings, ids) for shard, ids in shards], n)
            served = serve(found, [shard.levels for shard in self._shards], k)
            if np.all((served.ids[:, -1] != NONE) | (found.ids[:, -1] == NONE)):
                return served
            n *= 2

    def sample_ids(self, n_units: int) -> NDArray[np.int64]:
        """Ids of about `n_units` live units that are served, spread evenly over each shard's, or of all of them."""
        ids = [np.setdiff1d(shard.live.ids, shard.levels.children, assume_unique=True) for shard in self._shards]
        step = max(1, -(-sum(map(len, ids)) // n_units))
        return np.concatenate([part[::step] for part in ids]) if ids else np.empty(0, np.int64)

    def units(self, ids: NDArray[np.int64]) -> dict[int, Row]:
        """The rows of live units by id: place, text, tokens. `StoreError` names an id that is not live."""
        found: dict[int, Row] = {}
        for shard in self._shards:
            found |= shard.units(ids[shard.holds(ids)])
        for vector_id in ids.tolist():
            if vector_id not in found:
                raise StoreError(f"the index has id {vector_id}, which no content has; run `corpusmill verify`")
        return found

    def uris(self, content_ids: Iterable[str]) -> dict[str, str]:
        """The first uri of each content."""
        return {name: places[0].uri for name, places in self._documents.of_contents(content_ids).items() if places}

    def _hits(self, units: Mapping[int, Row], scope: "_Scope | None") -> dict[int, Hit]:
        """A hit without a score for each unit."""
        places = self._documents.of_contents(str(unit["content_id"]) for unit in units.values())
        return {vector_id: self._hit(unit, places[str(unit["content_id"])], scope) for vector_id, unit in units.items()}

    def _hit(self, unit: Mapping[str, Any], places: Sequence[Place], scope: "_Scope | None") -> Hit:
        if not places:
            raise StoreError(f"no document has content {unit['content_id']}; run `corpusmill verify`")
        first = next(place for place in places if scope is None or scope.is_match(place.uri))
        return Hit(
            uri=first.uri,
            uris=tuple(place.uri for place in places),
            start=unit["start"],
            end=unit["end"],
            text=unit["text"],
            heading_path=tuple(unit["heading_path"] or ()),
            score=0.0,
            unit_id=unit["unit_id"],
            level=unit["level"],
            label=unit["label"] or "",
            metadata=self._documents.metadata(first),
        )


def may_have_propositions(manifest: Manifest) -> bool:
    """Whether the run that made a version wrote propositions."""
    return bool(manifest.settings.get("rewriting", {}).get("rewrite") == "propositions")


def _scored(
    ids: NDArray[np.int64],
    matched: NDArray[np.int64],
    scores: NDArray[np.float32],
    hits: Mapping[int, Hit],
    units: Mapping[int, Row],
) -> list[Hit]:
    rows = zip(ids.tolist(), matched.tolist(), scores.tolist(), strict=True)
    return [
        msgspec.structs.replace(hits[served], score=score, matched=_matched(units[child]) if child != served else None)
        for served, child, score in rows
        if served != NONE
    ]


def _matched(unit: Row) -> Matched:
    return Matched(unit["unit_id"], unit["text"], unit["start"], unit["end"])


def _check_encoder(settings: EncoderSettings, manifest: Manifest) -> None:
    """`ModelError` names what differs from the encoder that made the version's vectors."""
    from models.encoder import encoder_identity

    stored, given = manifest.encoder["identity"], encoder_identity(settings)
    names = (stored.keys() | given.keys()) - {"document_prompt"}  # which no question is given
    differing = sorted(name for name in names if stored.get(name) != given.get(name))
    if differing:
        made_by = manifest.encoder.get("settings", {}).get("encoder", "unknown")
        parts = ", ".join(f"{name} {stored.get(name)!s:.12} != {given.get(name)!s:.12}" for name in differing)
        details = f" ({parts})" if made_by == settings.encoder else ""  # two names say enough
        raise ModelError(
            f"encoder {settings.encoder!r} is not the one that made version {manifest.version}, {made_by!r}{details}; "
            "leave the encoder's flags out to search with that one, or ingest again with this one"
        )
