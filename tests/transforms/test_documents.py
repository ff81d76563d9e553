"""Joining documents: whole runs against an oracle that knows nothing of stamps, skips, listings or shards."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hand_mill import CUT_ME_NOT, HandMill, Turn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from transforms.documents import Document, merged, resolve
from transforms.records import ContentChange, DocumentGone, DocumentRead, Failure, FileSeen, Note

# A file is gone (absent), unreadable (BROKEN), or a table of id -> text, where None is a row without text, "" is an
# empty document, and texts with CUT_ME_NOT cannot be cut.
BROKEN = "broken"
TEXTS = ["alpha one", "beta two", "", None, f"gamma {CUT_ME_NOT}", f"delta {CUT_ME_NOT}"]
FILES = ["a.parquet", "b.parquet", "c.parquet"]
World = dict[str, object]

tables = st.dictionaries(st.sampled_from("uv"), st.sampled_from(TEXTS), max_size=2)
changes = st.dictionaries(st.sampled_from(FILES), st.none() | st.just(BROKEN) | tables | tables, min_size=1, max_size=2)


class Known(NamedTuple):
    """What the oracle remembers of a document."""

    file: str
    row: int
    text: str
    status: str


def oracle(before: dict[str, Known], world: World) -> dict[str, Known]:
    """The documents after a run over `world`, out of everything in it."""
    after = {}
    uris = {uri for table in world.values() if table != BROKEN for uri in table} | before.keys()
    for uri in sorted(uris):
        document = _one(uri, before.get(uri), world)
        if document is not None:
            after[uri] = document
    return after


def _one(uri: str, known: Known | None, world: World) -> Known | None:
    claims = [
        Known(file, list(table).index(uri), table[uri], "indexed" if table[uri] else "empty")
        for file, table in sorted(world.items())
        if table != BROKEN and table.get(uri) is not None
    ]
    best = claims[0] if claims else None
    home = world.get(known.file) if known else None
    is_kept = known is not None and (home == BROKEN or (home is not None and home.get(uri, "gone") is None))
    if is_kept and (best is None or known.file < best.file):
        return known if home == BROKEN else known._replace(status="stale")
    if best is None or CUT_ME_NOT not in best.text or (known and known.text == best.text and known.status != "stale"):
        return best
    stands = (
        known is not None
        and known.file != best.file
        and (is_kept or (home is not None and home.get(uri) == known.text))
    )
    if stands:
        return known
    return known and known._replace(file=best.file, row=best.row, status="stale")


def n_listed(world: World) -> int:
    return sum(1 if table == BROKEN else len(table) for table in world.values())


def put(mill: HandMill, world: World) -> None:
    """Make the corpus be `world`; files that stay as they were keep their stamps."""
    for name in FILES:
        path = mill.source / name
        table = world.get(name)
        if table is None:
            path.unlink(missing_ok=True)
        elif getattr(mill, "_world", {}).get(name, "new") != table:
            mill.write(name, b"PAR1 no table") if table == BROKEN else mill.write_rows(name, table.items())
    mill._world = dict(world)


def stored(mill: HandMill) -> dict[str, Known]:
    texts = mill.texts()
    return {
        uri: Known(d.file.rsplit("/", 1)[1], d.row, texts[d.content_id] if d.content_id else "", d.status)
        for uri, d in mill.documents().items()
    }


def check(mill: HandMill, turn: Turn, before: dict[str, Known], world: World) -> dict[str, Known]:
    assert not turn.outcome.refused
    expected = oracle(before, world)
    if not turn.outcome.published:
        assert expected == before
        return before
    found = stored(mill)
    # An unchanged row may have moved within its file; where it lies is not read again for that.
    assert {u: d._replace(row=0) for u, d in found.items()} == {u: d._replace(row=0) for u, d in expected.items()}
    counts = turn.outcome.documents
    assert counts["listed"] == n_listed(world)
    assert counts["listed"] == sum(counts[name] for name in ("indexed", "unchanged", "empty", "failed"))
    assert min(counts.values()) >= 0
    users: dict[str, int] = {}
    for document in mill.documents().values():
        users[document.content_id] = users.get(document.content_id, 0) + bool(document.content_id)
    users.pop("", None)
    assert {name: row["n_documents"] for name, row in mill.contents().items()} == users
    return found


LOSER_COMES_BACK = [
    {"a.parquet": {"u": "alpha one"}, "b.parquet": {"u": "beta two"}},
    {"c.parquet": {}},
    {"a.parquet": None},
]
DISPLACED_COMES_BACK = [{"b.parquet": {"u": "beta two"}}, {"a.parquet": {"u": "alpha one"}}, {"a.parquet": None}]
STALE_MOVES = [
    {"b.parquet": {"u": "beta two"}},
    {"a.parquet": {"u": CUT_ME_NOT}, "b.parquet": None},
    {"a.parquet": None},
]
LATE_THEN_BROKEN = [
    {"a.parquet": {"u": "alpha one", "v": CUT_ME_NOT}},
    {"a.parquet": BROKEN},
    {"a.parquet": {"u": "alpha one", "v": "beta two"}},
]
DISPLACED_IN_A_BROKEN_TABLE = [{"b.parquet": {"u": "alpha one"}}, {"b.parquet": BROKEN, "a.parquet": {"u": "beta two"}}]
STALE_RECOVERS = [{"a.parquet": {"u": "alpha one"}}, {"a.parquet": {"u": None}}, {"a.parquet": {"u": "alpha one"}}]


@given(steps=st.lists(changes, min_size=1, max_size=5), seed=st.none() | st.integers(0, 9))
@example(steps=LOSER_COMES_BACK, seed=None)
@example(steps=DISPLACED_COMES_BACK, seed=None)
@example(steps=STALE_MOVES, seed=None)
@example(steps=LATE_THEN_BROKEN, seed=None)
@example(steps=STALE_RECOVERS, seed=None)
@example(steps=DISPLACED_IN_A_BROKEN_TABLE, seed=None)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_life_of_a_corpus_ends_as_the_oracle_says(steps, seed):
    with tempfile.TemporaryDirectory() as folder:
        mill = HandMill(Path(folder), {"id_scope": "corpus", "accept_deletes": True, "max_failures": "100%"}, seed)
        mill.source.mkdir()
        before: dict[str, Known] = {}
        world: World = {}
        for step in steps:
            world = {name: table for name, table in {**world, **step}.items() if table is not None}
            put(mill, world)
            before = check(mill, mill.run(), before, world)


def read(uri: str = "x", file: str = "a", row: int = 0, content: str = "c1", metadata: str = "") -> DocumentRead:
    return DocumentRead(uri, file, row, content, 10, "runs/r/reads/p.parquet", 3, metadata, 0.5)


def document(content: str = "c1", file: str = "a", row: int = 0, status: str = "indexed") -> Document:
    return Document("x", file, row, content, status, "")


def test_new_edited_and_deleted_documents_say_what_their_contents_gain_and_lose():
    new = resolve({}, [read()])
    assert new.changes == [ContentChange("c1", 1, "c1", "x", 10, "runs/r/reads/p.parquet", 3)]
    edited = resolve({"x": document()}, [read(content="c2")])
    assert [(c.content_id, c.n_documents, c.cause, c.former) for c in edited.changes] == [
        ("c1", -1, "c2", ""),
        ("c2", 1, "c2", "c1"),
    ]
    deleted = resolve({"x": document()}, [DocumentGone("x", "a")])
    assert [(c.content_id, c.cause, c.is_loss) for c in deleted.changes] == [("c1", "", True)]
    assert deleted.outcomes == {"deleted": 1}


def test_metadata_alone_changes_the_row_and_no_content():
    result = resolve({"x": document()}, [read(metadata='{"a":"b"}')])
    assert result.changes == [] and result.outcomes == {"unchanged": 1}
    assert result.documents["x"].metadata == '{"a":"b"}'


def test_emptied_document_loses_its_content_and_is_no_deletion():
    result = resolve({"x": document()}, [read(content="")])
    assert [(c.content_id, c.cause) for c in result.changes] == [("c1", "empty")]
    assert (result.documents["x"].status, result.outcomes, result.n_empty_gone) == ("empty", {"empty": 1}, 0)


def test_another_objects_failure_leaves_a_document_as_it_is():
    result = resolve({"x": document()}, [Failure("read", "no_text", "x", "b")])
    assert result.documents["x"].status == "indexed"
    assert result.outcomes == {"failed": 1, "failed:read:no_text": 1}


@pytest.mark.parametrize("doubled", [False, True])
def test_what_is_said_twice_counts_once(doubled):
    seen = FileSeen("a", 1, "s", True, "jsonl", True, 3, 1, n_listed=4)
    failure = Failure("read", "no_text", "y", "a", detail="row 2: empty")
    records = [seen, Note("replaced_nul", 7, "a"), read(), read("z", content=""), failure]
    result = resolve({}, records * (1 + doubled))
    assert result.outcomes == {
        "listed": 4, "unchanged": 1, "replaced_nul": 7, "indexed": 1, "empty": 1, "failed": 1, "failed:read:no_text": 1
    }  # fmt: skip
    assert len(result.failures) == len(result.changes) == 1


def test_changes_of_one_content_add_up():
    changes = [ContentChange("c", 1, "c", f"u{n}", 5, f"p{n}", n, former="f" * n) for n in (2, 1, 3)]
    assert merged(changes) == merged(reversed(changes)) == [ContentChange("c", 3, "c", "u1", 5, "p1", 1, former="f")]


def test_two_bad_rows_of_one_id_are_two_failures(tmp_path):
    mill = HandMill(tmp_path, {"max_failures": "100%"})
    mill.write("t.jsonl", '{"id": "a", "text": "one"}\n' + '{"id": "a", "text": "two"}\n' * 2)
    counts = mill.run().outcome.documents
    assert (counts["listed"], counts["indexed"], counts["failed"]) == (3, 1, 2)
    mill.stamp("t.jsonl")
    counts = mill.run().outcome.documents
    assert (counts["listed"], counts["unchanged"], counts["failed"]) == (3, 1, 2)
    assert not mill.run().outcome.published
