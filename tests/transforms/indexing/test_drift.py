import math

import pytest

from transforms.indexing.drift import Errors, drift_ratio, judge, pool_errors

HOLDOUT = Errors(1000, 0.5, 0.2)


def errors(ratio: float, n: int = 100) -> Errors:
    return Errors(n, 0.5 * ratio, 0.2)


@pytest.mark.parametrize(
    ("ratio", "n_new", "decision"),
    [(0.9, 100, "keep"), (1.09, 100, "keep"), (1.11, 100, "warn"), (1.26, 100, "retrain"), (1.26, 10, "warn")],
)
def test_decisions_by_ratio_and_share_of_new_vectors(ratio, n_new, decision):
    drift = judge(errors(ratio, n_new), HOLDOUT, n_total=1000, n_total_at_training=1000)
    assert drift.decision == decision
    assert drift.ratio == pytest.approx(max(ratio, 1.0))
    assert bool(drift.reason) == (decision != "keep")


def test_growth_and_low_recall_retrain_at_any_ratio():
    assert judge(errors(1), HOLDOUT, n_total=4000, n_total_at_training=1000).decision == "keep"
    assert judge(errors(1), HOLDOUT, n_total=4001, n_total_at_training=1000).decision == "retrain"
    low = judge(errors(1), HOLDOUT, n_total=1, n_total_at_training=1, is_recall_too_low=True)
    assert (low.decision, low.reason) == ("retrain", "recall is below its floor")


def test_nothing_new_keeps():
    drift = judge(Errors(0, 0, 0), HOLDOUT, n_total=10, n_total_at_training=10)
    assert (drift.decision, drift.ratio) == ("keep", None)


def test_a_holdout_without_error():
    perfect = Errors(10, 0.0, 0.0)
    assert drift_ratio(perfect, perfect) == 1.0
    assert drift_ratio(Errors(1, 0.1, 0.0), perfect) == math.inf


def test_errors_are_pooled_by_vectors():
    assert pool_errors([Errors(1, 1.0, 0.0), Errors(0, 9.0, 9.0), Errors(3, 2.0, 4.0)]) == Errors(4, 1.75, 3.0)
    assert pool_errors([]) == Errors(0, 0.0, 0.0)
