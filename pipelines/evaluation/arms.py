"""What an evaluation asks of a searchable corpus, whether it is a published index or a policy on trial."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.errors import SettingsError
from models.tokenizer import Tokenizer
from transforms.evaluation.extent import NOTHING, Ranked, Spans
from transforms.indexing.searching import NONE

SAMPLED_UNITS = 2000
_LAST_PART = r"^.*/"


@dataclass(frozen=True)
class Ranking:
    """The units found for a block of questions; `text(question, rank)` is the text of one of them."""

    ranked: Ranked
    text: Callable[[int, int], str]


class Arm(Protocol):
    """A corpus that answers questions. Documents are known by their content: copies of one text are one document."""

    name: str
    tokenizer: Tokenizer
    is_exact: bool

    @property
    def description(self) -> Mapping[str, Any]:
        """What is evaluated, for the report: kind, version or settings, and counts."""

    def resolve(self, uris: Collection[str]) -> Mapping[str, str]:
        """The content of each document that is there, by the name that `uris` has for it."""

    def texts(self, content_ids: Collection[str]) -> Mapping[str, str]:
        """The texts of contents."""

    def unit_spans(self, content_ids: Collection[str]) -> Spans:
        """The places of all units of contents, in the documents' codes; their questions mean nothing."""

    def document_code(self, content_id: str) -> int:
        """The number by which rankings know a content."""

    def encode(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions, float32 (q, d)."""

    def rank(self, vectors: NDArray[np.float32], k: int, counter: Tokenizer) -> Ranking:
        """The `k` best units for each vector, with their tokens as `counter` counts them."""

    def mean_unit_tokens(self, counter: Tokenizer) -> float:
        """Mean tokens of a unit, over all of them or an even sample of about `SAMPLED_UNITS`."""


class Names:
    """Finds documents by uri, or by the end of it after a slash, so that a questions file fits another folder.

    Hand over the corpus's uris with `add`, table by table; an exact match goes before one of the end.
    """

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = pa.array(sorted(wanted), pa.string())
        self._by_last_part: dict[str, list[str]] = {}
        for uri, last in zip(self._wanted.to_pylist(), _last_parts(self._wanted).to_pylist(), strict=True):
            self._by_last_part.setdefault(str(last), []).append(str(uri))
        self._exact: dict[str, str] = {}
        self._by_end: dict[str, dict[str, str]] = {}

    def add(self, documents: pa.Table) -> None:
        """Take a table of `uri` and `content_id`, which is null for a document without text."""
        is_near = pc.is_in(_last_parts(documents["uri"]), value_set=_last_parts(self._wanted))
        near = documents.filter(is_near)
        for uri, content_id in zip(near["uri"].to_pylist(), near["content_id"].to_pylist(), strict=True):
            if content_id is not None:
                self._take(str(uri), str(content_id))

    def _take(self, uri: str, content_id: str) -> None:
        for wanted in self._by_last_part.get(uri.rpartition("/")[2], ()):
            if uri == wanted:
                self._exact[wanted] = content_id
            elif uri.endswith("/" + wanted):
                self._by_end.setdefault(wanted, {})[uri] = content_id

    def found(self) -> dict[str, str]:
        """The content of each document that is there. `SettingsError` where a name's end fits two different texts."""
        contents = dict(self._exact)
        for wanted, fitting in self._by_end.items():
            if wanted not in contents:
                if len(set(fitting.values())) > 1:
                    first, second, *_ = sorted(fitting)
                    raise SettingsError(
                        f"uri {wanted!a} fits {len(fitting)} documents, such as {first!a} and {second!a}; "
                        "write more of it in the questions file"
                    )
                contents[wanted] = next(iter(fitting.values()))
        return contents


def ranked_units(
    ids: NDArray[np.int64],
    known_ids: NDArray[np.int64],
    fields: Sequence[NDArray[np.int64]],
) -> Ranked:
    """A ranking of `ids` int64 (q, k) from the fields (documents, starts, ends, tokens) of sorted `known_ids`."""
    is_there = ids != NONE
    rows = np.searchsorted(known_ids, ids[is_there])
    blanks = (NOTHING, 0, 0, 0)
    filled = [np.full(ids.shape, blank, np.int64) for blank in blanks]
    for target, field in zip(filled, fields, strict=True):
        target[is_there] = field[rows]
    return Ranked(*filled)


def _last_parts(uris: Any) -> Any:
    return pc.replace_substring_regex(uris, _LAST_PART, "")
