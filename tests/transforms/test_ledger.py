"""The bill of one shard and of one run."""

import pyarrow as pa
import pytest
from hand_mill import HandMill

from models.fakes import NanEncoder
from transforms.ledger import shard_ledger, stage_row
from transforms.store.schemas import LEDGER


def tables(*rows: tuple[str, int, float, str, int, float]) -> tuple[pa.Table, pa.Table]:
    """Units and costs of (content, cut tokens, cut seconds, source, encoded tokens, padded slots)."""
    contents, tokens, seconds, sources, encoded, padded = (list(column) for column in zip(*rows, strict=True))
    ones = [1.0] * len(rows)
    units = pa.table({"content_id": contents, "n_tokens": tokens, "seconds": seconds})
    costs = {"source": sources, "n_tokens": encoded, "padded_slots": padded, "flops": [2.0 * n for n in encoded]}
    return units, pa.table(costs | {"attention_flops": ones, "seconds": ones})


def test_two_rows_a_content_and_their_sums():
    units, costs = tables(
        ("a", 5, 0.5, "encoded", 7, 8.4),
        ("a", 6, 0.25, "former", 6, 0.0),
        ("a", 6, 0.25, "encoded", 8, 9.2),
        ("b", 4, 0.125, "leftover", 6, 0.0),
    )
    table, totals = shard_ledger(units, costs, {"a": "uri of a"})
    assert table.schema.equals(LEDGER)
    rows = [{k: v for k, v in row.items() if v} for row in table.to_pylist()]
    assert rows == [
        {"stage": "cut", "uri": "uri of a", "content_id": "a", "n_units": 3, "n_tokens": 17, "seconds": 1.0},
        {
            "stage": "encode", "uri": "uri of a", "content_id": "a", "n_units": 2, "n_units_reused": 1, "n_tokens": 15,
            "n_padded_slots": 18, "flops": 30.0, "attention_flops": 2.0, "seconds": 2.0,
        },
        {"stage": "cut", "content_id": "b", "n_units": 1, "n_tokens": 4, "seconds": 0.125},
        {"stage": "encode", "content_id": "b", "n_units_reused": 1},
    ]  # fmt: skip
    assert (totals["tokens_cut"], totals["tokens_encoded"], totals["units_reused"]) == (21, 15, 2)
    assert (totals["units_encoded"], totals["leftover_tokens"], totals["seconds_encode"]) == (2, 6, 2.0)


def test_nothing_made_costs_nothing():
    empty = pa.table({"content_id": pa.array([], pa.string())})
    table, totals = shard_ledger(empty, empty, {})
    assert table.num_rows == 0 and set(totals.values()) == {0}


def test_a_stage_row_has_every_column():
    (row,) = stage_row("index", n_units=3).to_pylist()
    assert row.keys() == set(LEDGER.names) and (row["stage"], row["n_units"], row["seconds"]) == ("index", 3, 0.0)


@pytest.mark.parametrize("encoder", [None, NanEncoder])
def test_a_runs_ledger_sums_to_what_it_says(tmp_path, encoder):
    mill = HandMill(tmp_path, {"max_failures": "100%", "window_tokens": 10})
    mill.encoder = encoder or mill.encoder
    for n in range(5):
        mill.write(f"{n}.txt", f"text {n} and so on " * n * 9 + "\n\n" + NanEncoder.mark * (n == 3) + " more words")
    mill.run()
    mill.write("4.txt", "text 4 and so on " * 36 + "\n\nother words")
    outcome = mill.run().outcome
    rows = mill.table(mill.manifest().ledger)
    encode = [row for row in rows if row["stage"] == "encode"]
    assert sum(row["n_tokens"] for row in encode) == outcome.tokens["encoded"] > 0
    assert sum(row["n_units"] for row in encode) == outcome.units["encoded"]
    assert sum(row["n_units_reused"] for row in encode) == outcome.units["reused"] > 0
    assert {row["uri"].rsplit("/", 1)[-1] for row in rows if row["stage"] == "read"} == {"4.txt"}
