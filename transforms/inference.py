"""Beam's RunInference, without what Beam imports beside it: torch and scipy, five CPU seconds that few stages need.

Beam imports its manager of several models if it can, and again when a pipeline asks for it, which none here does.
"""

import contextlib
import resource
import sys
from collections.abc import Iterator

_MODEL_MANAGER = "apache_beam.ml.inference.model_manager"


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """The module `name` cannot be imported meanwhile, unless it has been."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


with _hidden(_MODEL_MANAGER):
    from apache_beam.ml.inference import base
    from apache_beam.ml.inference.base import ModelHandler, RunInference

base.resource = resource  # which Beam imports in one go with its manager; its memory metrics come from it

__all__ = ["ModelHandler", "RunInference"]
