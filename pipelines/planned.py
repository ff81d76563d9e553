"""A run beside what was foretold of it: by its dry run, or by counts that it took before it paid for anything."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models.errors import CorpusmillError, SettingsError
from models.facts import EncoderFacts, encoder_facts
from models.prices import Prices
from pipelines.config import Settings
from pipelines.plan import planned_windows
from pipelines.wording import n_of
from transforms.planning.corpus import Windows, passes_from_lengths
from transforms.planning.lengths import Lengths
from transforms.planning.policies import POLICIES
from transforms.work import CHARS_PER_TOKEN, WorkAhead

if TYPE_CHECKING:
    from pipelines.ingest import IngestReport

MAX_FILE_BYTES = 4 * 1024 * 1024
POLICY_OF = {
    "auto": "recursive", "fixed": "fixed", "recursive": "recursive", "structural": "structural",
    "semantic": "semantic", "pic": "PIC", "llm": "LLM boundaries",
}  # fmt: skip
"""The policy of a plan that a chunker's units are counted by. auto cuts so where there is no markup."""


class _Value(msgspec.Struct):
    value: float


class _Policy(msgspec.Struct):
    name: str
    figures: dict[str, _Value]


class _DryRun(msgspec.Struct):
    dry_run: bool
    policies: list[_Policy]


class Planned(msgspec.Struct, frozen=True):
    """What was foretold of a run. `source` says in words by what, and what it rests on.

    Encoder tokens are those of units and those read to find cuts.
    """

    units: float
    encoder_tokens: float
    flop: float | None
    source: str

    def beside(self, report: "IngestReport") -> dict[str, Any]:
        """Each foretold count with what the run measured, and `source`."""
        measured: Mapping[str, float] = {
            "units": report.units["encoded"],
            "encoder_tokens": report.tokens["encoded"] + report.tokens["detected"],
            "flop": report.flops,
        }
        pairs = {name: {"planned": getattr(self, name), "measured": value} for name, value in measured.items()}
        known = {name: pair for name, pair in pairs.items() if pair["planned"] is not None}
        return {**known, "source": self.source}


def read_planned(path: str) -> Planned:
    """The plan in a file that `corpusmill ingest --dry-run --json` printed.

    :raises SettingsError: in one line, where the file cannot be read or is something else.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        found = msgspec.json.decode(data, type=_DryRun)
        figures = next(policy.figures for policy in found.policies if policy.name == "this run")
        units, n_tokens, flop = (figures[name].value for name in ("units", "encoder_tokens", "flop"))
        return Planned(units, n_tokens, flop, f"dry run in {path}")
    except OSError as error:
        raise SettingsError(f"{path!a} cannot be read: {error.strerror}; name what --dry-run --json printed") from error
    except (msgspec.MsgspecError, StopIteration, KeyError, RecursionError) as error:
        raise SettingsError(f"{path!a} is no answer of `corpusmill ingest --dry-run --json`") from error


def planned_by_counts(settings: Settings, ahead: WorkAhead) -> Planned | None:
    """What the formulas of `corpusmill plan` say of the texts that a run was going to cut, as if none was known before.

    The texts are taken to be of one length, at `CHARS_PER_TOKEN` characters a token; those whose blocks decide the
    cuts give as many units as was estimated when they were read. None where there are none, or no formula fits:
    rewritten units, and windows counted in another model's tokens.
    """
    if not ahead.work_contents or settings.rewriting.rewrite != "none":
        return None
    prices = Prices()
    try:
        facts = encoder_facts(settings.encoder, prices.encoder)
        windows = planned_windows(settings, facts)
    except CorpusmillError:
        return None
    done = [_by_formula(settings, ahead, windows, facts, prices), _by_parts(ahead, facts, prices)]
    known = [part for part in done if part is not None]
    flops = [part.flop for part in known if part.flop is not None]
    return Planned(
        units=sum(part.units for part in known),
        encoder_tokens=sum(part.encoder_tokens for part in known),
        flop=sum(flops) if len(flops) == len(known) else None,
        source="; ".join(part.source for part in known),
    )


def _by_formula(
    settings: Settings, ahead: WorkAhead, windows: Windows, facts: EncoderFacts, prices: Prices
) -> Planned | None:
    """Of the texts whose blocks do not decide; None where there are none."""
    n_texts, n_chars = ahead.work_contents - ahead.parts_contents, ahead.work_chars - ahead.parts_chars
    if not n_texts:
        return None
    policy = _policy(settings)
    assumed = prices.assumptions.model_copy(update={"neighbours_each_side": settings.semantic.neighbour_sentences})
    source = f"{policy} formula, {n_of(n_texts, 'text')} of {n_chars:,} characters"
    passes = passes_from_lengths(_even_lengths(n_texts, n_chars), windows, facts, assumed, source)
    work = POLICIES[policy](passes, facts, assumed)
    n_tokens = work.total("tokens")
    # The run's FLOP have those of models in them, whose sizes a plan does not know.
    is_known = not work.llm and (not work.detection or settings.semantic.detection_encoder is None)
    return Planned(work.n_units, n_tokens, 2 * facts.parameters * n_tokens if is_known else None, source)


def _policy(settings: Settings) -> str:
    chunker = settings.chunking.chunker
    reads_windows = chunker == "semantic" and settings.semantic.detection_windows == "text"
    return "semantic, windows" if reads_windows else POLICY_OF[chunker]


def _by_parts(ahead: WorkAhead, facts: EncoderFacts, prices: Prices) -> Planned | None:
    """Of the texts that are cut along their blocks; None where there are none."""
    if not ahead.parts_contents:
        return None
    added = facts.overhead_tokens + prices.assumptions.context_tokens_per_unit
    n_tokens = ahead.parts_chars / CHARS_PER_TOKEN + ahead.parts * added
    source = f"blocks of {n_of(ahead.parts_contents, 'text')} of {ahead.parts_chars:,} characters"
    return Planned(ahead.parts, n_tokens, 2 * facts.parameters * n_tokens, source)


def _even_lengths(n_texts: int, n_chars: int) -> Lengths:
    quotient, rest = divmod(max(1, n_chars // CHARS_PER_TOKEN), n_texts)
    return Lengths([quotient, quotient + 1], [n_texts - rest, rest])
