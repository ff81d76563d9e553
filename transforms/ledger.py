"""The bill: one row a stage and document, written as rows so that retries and runners cannot distort it."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from transforms.records import DocumentRead
from transforms.store.schemas import LEDGER

Row = dict[str, Any]

ZERO: Row = {
    "stage": "", "uri": "", "content_id": "", "n_documents": 0, "n_units": 0, "n_units_reused": 0, "n_tokens": 0,
    "n_padded_slots": 0, "flops": 0.0, "attention_flops": 0.0, "seconds": 0.0, "wasted_tokens": 0,
    "wasted_seconds": 0.0,
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
    """Two rows for each content that was cut or encoded, and their sums.

    `units` and `costs` lie row by row beside each other. A content is named by one of its documents where a document
    of this run brought it.
    """
    names = np.asarray(units.column("content_id").to_pylist(), dtype=object)
    if not len(names):
        return LEDGER.empty_table(), _totals([])
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
    counts = np.diff(np.r_[starts, len(names)])

    def sums(values: Any) -> list[float]:
        return [float(value) for value in np.add.reduceat(np.asarray(values, dtype=np.float64), starts)]

    encoded = np.asarray(costs.column("source").to_pylist(), dtype=object) == "encoded"
    cut = {"n_tokens": sums(units.column("n_tokens")), "seconds": sums(units.column("seconds"))}
    paid = {
        column: sums(costs.column(name).to_numpy() * encoded)
        for column, name in (
            ("n_tokens", "n_tokens"), ("n_padded_slots", "padded_slots"), ("flops", "flops"),
            ("attention_flops", "attention_flops"), ("seconds", "seconds"),
        )
    }  # fmt: skip
    n_encoded = sums(encoded)
    rows: list[Row] = []
    for i, name in enumerate(names[starts]):
        about = {**ZERO, "uri": uris.get(name, ""), "content_id": name, "n_units": int(counts[i])}
        rows.append({**about, "stage": "cut", "n_tokens": int(cut["n_tokens"][i]), "seconds": cut["seconds"][i]})
        own = {column: values[i] for column, values in paid.items()}
        own |= {column: round(own[column]) for column in ("n_tokens", "n_padded_slots")}
        reused = int(counts[i] - n_encoded[i])
        rows.append({**about, **own, "stage": "encode", "n_units": int(n_encoded[i]), "n_units_reused": reused})
    totals = _totals(rows)
    leftover = np.asarray(costs.column("source").to_pylist(), dtype=object) == "leftover"
    totals["leftover_tokens"] = float((costs.column("n_tokens").to_numpy() * leftover).sum())
    return pa.Table.from_pylist(rows, LEDGER), totals


def _totals(rows: Iterable[Row]) -> dict[str, float]:
    totals: dict[str, float] = {
        "units_encoded": 0, "units_reused": 0, "tokens_cut": 0, "tokens_encoded": 0, "padded_slots": 0,
        "flops": 0.0, "attention_flops": 0.0, "seconds_cut": 0.0, "seconds_encode": 0.0, "leftover_tokens": 0,
    }  # fmt: skip
    for row in rows:
        totals[f"seconds_{row['stage']}"] += row["seconds"]
        if row["stage"] == "cut":
            totals["tokens_cut"] += row["n_tokens"]
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
