"""Arrow schemas of every stored table. Plain pyarrow, DuckDB and pandas read them; docs/store.md explains the joins."""

import pyarrow as pa


def _schema(columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(columns)


BLOCK = pa.struct(
    [
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("level", pa.int32()),
        ("header_end", pa.int64()),
    ]
)

FILES = _schema(
    [
        ("file", pa.string()),
        ("size", pa.int64()),
        ("stamp", pa.string()),
        ("trusted", pa.bool_()),
        ("format", pa.string()),
        ("is_table", pa.bool_()),
        ("n_documents", pa.int64()),
        ("rows_file", pa.string()),
    ]
)
"""One row per listed object. `rows_file` is the path under the root of a table's ROWS listing, else null."""

ROWS = _schema([("uri", pa.string()), ("row", pa.int64()), ("content_id", pa.string()), ("metadata_hash", pa.string())])
"""The documents of one table file in row order, so that its next reading stores what changed and nothing else."""

DOCUMENTS = _schema(
    [
        ("uri", pa.string()),
        ("file", pa.string()),
        ("row", pa.int64()),
        ("content_id", pa.string()),
        ("status", pa.string()),
        ("metadata", pa.string()),
    ]
)
"""Sorted by uri. `content_id` is null for an empty document; `row` is -1 for a file.

`status` is indexed, empty or stale.
"""

SNAPSHOTS = _schema([("content_id", pa.string()), ("text", pa.string()), ("blocks", pa.list_(BLOCK))])
"""Texts, sorted by content_id in a published segment."""

CONTENTS = _schema(
    [
        ("content_id", pa.string()),
        ("n_documents", pa.int64()),
        ("n_chars", pa.int64()),
        ("n_tokens", pa.int64()),
        ("snapshot_segment", pa.string()),
        ("snapshot_row", pa.int64()),
        ("n_units", pa.int64()),
        ("units_segment", pa.string()),
        ("units_row", pa.int64()),
        ("vectors_segment", pa.string()),
        ("vectors_row", pa.int64()),
        ("cut_recipe", pa.string()),
        ("encode_recipe", pa.string()),
    ]
)
"""The live contents of a shard, sorted by content_id, and where their rows lie. Rows nobody points at are dead."""

UNITS = _schema(
    [
        ("unit_id", pa.string()),
        ("vector_id", pa.int64()),
        ("content_id", pa.string()),
        ("level", pa.string()),
        ("label", pa.string()),
        ("ordinal", pa.int32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("text", pa.string()),
        ("context", pa.string()),
        ("heading_path", pa.list_(pa.string())),
        ("parent_id", pa.string()),
        ("n_tokens", pa.int32()),
        ("recipe", pa.string()),
        ("embed_hash", pa.string()),
    ]
)
"""Sorted by (content_id, ordinal). `n_tokens` counts the content tokens of `text`.

`embed_hash` names the embedded text.
"""


def vectors_schema(dimension: int) -> pa.Schema:
    """Vectors as fp16, row for row beside their units, stored as one uncompressed Arrow IPC record batch."""
    return pa.schema([("vector_id", pa.int64()), ("vector", pa.list_(pa.float16(), dimension))])


FAILURES = _schema(
    [
        ("uri", pa.string()),
        ("file", pa.string()),
        ("content_id", pa.string()),
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("stale", pa.bool_()),
    ]
)

LEDGER = _schema(
    [
        ("stage", pa.string()),
        ("uri", pa.string()),
        ("content_id", pa.string()),
        ("n_documents", pa.int64()),
        ("n_units", pa.int64()),
        ("n_units_reused", pa.int64()),
        ("n_tokens", pa.int64()),
        ("n_padded_slots", pa.int64()),
        ("flops", pa.float64()),
        ("attention_flops", pa.float64()),
        ("seconds", pa.float64()),
        ("wasted_tokens", pa.int64()),
        ("wasted_seconds", pa.float64()),
        ("n_cached_tokens", pa.int64()),
        ("n_answer_tokens", pa.int64()),
        ("n_retries", pa.int64()),
        ("usd", pa.float64()),
    ]
)
"""One row per stage and document (or content). Sums over it are the bill.

The last four columns are those of a language model, for which `n_tokens` counts prompt tokens; cached ones are among
them.
"""

ANSWERS = _schema(
    [
        ("key", pa.string()),
        ("stage", pa.string()),
        ("owner", pa.string()),
        ("run", pa.string()),
        ("text", pa.string()),
        ("is_cut", pa.bool_()),
        ("prompt_tokens", pa.int64()),
        ("cached_prompt_tokens", pa.int64()),
        ("answer_tokens", pa.int64()),
        ("wasted_prompt_tokens", pa.int64()),
        ("wasted_answer_tokens", pa.int64()),
        ("seconds", pa.float64()),
        ("n_attempts", pa.int64()),
        ("model", pa.string()),
        ("prompt", pa.string()),
        ("written_at", pa.int64()),
    ]
)
"""Answers of the language model, sorted by key, which hashes all that decides them. `owner` is the content that one was
asked for, `run` the run that paid. Where it served another content too, there is a row more, which nobody paid for.

`model` and `prompt` name who answered to what, `written_at` is in seconds since 1970: by them answers are collected.
"""
