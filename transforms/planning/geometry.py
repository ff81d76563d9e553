"""Similarities of a query to pooled vectors, in an idealised geometry: unit vectors with one mean pairwise similarity.

A pooled unit is the normalised sum of n sentence vectors with mean pairwise similarity `rho`, so that its length before
normalising is sqrt(n (1 + (n - 1) rho)). Real encoders pool tokens and normalise later: read differences, not values.
"""

from math import isclose, sqrt

from models.errors import SettingsError

_ROUNDING = 1e-9


def pooled_score(n_sentences: int, answer_similarity: float, neighbour_similarity: float, rho: float) -> float:
    """Cosine of a query and a unit of n sentences, one of which answers: (a + (n - 1) b) / sqrt(n (1 + (n - 1) rho)).

    :raises SettingsError: similarities that no vectors have.

    >>> round(pooled_score(4, 0.62, 0.5, 0.5), 6)
    0.670403
    """
    check_geometry(n_sentences, answer_similarity, neighbour_similarity, rho)
    return (answer_similarity + (n_sentences - 1) * neighbour_similarity) / _pooled_length(n_sentences, rho)


def pooled_score_limit(neighbour_similarity: float, rho: float) -> float:
    """What `pooled_score` tends to as units grow: b / sqrt(rho), whatever the answering sentence says."""
    _check_share("rho", rho, above_zero=True)
    _check_similarity("neighbour_similarity", neighbour_similarity)
    return neighbour_similarity / sqrt(rho)


def coarse_wins_above(n_sentences: int, answer_similarity: float, rho: float) -> float:
    """Neighbour similarity from which a unit of n > 1 sentences scores above its answering sentence.

    a (sqrt(n (1 + (n - 1) rho)) - 1) / (n - 1)

    >>> round(coarse_wins_above(16, 0.62, 0.5), 6)
    0.440692
    """
    if n_sentences < 2:
        raise SettingsError(f"n_sentences = {n_sentences} must be from 2; one sentence is no coarser than itself")
    _check_rho(n_sentences, rho)
    _check_similarity("answer_similarity", answer_similarity)
    return answer_similarity * (_pooled_length(n_sentences, rho) - 1) / (n_sentences - 1)


def coarse_wins_above_limit(answer_similarity: float, rho: float) -> float:
    """What `coarse_wins_above` tends to as units grow: a sqrt(rho)."""
    _check_share("rho", rho)
    _check_similarity("answer_similarity", answer_similarity)
    return answer_similarity * sqrt(rho)


def gold_score(n_propositions: float, rho: float) -> float:
    """Cosine of a passage of m facts and the one fact that is asked for: sqrt((1 + (m - 1) rho) / m).

    `n_propositions` may be a mean, which need not be whole.

    >>> gold_score(8, 0.5)
    0.75
    """
    _check_rho(n_propositions, rho)
    return sqrt((1 + (n_propositions - 1) * rho) / n_propositions)


def headroom(n_propositions: float, rho: float) -> float:
    """What matching facts one by one could add to the score of the right passage at most: one minus its gold score."""
    return 1 - gold_score(n_propositions, rho)


def distractor_score(n_propositions: float, distractor_similarity: float, rho: float) -> float:
    """Cosine of a query and a passage whose m facts are all near it and none is right.

    m gamma / sqrt(m (1 + (m - 1) rho))

    >>> round(distractor_score(8, 0.6, 0.5), 12)
    0.8
    """
    check_geometry(n_propositions, distractor_similarity, distractor_similarity, rho)
    return n_propositions * distractor_similarity / _pooled_length(n_propositions, rho)


def distractor_wins_above(n_propositions: float, rho: float) -> float:
    """The similarity from which such a passage beats the right one: (1 + (m - 1) rho) / m, the gold score's square."""
    return gold_score(n_propositions, rho) ** 2


def distinct_parents(n_hits: int, fan_in: float) -> int:
    """Passages behind `n_hits` propositions of which `fan_in` fall to one passage on average, rounded.

    >>> distinct_parents(30, 1.7)
    18
    """
    return round(n_hits / _checked_fan_in(fan_in))


def hits_for_parents(n_parents: int, fan_in: float) -> float:
    """Propositions to retrieve for `n_parents` passages, before rounding: parents times the measured fan-in."""
    return n_parents * _checked_fan_in(fan_in)


def check_geometry(n_sentences: float, answer_similarity: float, neighbour_similarity: float, rho: float) -> None:
    """SettingsError unless a query and n unit vectors can have these similarities.

    They can where the Gram matrix of all n + 1 vectors has no negative eigenvalue: v' R^-1 v <= 1 for the query's
    similarities v, R holding 1 on its diagonal and rho elsewhere.
    """
    _check_similarity("answer_similarity", answer_similarity)
    _check_similarity("neighbour_similarity", neighbour_similarity)
    _check_rho(n_sentences, rho)
    if _explained(n_sentences, answer_similarity, neighbour_similarity, rho) > 1 + _ROUNDING:
        raise SettingsError(
            f"no vectors have answer_similarity = {answer_similarity}, neighbour_similarity = {neighbour_similarity} "
            f"and rho = {rho} for {n_sentences} sentences; raise rho or lower the similarities"
        )


def _explained(n: float, a: float, b: float, rho: float) -> float:
    """V' R^-1 v, with the inverse of the two eigenvalues of R, 1 + (n - 1) rho and n - 1 times 1 - rho.

    Where an eigenvalue is 0 the query must have no part along its vectors.
    """
    total, spread = a + (n - 1) * b, (n - 1) * (a - b) ** 2 / n
    along, across = 1 + (n - 1) * rho, 1 - rho
    return _part(total * total / n, along) + _part(spread, across)


def _part(square: float, eigenvalue: float) -> float:
    if isclose(eigenvalue, 0, abs_tol=_ROUNDING):
        return 0.0 if square <= _ROUNDING else float("inf")
    return square / eigenvalue


def _pooled_length(n: float, rho: float) -> float:
    length = sqrt(n * (1 + (n - 1) * rho))
    if isclose(length, 0, abs_tol=_ROUNDING):
        raise SettingsError(f"rho = {rho} leaves nothing of the sum of {n} vectors; a pooled score has no value there")
    return length


def _check_rho(n: float, rho: float) -> None:
    if n < 1:
        raise SettingsError(f"{n} sentences or facts; there must be at least one")
    least = -1 / (n - 1) if n > 1 else -1.0
    if not least - _ROUNDING <= rho <= 1:
        raise SettingsError(f"rho = {rho} is no mean similarity of {n} vectors; it lies between {least:.4g} and 1")


def _check_similarity(name: str, value: float) -> None:
    if not -1 <= value <= 1:
        raise SettingsError(f"{name} = {value} is no cosine; it lies between -1 and 1")


def _check_share(name: str, value: float, *, above_zero: bool = False) -> None:
    if not 0 <= value <= 1 or (above_zero and value == 0):
        raise SettingsError(f"{name} = {value} must lie between 0 and 1{', above 0' if above_zero else ''}")


def _checked_fan_in(fan_in: float) -> float:
    if not fan_in >= 1:
        raise SettingsError(f"fan_in = {fan_in} must be from 1: every hit has a parent")
    return fan_in
