"""The bill: one row a stage and document, written as rows so that retries and runners cannot distort it."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from transforms.columns import strings
from transforms.records import DocumentRead
from transforms.store.schemas import LEDGER

Row = dict[str, Any]

DETECTION_COLUMNS = (
    "detect_tokens", "detect_padded_slots", "detect_flops", "detect_attention_flops", "detect_seconds",
)  # fmt: skip
"""What a unit's row bears of the cost of finding its content's boundaries, in this order everywhere."""

ZERO: Row = {
    "stage": "", "uri": "", "content_id": "", "n_documents": 0, "n_units": 0, "n_units_reused": 0, "n_tokens": 0,
    "n_padded_slots": 0, "flops": 0.0, "attention_flops": 0.0, "seconds": 0.0, "wasted_tokens": 0,
    "wasted_seconds": 0.0, "n_cached_tokens": 0, "n_answer_tokens": 0, "n_retries": 0, "usd": 0.0,
}  # fmt: skip


def reading_ledger(read: Iterable[DocumentRead]) -> pa.Table:
    """A row for each document that was read."""
    rows = [
        {
            **ZERO,
            "stage": "read",
            "uri": claim.uri,
            "content_id": claim.content_id,
            "n_documents": 1,
            "seconds": claim.seconds,
        }
        for claim in read
    ]
    return pa.Table.from_pylist(rows, LEDGER)


def shard_ledger(units: pa.Table, costs: pa.Table, uris: Mapping[str, str]) -> tuple[pa.Table, dict[str, float]]:
    """Two rows for each content that was cut or encoded, and their sums; a third where boundaries were detected.

    `units` and `costs` lie row by row beside each other. A content is named by one of its documents where a document
    of this run brought it.
    """
    if not units.num_rows:
        return LEDGER.empty_table(), _totals([])
    names = strings(units, "content_id")
    starts = np.flatnonzero([i == 0 or names[i - 1] != name for i, name in enumerate(names)])
    cut, encoded, detected = _cut_sums(units, starts), _encode_sums(costs, starts), _detect_sums(units, starts)
    rows: list[Row] = []
    for i, (start, count) in enumerate(zip(starts, np.diff([*starts, len(names)]), strict=True)):
        about = {**ZERO, "uri": uris.get(names[start], ""), "content_id": names[start], "n_units": int(count)}
        if detected["n_tokens"][i]:
            rows.append({**about, "stage": "detect", **{name: values[i] for name, values in detected.items()}})
        rows.append({**about, "stage": "cut", **{name: values[i] for name, values in cut.items()}})
        paid = {name: values[i] for name, values in encoded.items()}
        rows.append({**about, "stage": "encode", **paid})
    totals = _totals(rows)
    is_leftover = np.asarray(strings(costs, "source")) == "leftover"
    totals["leftover_tokens"] = float((costs.column("n_tokens").to_numpy() * is_leftover).sum())
    return pa.Table.from_pylist(rows, LEDGER), totals


def _cut_sums(units: pa.Table, starts: NDArray[np.int64]) -> dict[str, list[Any]]:
    """What cutting each content came to; `starts` are the first rows of the contents."""
    columns = {name: units.column(name).to_numpy() for name in ("n_tokens", "seconds")}
    return {name: np.add.reduceat(values, starts).tolist() for name, values in columns.items()}


def _detect_sums(units: pa.Table, starts: NDArray[np.int64]) -> dict[str, list[Any]]:
    """What finding each content's boundaries cost: nothing for most chunkers."""
    names = ("n_tokens", "n_padded_slots", "flops", "attention_flops", "seconds")
    if DETECTION_COLUMNS[0] not in units.column_names:
        return {name: [0] * len(starts) for name in names}
    columns = [units.column(name).to_numpy() for name in DETECTION_COLUMNS]
    sums = {name: np.add.reduceat(values, starts) for name, values in zip(names, columns, strict=True)}
    counts = {name: np.round(sums[name]).astype(np.int64).tolist() for name in names[:2]}
    return counts | {name: sums[name].tolist() for name in names[2:]}


def _encode_sums(costs: pa.Table, starts: NDArray[np.int64]) -> dict[str, list[Any]]:
    """What encoding each content cost, and how many of its units were encoded in this run, or before it."""
    sources = np.asarray(strings(costs, "source"))
    is_encoded, is_reused = sources == "encoded", np.isin(sources, ("former", "leftover"))
    columns = {
        "n_tokens": "n_tokens", "n_padded_slots": "padded_slots", "flops": "flops",
        "attention_flops": "attention_flops", "seconds": "seconds",
    }  # fmt: skip
    sums = {name: np.add.reduceat(costs.column(of).to_numpy() * is_encoded, starts) for name, of in columns.items()}
    sums["n_units"] = np.add.reduceat(is_encoded.astype(np.int64), starts)
    sums["n_units_reused"] = np.add.reduceat(is_reused.astype(np.int64), starts)
    sums["n_padded_slots"] = np.round(sums["n_padded_slots"]).astype(np.int64)
    return {name: values.tolist() for name, values in sums.items()}


def _totals(rows: Iterable[Row]) -> dict[str, float]:
    totals: dict[str, float] = {
        "units_encoded": 0, "units_reused": 0, "tokens_cut": 0, "tokens_encoded": 0, "padded_slots": 0,
        "flops": 0.0, "attention_flops": 0.0, "seconds_cut": 0.0, "seconds_encode": 0.0, "leftover_tokens": 0,
        "tokens_detected": 0, "seconds_detect": 0.0, "flops_detect": 0.0,
    }  # fmt: skip
    for row in rows:
        totals[f"seconds_{row['stage']}"] += row["seconds"]
        if row["stage"] == "cut":
            totals["tokens_cut"] += row["n_tokens"]
            continue
        if row["stage"] == "detect":
            totals["tokens_detected"] += row["n_tokens"]
            totals["flops_detect"] += row["flops"]
            continue
        totals["units_encoded"] += row["n_units"]
        totals["units_reused"] += row["n_units_reused"]
        totals["tokens_encoded"] += row["n_tokens"]
        totals["padded_slots"] += row["n_padded_slots"]
        totals["flops"] += row["flops"]
        totals["attention_flops"] += row["attention_flops"]
    return totals


def stage_row(stage: str, **values: Any) -> pa.Table:
    """A row for a stage as a whole, such as what its repeated work wasted."""
    return pa.Table.from_pylist([{**ZERO, "stage": stage, **values}], LEDGER)
