"""A run beside the dry run that foretold it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from models.errors import SettingsError

if TYPE_CHECKING:
    from pipelines.ingest import IngestReport

MAX_FILE_BYTES = 4 * 1024 * 1024


class _Value(msgspec.Struct):
    value: float


class _Policy(msgspec.Struct):
    name: str
    figures: dict[str, _Value]


class _DryRun(msgspec.Struct):
    dry_run: bool
    policies: list[_Policy]


class Planned(msgspec.Struct, frozen=True):
    """What a dry run foretold of the run that follows it."""

    units: float
    encoder_tokens: float
    flop: float

    def beside(self, report: "IngestReport") -> dict[str, dict[str, float]]:
        """Each foretold count with what the run measured."""
        measured: Mapping[str, float] = {
            "units": report.units["encoded"],
            "encoder_tokens": report.tokens["encoded"],
            "flop": report.flops,
        }
        return {name: {"planned": getattr(self, name), "measured": value} for name, value in measured.items()}


def read_planned(path: str) -> Planned:
    """The plan in a file that `corpusmill ingest --dry-run --json` printed.

    :raises SettingsError: in one line, where the file cannot be read or is something else.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        found = msgspec.json.decode(data, type=_DryRun)
        figures = next(policy.figures for policy in found.policies if policy.name == "this run")
        names = Planned.__struct_fields__
        return Planned(*(figures[name].value for name in names))
    except OSError as error:
        raise SettingsError(f"{path!a} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, StopIteration, KeyError, RecursionError) as error:
        raise SettingsError(f"{path!a} is no answer of `corpusmill ingest --dry-run --json`") from error


def planned_in_words(planned: Mapping[str, Mapping[str, Any]]) -> str:
    """The counts of a run over those that were foretold.

    >>> planned_in_words({"encoder_tokens": {"planned": 100, "measured": 99}})
    'encoder tokens 99 of 100'
    """
    return ", ".join(
        f"{name.replace('_', ' ')} {_count(pair['measured'])} of {_count(pair['planned'])}"
        for name, pair in planned.items()
    )


def _count(value: float) -> str:
    return f"{value:,.0f}" if value < 1e9 else f"{value:.3g}"
