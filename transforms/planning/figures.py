"""Numbers that say where they are from: a formula over what was given, a measurement, or an assumption."""

from typing import Literal

import msgspec

Mark = Literal["formula", "measured", "assumed"]
_WEAKEST_LAST: tuple[Mark, ...] = ("formula", "measured", "assumed")


class Figure(msgspec.Struct, frozen=True):
    """A number with its unit, how it is known, and in words what it rests on."""

    value: float
    unit: str
    mark: Mark
    basis: str


def weakest(*marks: Mark) -> Mark:
    """How a number is known that was computed from numbers known in these ways.

    >>> weakest("formula", "measured"), weakest("assumed", "formula"), weakest()
    ('measured', 'assumed', 'formula')
    """
    return max(marks, key=_WEAKEST_LAST.index, default="formula")
