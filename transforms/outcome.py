"""What a run came to, left in the store by its last node for whoever started the run."""

import msgspec

from transforms.context import RunContext

OUTCOME = "outcome.json"


class Outcome(msgspec.Struct, frozen=True):
    """What a run came to. Written last, read by whoever started it; `refused` is the one line that says why not.

    `wasted_detection` are those of the wasted tokens that were read to find boundaries.
    `settled_runs` are the dead runs of which this one took over what it could use, and counted the rest as waste.
    """

    version: str = ""
    published: bool = False
    refused: str = ""
    is_conflict: bool = False
    documents: dict[str, int] = {}
    units: dict[str, int] = {}
    tokens: dict[str, int] = {}
    flops: float = 0.0
    detection_flops: float = 0.0
    wasted_detection: int = 0
    seconds: dict[str, float] = {}
    outcomes: dict[str, int] = {}
    settled_runs: tuple[str, ...] = ()
    llm: dict[str, float] = {}
    llm_flops: float = 0.0


def write_outcome(context: RunContext, outcome: Outcome) -> None:
    """Leave the outcome in the run's folder."""
    context.store.write_named(f"runs/{context.run}/{OUTCOME}", msgspec.json.encode(outcome))


def read_outcome(context: RunContext) -> Outcome | None:
    """What the run's last node left; None where it never ran."""
    data = context.store.find_named(f"runs/{context.run}/{OUTCOME}")
    return msgspec.json.decode(data, type=Outcome) if data is not None else None
