"""Three arms from one snapshot that tell truncation from dilution, and a curve over sizes."""

from pipelines.sweep.request import SweepRequest
from pipelines.sweep.sweeping import sweep

__all__ = ["SweepRequest", "sweep"]
