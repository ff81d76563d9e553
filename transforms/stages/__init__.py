"""The mill as Beam transforms: thin, typed dataclasses over the pure functions of `transforms`.

Each takes a `RunContext`; what flows between them are `Record`s. Tagged outputs are named after what they carry.
"""

from transforms.stages.joining import Admit, FindLeftovers, JoinDocuments, PlanWork
from transforms.stages.making import CutUnits, EncodeUnits
from transforms.stages.reading import ReadDocuments
from transforms.stages.writing import FillIndexes, Publish, WriteDocuments, WriteShards

__all__ = [
    "Admit",
    "CutUnits",
    "EncodeUnits",
    "FillIndexes",
    "FindLeftovers",
    "JoinDocuments",
    "PlanWork",
    "Publish",
    "ReadDocuments",
    "WriteDocuments",
    "WriteShards",
]
