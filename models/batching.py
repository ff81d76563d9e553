"""Texts of many lengths through a model: sorted by length, next to no padding, halved when memory runs out.

Pure of any library: `forward` is whatever turns rows into vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Forward = Callable[[Rows], NDArray[np.float32]]

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")


def plan_batches(n_tokens: NDArray[np.int32], batch_tokens: int, padding_tokens: int) -> list[Rows]:
    """Rows of each batch, longest first: at most `batch_tokens` slots, at most `padding_tokens` of them padding.

    A text longer than `batch_tokens` is a batch of its own. A pass costs about as much as `padding_tokens` more slots
    in another would, so that a batch is closed as soon as going on costs more than starting anew.

    >>> [rows.tolist() for rows in plan_batches(np.array([2, 9, 2, 8], np.int32), 100, 4)]
    [[1, 3], [0, 2]]
    """
    order = np.argsort(-n_tokens.astype(np.int64), kind="stable")
    batches, start, longest, padding = [], 0, 0, 0
    for at, length in enumerate(n_tokens[order].tolist()):
        longest = longest if at > start else length
        padding += longest - length
        if at > start and (padding > padding_tokens or (at - start + 1) * longest > batch_tokens):
            batches.append(order[start:at])
            start, longest, padding = at, length, 0
    return [*batches, order[start:]] if len(order) else []


@dataclass(slots=True)
class Pass:
    """What came of a number of batches. `out_of_memory` holds the rows that failed alone."""

    vectors: NDArray[np.float32]
    padded_slots: int = 0
    n_splits: int = 0
    out_of_memory: list[int] = field(default_factory=list)


def run_batches(
    forward: Forward,
    batches: Sequence[Rows],
    n_tokens: NDArray[np.int32],
    dimension: int,
    release: Callable[[], None] = lambda: None,
) -> Pass:
    """Vectors float32 (len(n_tokens), dimension) of all rows, in the rows' own order.

    A batch that does not fit into memory is halved and tried again, after `release()`; a row that does not fit alone
    keeps zeros. Any other error goes up.
    """
    result = Pass(np.zeros((len(n_tokens), dimension), np.float32))
    waiting = list(reversed(batches))
    while waiting:
        rows = waiting.pop()
        vectors = _vectors_or_none(forward, rows)
        if vectors is not None:
            result.vectors[rows] = vectors
            result.padded_slots += len(rows) * int(n_tokens[rows].max())
            continue
        release()
        if len(rows) == 1:
            result.out_of_memory.append(int(rows[0]))
            continue
        result.n_splits += 1
        middle = (len(rows) + 1) // 2
        waiting += [rows[middle:], rows[:middle]]
    return result


def _vectors_or_none(forward: Forward, rows: Rows) -> NDArray[np.float32] | None:
    """None instead of an error for want of memory; the error, and what its frames hold, is gone when this returns."""
    try:
        return forward(rows)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that memory ran out, on a GPU (torch.OutOfMemoryError is a RuntimeError) or a CPU."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(mark in text for mark in _OUT_OF_MEMORY)
