"""Running the graph on a Beam runner, and saying in one line what went wrong."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from models.errors import CorpusmillError, RefusedError
from pipelines.signals import received
from transforms.context import RunContext

WRAPPING = " [while running"

_log = logging.getLogger(__name__)


def run_graph(
    context: RunContext,
    paths: list[str],
    leftovers: list[str],
    touched: tuple[list[int], list[int]],
    beam_args: list[str],
) -> None:
    """Build the graph, run it and wait. A failure is one line; its traceback is logged at level DEBUG."""
    from pipelines.graph import build

    run_pipeline(
        lambda pipeline: build(pipeline, context, paths, leftovers, *touched),
        beam_args,
        "the old version is still current. Run again to go on",
    )


def run_pipeline(build: Callable[[Any], Any], beam_args: list[str], remedy: str) -> None:
    """Run what `build` adds to a pipeline, and wait. A failure is one line that ends in `remedy`.

    KeyboardInterrupt where a signal asked the program to stop.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.runners.runner import PipelineState

    options = PipelineOptions(beam_args or ["--runner=FnApiRunner"], save_main_session=False)
    pipeline = beam.Pipeline(options=options)
    build(pipeline)
    try:
        with _quiet_beam():
            state = pipeline.run().wait_until_finish()
    except CorpusmillError as error:
        error.args = (str(error).split(WRAPPING)[0],)
        raise
    except Exception as error:  # a runner raises whatever a worker raised, in its own wrapping
        _log.debug("the run failed", exc_info=True)
        if received():
            raise KeyboardInterrupt from None
        raise RefusedError(f"the run failed: {_root_cause(error)}; {remedy}") from error
    if state not in (None, PipelineState.DONE):
        raise RefusedError(f"the run ended in state {state}; {remedy}")


@contextlib.contextmanager
def _quiet_beam() -> Iterator[None]:
    """Beam logs whatever it raises, with a traceback from each process; who wants that logs at level DEBUG."""
    beam_log = logging.getLogger("apache_beam")
    level = beam_log.level
    if not _log.isEnabledFor(logging.DEBUG):
        beam_log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        beam_log.setLevel(level)


def _root_cause(error: BaseException) -> str:
    """The last line of what went wrong first, without the wrappings of the runner."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line and ": " in line and not line.startswith("File ")]
    line = named[-1] if named else f"{type(error).__name__}: {lines[-1] if lines else 'no message'}"
    return line.split(WRAPPING)[0][:300]
