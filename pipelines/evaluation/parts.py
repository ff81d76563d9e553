"""What became of one block of questions, as a file that a worker writes and the driver takes up."""

from collections import Counter

import msgspec
import numpy as np

from models.errors import RefusedError
from pipelines.evaluation.asking import PassPart
from pipelines.evaluation.measuring import METRICS
from pipelines.evaluation.report import Asked
from transforms.store.files import Store


class _PartFile(msgspec.Struct, frozen=True):
    """What became of one block: `PassPart` in plain numbers, and the questions over the limit of each arm's encoder."""

    lines: list[int]
    ids: list[str]
    questions: list[str]
    left_out: list[int]
    fates: list[dict[str, int]]
    n_different_texts: int
    measures: list[dict[str, list[list[float]]]]
    misses: list[dict[str, int]]
    over_limit: list[int]


def write_part(folder: str, block: int, part: PassPart, over_limit: list[int]) -> None:
    """Hand over what became of a block, and how many of its questions were over the limit of each arm's encoder."""
    asked = part.asked
    plain = _PartFile(
        asked.lines, asked.ids, asked.questions, asked.left_out,
        [dict(fates) for fates in part.fates],
        part.n_different_texts,
        [{name: table.tolist() for name, table in measures.items()} for measures, _ in part.measured],
        [dict(misses) for _, misses in part.measured],
        over_limit,
    )  # fmt: skip
    Store(folder).write_named(_name(block), msgspec.msgpack.encode(plain))


def read_part(folder: str, block: int) -> tuple[PassPart, list[int]]:
    """What `write_part` was given; `RefusedError` where there is no such part."""
    data = Store(folder).find_named(_name(block))
    if data is None:
        raise RefusedError(f"block {block} of the questions has no result; nothing was written, so run it again")
    found = msgspec.msgpack.decode(data, type=_PartFile)
    asked = Asked(found.lines, found.ids, found.questions, found.left_out)
    tables = [{name: np.array(rows).reshape(-1, len(METRICS)) for name, rows in arm.items()} for arm in found.measures]
    measured = list(zip(tables, map(Counter[str], found.misses), strict=True))
    fates = [Counter(fates) for fates in found.fates]
    return PassPart(asked, fates, found.n_different_texts, measured), found.over_limit


def _name(block: int) -> str:
    return f"part-{block:09d}.msgpack"
