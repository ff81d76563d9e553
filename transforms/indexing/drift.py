"""When a trained index no longer suits the vectors it is given."""

from collections.abc import Iterable
from typing import Literal

import msgspec

WARN_RATIO = 1.10
RETRAIN_RATIO = 1.25
RETRAIN_NEW_SHARE = 0.05
RETRAIN_GROWTH = 4

Decision = Literal["keep", "warn", "retrain"]


class Errors(msgspec.Struct, frozen=True):
    """Mean squared distances of `n_vectors` vectors: to their list's centroid, and to what their code decodes to."""

    n_vectors: int
    residual: float
    reconstruction: float


class Drift(msgspec.Struct, frozen=True):
    """What to do with a training, and why. `ratio` is None where no new vector was measured."""

    decision: Decision
    ratio: float | None
    reason: str


def pool_errors(parts: Iterable[Errors]) -> Errors:
    """The errors of all vectors of `parts` together."""
    known = [part for part in parts if part.n_vectors]
    n = sum(part.n_vectors for part in known)
    if n == 0:
        return Errors(0, 0.0, 0.0)
    residual = sum(part.residual * part.n_vectors for part in known) / n
    return Errors(n, residual, sum(part.reconstruction * part.n_vectors for part in known) / n)


def drift_ratio(new: Errors, holdout: Errors) -> float | None:
    """Errors of new vectors over those of the training's hold-out, the larger of the two. None without new vectors.

    A hold-out without error (a corpus of copies) gives 1 where the new vectors have none either, else infinity.
    """
    if new.n_vectors == 0:
        return None
    pairs = (new.residual, holdout.residual), (new.reconstruction, holdout.reconstruction)
    return max(_ratio(a, b) for a, b in pairs)


def judge(
    new: Errors, holdout: Errors, *, n_total: int, n_total_at_training: int, is_recall_too_low: bool = False
) -> Drift:
    """Whether shards can still be filled from a training.

    Below 1.10 keep; up to 1.25 warn; above it retrain, if at least 5 % of the vectors are new. A corpus of over four
    times the size, or a recall below its floor, retrains at any ratio.

    >>> judge(Errors(100, 0.52, 0.21), Errors(99, 0.5, 0.2), n_total=900, n_total_at_training=800).decision
    'keep'
    """
    ratio = drift_ratio(new, holdout)
    if is_recall_too_low:
        return Drift("retrain", ratio, "recall is below its floor")
    if n_total > RETRAIN_GROWTH * n_total_at_training:
        return Drift("retrain", ratio, f"{n_total} vectors are over {RETRAIN_GROWTH} times {n_total_at_training}")
    if ratio is None or ratio < WARN_RATIO:
        return Drift("keep", ratio, "")
    if ratio > RETRAIN_RATIO and new.n_vectors >= RETRAIN_NEW_SHARE * n_total:
        return Drift("retrain", ratio, f"errors of new vectors are {ratio:.3f} times those at training")
    return Drift("warn", ratio, f"errors of new vectors are {ratio:.3f} times those at training")


def _ratio(new: float, holdout: float) -> float:
    if holdout > 0:
        return new / holdout
    return 1.0 if new <= 0 else float("inf")
