"""What each command does."""

import argparse
from collections.abc import Callable

from pipelines.commands import keeping, making, measuring
from pipelines.output import Outcome


def run_command(name: str, arguments: argparse.Namespace, beam_flags: list[str]) -> Outcome:
    """Run the command called `name`; `beam_flags` are for those that can run as a pipeline."""
    piped = {"ingest": making.ingest, "evaluate": measuring.evaluate, "audit": measuring.audit}
    if name in piped:
        return piped[name](arguments, beam_flags)
    commands: dict[str, Callable[[argparse.Namespace], Outcome]] = {
        "search": making.search,
        "status": keeping.status,
        "failures": keeping.failures,
        "verify": keeping.verify,
        "versions": keeping.versions,
        "rollback": keeping.rollback,
        "gc": keeping.gc,
        "chunk": making.chunk,
        "plan": measuring.plan,
        "calibrate": measuring.calibrate,
        "advise": measuring.advise,
        "sweep": measuring.sweep,
        "boundaries": measuring.boundaries,
        "config": making.config,
    }
    return commands[name](arguments)
