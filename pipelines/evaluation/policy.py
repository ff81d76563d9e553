"""A policy on trial: a corpus cut and encoded in memory as settings say, and searched exactly."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.encoder import encoder_prompts
from models.errors import ModelError, SettingsError
from models.tokenizer import Tokenizer, load_tokenizer
from pipelines.config import Settings
from pipelines.evaluation.arms import SAMPLED_UNITS, Names, Ranking, ranked_units
from pipelines.evaluation.corpus import Corpus
from pipelines.evaluation.encoding import VectorMemo
from transforms.evaluation.extent import Numbers, Spans
from transforms.identity import unit_id, vector_id
from transforms.indexing.searching import exact_search


@dataclass(frozen=True)
class CutCorpus:
    """A corpus in units: rows of (id, document's code, start, end, tokens), and what the encoder is given for each."""

    rows: Sequence[tuple[int, int, int, int, int]]
    inputs: Sequence[str]
    outcomes: Counter[str]


def cut_corpus(settings: Settings, corpus: Corpus) -> CutCorpus:
    """The units of every different text, as `settings` cut them."""
    from pipelines.run_context import local_questioning
    from transforms.chunkers.protocol import Source
    from transforms.chunking import make_cutter, make_detection
    from transforms.rewriting.dialogues import hold_all

    rewrite = settings.rewriting.rewrite
    if rewrite != "none":
        raise SettingsError(f"rewrite = {rewrite!r} is measured on an index that was made with it, not as a policy")
    tokenizer, prompt = load_tokenizer(settings.encoder), encoder_prompts(settings.encoder)[0]
    prompt_tokens = int(tokenizer.count([prompt])[0]) if prompt else 0
    detection = make_detection(settings.semantic, settings.encoder)
    cutter = make_cutter(settings.chunking, tokenizer, prompt_tokens, detection, local_questioning(settings))
    uris = {content_id: uri for uri, content_id in sorted(corpus.contents_by_uri.items(), reverse=True)}
    sources = [Source(snapshot, name, uris.get(name, "")) for name, snapshot in corpus.snapshots.items()]
    documents = hold_all(map(cutter.dialogue, sources), cutter.ask)
    rows, inputs, outcomes = [], [], Counter[str]()
    for code, (content_id, cut) in enumerate(zip(corpus.snapshots, documents, strict=True)):
        outcomes.update(cut.counts)
        for unit in cut.units:
            name = unit_id(content_id, "", unit.start, unit.end, unit.text, "")
            rows.append((vector_id(name), code, unit.start, unit.end, unit.n_tokens))
            inputs.append(unit.embedded_text)
    return CutCorpus(rows, inputs, outcomes)


class PolicyArm:
    """Units of `corpus` as `settings` cut them. Ties in a ranking go by the units' ids, which come from content.

    `cut` are the units where they are there already; `memo` may have another encoder than the one they were cut for.
    """

    def __init__(
        self, name: str, settings: Settings, corpus: Corpus, memo: VectorMemo, cut: CutCorpus | None = None
    ) -> None:
        self.name, self.is_exact = name, True
        self.tokenizer = load_tokenizer(settings.encoder)
        self._settings, self._corpus, self._memo = settings, corpus, memo
        self._codes = {content_id: code for code, content_id in enumerate(corpus.snapshots)}
        self._texts = [snapshot.text for snapshot in corpus.snapshots.values()]
        self._outcomes: Counter[str] = Counter(corpus.outcomes)
        self._ids, self._vectors, self._fields = self._build(cut or cut_corpus(settings, corpus))

    @property
    def description(self) -> Mapping[str, Any]:
        """Kind, settings that decide the units, and counts."""
        return {
            "kind": "policy",
            "settings": {
                "chunking": self._settings.chunking.model_dump(),
                "encoder": self._settings.encoder.model_dump(),
            },
            "n_documents": self._corpus.n_documents,
            "n_units": len(self._ids),
            "outcomes": {name: count for name, count in sorted(self._outcomes.items()) if count},
        }

    def resolve(self, uris: Collection[str]) -> Mapping[str, str]:
        names = Names(uris)
        contents = self._corpus.contents_by_uri
        names.add(pa.table({"uri": list(contents), "content_id": list(contents.values())}))
        return names.found()

    def texts(self, content_ids: Collection[str]) -> Mapping[str, str]:
        return {content_id: self._corpus.snapshots[content_id].text for content_id in content_ids}

    def unit_spans(self, content_ids: Collection[str]) -> Spans:
        documents, starts, ends, _ = self._fields
        is_wanted = np.isin(documents, [self._codes[content_id] for content_id in content_ids])
        return Spans(*(values[is_wanted] for values in (documents, documents, starts, ends)))

    def document_code(self, content_id: str) -> int:
        return self._codes[content_id]

    def encode(self, questions: Sequence[str]) -> NDArray[np.float32]:
        encoded = self._memo.encoder.encode_queries(questions)
        self._outcomes["questions_over_limit"] += int(encoded.over_limit.sum())
        if not encoded.valid.all():
            number = int(np.argmin(encoded.valid))
            raise ModelError(f"question has no usable vector: {questions[number][:80]!a}; ask it in other words")
        return encoded.vectors.astype(np.float32)

    def rank(self, vectors: NDArray[np.float32], k: int, counter: Tokenizer) -> Ranking:
        found = exact_search(self._ids, self._vectors, vectors, k)
        ranked = ranked_units(found.ids, self._ids, self._fields)
        if counter.identity != self.tokenizer.identity:
            ranked = ranked._replace(n_tokens=self._count(found.ids, counter))
        return Ranking(ranked, lambda question, rank: self._text(int(found.ids[question, rank])))

    def mean_unit_tokens(self, counter: Tokenizer) -> float:
        if counter.identity == self.tokenizer.identity:
            return float(self._fields[3].mean())
        ids = self._ids[:: max(1, -(-len(self._ids) // SAMPLED_UNITS))]
        return float(counter.count([self._text(int(number)) for number in ids]).mean())

    def _count(self, ids: Numbers, counter: Tokenizer) -> Numbers:
        known, places = np.unique(ids, return_inverse=True)
        counts = counter.count([self._text(int(number)) if number >= 0 else "" for number in known])
        return counts.astype(np.int64)[places].reshape(ids.shape)

    def _text(self, unit: int) -> str:
        document, start, end, _ = (int(field[np.searchsorted(self._ids, unit)]) for field in self._fields)
        return self._texts[document][start:end]

    def _build(self, cut: CutCorpus) -> tuple[Numbers, NDArray[np.float16], tuple[Numbers, ...]]:
        """Ids int64 (n,) in order, vectors float16 (n, d), and documents, starts, ends and tokens, int64 (n,) each."""
        self._outcomes.update(cut.outcomes)
        vectors, valid = self._memo.vectors(cut.inputs)
        self._outcomes["units_without_vector"] += int((~valid).sum())
        if not valid.any():
            raise SettingsError(f"{self.name}: no unit of the corpus has a vector; there is nothing to search")
        units = np.array(cut.rows, np.int64)[valid]
        order = np.argsort(units[:, 0])
        fields = units[order].T
        return fields[0].copy(), vectors[valid][order], tuple(field.copy() for field in fields[1:])
