"""Measuring a chunking policy on questions whose answers are known."""

from pipelines.evaluation.evaluating import evaluate
from pipelines.evaluation.report import EvaluationReport

__all__ = ["EvaluationReport", "evaluate"]
