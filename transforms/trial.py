"""What cutting comes to when nothing is encoded: units to encode, units that are stored, and the whole corpus."""

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from models.facts import EncoderFacts
from models.tokenizer import Tokenizer
from transforms.chunking import Cutter
from transforms.contents import Content
from transforms.context import RunContext
from transforms.cutting import Cut, Row, cut_contents, encode_items
from transforms.elements import PASSAGE
from transforms.former_vectors import find_hashes
from transforms.planning.costs import PolicyFigures, Pricing, price
from transforms.planning.figures import Figure, weakest
from transforms.planning.windows import Tokens
from transforms.planning.work import EncoderPass, PassTally, PolicyWork, even_pass
from transforms.records import WorkItem
from transforms.rewriting.tried import NOT_ASKED
from transforms.unanswered import Unanswered

RUN, WHOLE = "this run", "whole corpus"
_OF_THE_WHOLE = ("flat_bytes", "hnsw_bytes", "ivfpq_bytes", "usd_per_week")


class DryTally:
    """Adds up the units of one run as a run would encode them: each distinct text of an encoder call once.

    `unanswered` takes the contents whose cuts only a model can tell; None where there are none.
    """

    def __init__(
        self, context: RunContext, tokenizer: Tokenizer, facts: EncoderFacts, unanswered: Unanswered | None = None
    ) -> None:
        self._context, self._tokenizer, self._facts = context, tokenizer, facts
        self.unanswered = unanswered
        self._to_encode = PassTally(facts.max_input_tokens, facts.overhead_tokens)
        self._all_new = PassTally(facts.max_input_tokens, facts.overhead_tokens)
        self._n_encoded = self._n_reused = self._n_kept = self._kept_tokens = self._n_removed = 0
        self._n_passages = 0
        self.n_failed_documents = 0
        self.outcomes: Counter[str] = Counter()

    def keep(self, known: Mapping[str, Content], after: Mapping[str, int], reworked: Collection[str]) -> None:
        """Take the stored contents of a shard: those that the run leaves as they are, and those that go.

        `after` counts the documents of the contents that the run touches, `reworked` are those that it makes anew.
        """
        for name, content in known.items():
            if after.get(name, 1) <= 0 or name in reworked:
                self._n_removed += content.n_units
            else:
                self._n_kept += content.n_units
                self._kept_tokens += content.n_tokens

    def cut(self, cutter: Cutter, item: WorkItem) -> None:
        """Cut the contents of an item and take its units."""
        result = Cut([], [], [], {})
        rows: list[Row] = []
        for entry, made in cut_contents(self._context, cutter, item, result):
            known = find_hashes(self._context, entry) | {""}
            marked = [{**row, "needs_vector": row["embed_hash"] not in known} for row in made]
            rows += self.unanswered.take(entry.content_id, marked) if self.unanswered else marked
        failures = [failure for failure in result.failures if not failure.is_served]
        self.n_failed_documents += len(failures)
        self.outcomes.update(_without_unasked(result.outcomes))
        self.outcomes.update(f"failed:{failure.stage}:{failure.reason}" for failure in failures)
        matched = [row for row in rows if row["level"] != PASSAGE]
        self._n_passages += len(rows) - len(matched)
        if matched:
            self._add(matched)

    def _add(self, rows: list[Row]) -> None:
        contents, contexts = self._lengths(rows)
        self._all_new.add(contents, contexts)
        needed = np.array([bool(row["needs_vector"]) for row in rows])
        self._n_encoded += int(needed.sum())
        self._n_reused += int((~needed).sum())
        self._to_encode.add(contents[needed], contexts[needed], self._is_read(rows)[needed])

    def units(self) -> dict[str, int]:
        """Units after the run, and how many it would encode, reuse and remove."""
        encoded = self._n_encoded + (self.unanswered.n_units if self.unanswered else 0)
        total = self._n_kept + encoded + self._n_reused + self._n_passages
        return {"total": total, "encoded": encoded, "reused": self._n_reused, "removed": self._n_removed}

    def run_work(self) -> PolicyWork:
        """What this run would do."""
        counted = self._to_encode.finish(
            "units of this run whose vectors are not stored, equal texts of a call read once"
        )
        asked = self.unanswered
        detection, calls = (asked.detection(), asked.calls()) if asked else ((), None)
        return PolicyWork(RUN, "what this run would do", (counted, *self._assumed()), detection, calls)

    def whole_work(self) -> PolicyWork:
        """The corpus as it would stand after the run, from nothing."""
        asked = self.unanswered
        detection, calls = (asked.detection(), asked.all_calls()) if asked else ((), None)
        passes = (*self._whole_passes(), *self._assumed())
        return PolicyWork(WHOLE, "the corpus after this run, from nothing", passes, detection, calls)

    def _assumed(self) -> tuple[EncoderPass, ...]:
        return self.unanswered.passes() if self.unanswered else ()

    def _whole_passes(self) -> tuple[EncoderPass, ...]:
        """The corpus as it would stand after the run: what the run cuts, and what it leaves as it is."""
        fresh = self._all_new.finish("units cut in this run")
        if not self._n_kept:
            return (fresh,)
        overhead = self._facts.overhead_tokens
        basis = "stored units, counted; their contexts are not, and their lengths are taken as even"
        kept = even_pass(
            self._n_kept, self._kept_tokens, self._facts.max_input_tokens, overhead, basis, "measured", "measured"
        )
        return (fresh, kept) if fresh.n_inputs else (kept,)

    def _lengths(self, rows: list[Row]) -> tuple[Tokens, Tokens]:
        texts = sorted({str(row["context"]) for row in rows if row["context"]})
        counts = dict(zip(texts, self._tokenizer.count(texts).tolist(), strict=True)) if texts else {}
        contents = np.array([row["n_tokens"] for row in rows], np.int64)
        return contents, np.array([counts.get(str(row["context"]), 0) for row in rows], np.int64)

    def _is_read(self, rows: list[Row]) -> NDArray[np.bool_]:
        """Which rows encoder calls would read, bool (n,): within a call, the first of each text."""
        limit, overhead = self._context.encoder.work_item_tokens, self._facts.overhead_tokens
        is_read = np.zeros(len(rows), np.bool_)
        for call in encode_items("", rows, limit, overhead):
            first: dict[object, int] = {}
            for number in range(call.first, call.first + call.count):
                if rows[number]["needs_vector"]:
                    first.setdefault(rows[number]["embed_hash"], number)
            is_read[list(first.values())] = True
        return is_read


def _without_unasked(outcomes: Mapping[str, int]) -> Counter[str]:
    """Outcomes less what came of nobody being asked and nothing encoded: a run would do both."""
    kept = Counter(outcomes)
    for name in [name for name in outcomes if name.endswith(f".{NOT_ASKED}")]:
        kept[name.removesuffix(f".{NOT_ASKED}")] -= kept.pop(name)
        kept.pop("unsummarised_documents", None)
    for name in ("no_separation", "zero_anchors"):  # nothing was encoded
        kept.pop(name, None)
    return +kept


def price_run(tally: DryTally, pricing: Pricing) -> list[PolicyFigures]:
    """The run and, as its baseline, the whole corpus from nothing; index memory and weeks stand with the whole."""
    run, whole = price(tally.run_work(), pricing), price(tally.whole_work(), pricing)
    for name in _OF_THE_WHOLE:
        del run.figures[name]
    for policy in (run, whole):
        usd, base = policy.figures["usd"], whole.figures["usd"]
        if base.value > 0:
            basis = f"baseline: money for the {WHOLE} from nothing"
            ratio = Figure(usd.value / base.value, "ratio", weakest(usd.mark, base.mark), basis)
            policy.figures["usd_over_whole"] = ratio
    return [run, whole]
