"""The arms of a sweep: what is cut, by which encoder it is read, and the checks that make them comparable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.encoder import Encoder, load_encoder
from models.errors import SettingsError
from pipelines.config import Settings
from pipelines.evaluation.audit import Limits, measure_limits
from pipelines.evaluation.corpus import Corpus
from pipelines.evaluation.encoding import VectorMemo
from pipelines.evaluation.policy import CutCorpus, PolicyArm, cut_corpus
from pipelines.output import complain
from pipelines.progress import Watch
from pipelines.sweep.request import Side, SweepRequest, check_request, settings_of_size
from pipelines.sweep.work import WorkFolder
from transforms.evaluation.truncation import Group, Tally

SHORT, LONG = "short", "long"
_UNIT_LENGTH_TOLERANCE = 0.01


@dataclass(frozen=True)
class PlannedArm:
    """Spans of `size_tokens`, cut for the encoder `cut_for`, and read by `reader`."""

    name: str
    size_tokens: int
    cut_for: str
    reader: str


@dataclass
class Bench:
    """Everything that arms are made from. What is cut for one size and encoder is cut once."""

    settings: Settings
    request: SweepRequest
    sides: Mapping[str, Side]
    corpus: Corpus
    _cuts: dict[tuple[int, str], CutCorpus] = field(default_factory=dict)
    encoders: dict[str, Encoder] = field(default_factory=dict)

    def encoder(self, name: str) -> Encoder:
        """The encoder of a side, loaded when first asked for."""
        if name not in self.encoders:
            self.encoders[name] = load_encoder(self.sides[name].settings)
        return self.encoders[name]

    def cut_settings(self, arm: PlannedArm) -> Settings:
        """The settings by which the spans of an arm are cut."""
        return settings_of_size(self.settings, self.sides[arm.cut_for], arm.size_tokens, self.request.overlap_share)

    def cut(self, arm: PlannedArm) -> CutCorpus:
        """The units of an arm."""
        key = (arm.size_tokens, arm.cut_for)
        if key not in self._cuts:
            self._cuts[key] = cut_corpus(self.cut_settings(arm), self.corpus)
        return self._cuts[key]

    def limits(self) -> dict[str, Limits]:
        """What each encoder really reads. `SettingsError` where the long one reads no more than the short one."""
        found = {
            name: measure_limits(self.encoder(name), side.tokenizer, side.settings) for name, side in self.sides.items()
        }
        short, long = (found[name].documents or found[name].declared for name in (SHORT, LONG))
        if long <= short:
            raise SettingsError(
                f"measured, the long encoder reads {long} tokens of a passage and the short one {short}, whatever they "
                "declare; name another long encoder"
            )
        return found

    def audit(self, arm: PlannedArm, limit_tokens: int) -> tuple[Group, Sequence[Group]]:
        """What a limit cuts off the inputs of an arm: altogether, and by length of the document."""
        side, cut = self.sides[SHORT], self.cut(arm)
        tally = Tally(limit_tokens - side.overhead_tokens)
        names = list(self.corpus.snapshots)
        counts = side.tokenizer.count(list(cut.inputs)).tolist()
        for (_, code, *_), n_tokens in zip(cut.rows, counts, strict=True):
            tally.add(names[code], "", n_tokens)
        return tally.total(), tally.by_length()


def planned_arms(
    settings: Settings, request: SweepRequest, short: Side, long: Side
) -> tuple[list[PlannedArm], list[int]]:
    """A, B and C, two arms for each size of the curve, and the sizes that the long encoder could not read whole."""
    big = check_request(settings, request, short, long)
    arms = [
        PlannedArm("A", big, LONG, SHORT),
        PlannedArm("B", request.small_tokens, SHORT, SHORT),
        PlannedArm("C", big, LONG, LONG),
    ]
    sizes = sorted(set(request.sizes))
    for size in sizes:
        if size <= long.limit_tokens:
            arms += [PlannedArm(f"{size} {reader}", size, LONG, reader) for reader in (SHORT, LONG)]
    return arms, [size for size in sizes if size > long.limit_tokens]


def make_memos(
    bench: Bench, arms: Sequence[PlannedArm], work: WorkFolder, watch: Watch | None
) -> dict[str, VectorMemo]:
    """Every text of every arm encoded once by each encoder that reads it. Says first how much that is."""
    memos: dict[str, VectorMemo] = {}
    wanted: dict[str, list[str]] = {}
    for name in (SHORT, LONG):
        shelf = work.shelf(bench.sides[name].settings)
        memos[name] = VectorMemo(bench.encoder(name), watch, shelf, f"encoding, {name}")
        if shelf.n_damaged:
            complain(f"{shelf.n_damaged} files of vectors in {work.path} are damaged; what they held is encoded again")
        wanted[name] = memos[name].missing(
            [text for arm in arms if arm.reader == name for text in bench.cut(arm).inputs]
        )
    for name, texts in wanted.items():
        side = bench.sides[name]
        counts = side.tokenizer.count(texts) + side.overhead_tokens
        n_tokens = int(np.minimum(counts, side.limit_tokens).sum())
        complain(
            f"to encode, {name}: {len(texts):,} different texts, {n_tokens:,} tokens "
            f"({memos[name].n_kept:,} texts kept from before)"
        )
    for name, texts in wanted.items():
        _check_similarity(name, memos[name].vectors(texts)[0])
    return memos


def make_arm(bench: Bench, planned: PlannedArm, memo: VectorMemo) -> PolicyArm:
    """An arm that can be searched. `SettingsError` where a unit has no vector, which another arm might have."""
    arm = PolicyArm(planned.name, bench.cut_settings(planned), bench.corpus, memo, bench.cut(planned))
    n_missing = arm.description["outcomes"].get("units_without_vector", 0)
    if n_missing:
        raise SettingsError(
            f"arm {planned.name} has no vector for {n_missing} units, so that the arms would not search the same "
            "documents; find the texts with `corpusmill ingest` (its failures table) and leave them out"
        )
    return arm


def _check_similarity(name: str, vectors: np.ndarray[tuple[int, ...], np.dtype[np.float16]]) -> None:
    """Inner products are cosines only where vectors have length 1; in both arms or the search is not the same."""
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    off = np.abs(lengths[lengths > 0] - 1)
    if len(off) and off.max() > _UNIT_LENGTH_TOLERANCE:
        raise SettingsError(
            f"the {name} encoder makes vectors of other lengths than 1, so that its similarity is no cosine and the "
            "arms cannot be compared; name a model that normalises"
        )
