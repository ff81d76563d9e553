"""Verification: silent on what was published, and naming the file wherever one byte or one row is wrong."""

from dataclasses import dataclass
from itertools import pairwise

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from models.errors import StoreError
from transforms.store.consistency import MAX_FAULTS_PER_FILE, FaultLog
from transforms.store.pointer import swap_pointer
from transforms.store.segments import read_table, write_table
from transforms.store.verify import verify
from transforms.store.versions import paths_of, write_manifest


def test_a_published_version_has_no_fault(store, publishing, documents):
    publishing(store, "v1", documents)
    assert verify(store) == []


def test_an_empty_root_has_no_fault(store):
    assert verify(store) == []


def test_an_unknown_version_is_an_error(store, publishing, documents):
    publishing(store, "v1", documents)
    with pytest.raises(StoreError, match="no version v9"):
        verify(store, "v9")


def test_one_flipped_bit_in_any_file_is_named(store, publishing, documents, flip):
    manifest = publishing(store, "v1", documents)
    paths = paths_of(manifest) | {"CURRENT"}
    kinds = {(path.split("/")[0], path.rsplit(".", 1)[-1]) for path in paths}
    assert len(kinds) == 15
    for path in sorted(paths):
        size = store.stat(path).size
        for position in (0, size // 3, size - 1):
            flip(store, path, position)
            faults = verify(store)
            assert path in {fault.path for fault in faults}, (path, position, faults)
            flip(store, path, position)
    assert verify(store) == []


def test_a_missing_or_longer_file_is_named(store, publishing, documents):
    manifest = publishing(store, "v1", documents)
    for path in sorted(paths_of(manifest)):
        data = store.read_named(path)
        store.delete([path])
        assert path in {fault.path for fault in verify(store)}
        store.write_named(path, data + b"\n")
        assert path in {fault.path for fault in verify(store)}
        store.write_named(path, data)
    assert verify(store) == []


def test_an_old_version_is_checked_by_its_own_checksum(store, publishing, documents, flip):
    publishing(store, "v1", documents)
    publishing(store, "v2", {"a": "alpha"})
    assert verify(store, "v1") == verify(store, "v2") == []
    flip(store, "versions/v1/manifest.json")
    assert verify(store) == []
    assert [fault.path for fault in verify(store, "v1")] == ["versions/v1/manifest.json"]


@dataclass
class Wrong:
    """A column of a shard's table that is changed in every row, with words of the fault that must follow."""

    table: str
    column: str
    change: object
    words: str


WRONGS = [
    Wrong("contents", "n_documents", lambda column: pc.add(column, 1), "documents where"),
    Wrong("contents", "n_chars", lambda column: pc.add(column, 1), "chars"),
    Wrong("contents", "snapshot_row", lambda column: pc.add(column, 1), "is not the text of content"),
    Wrong("contents", "units_row", lambda column: pc.add(column, 1), "points at no units"),
    Wrong("contents", "units_row", lambda column: pc.multiply(column, 0), "claim the same rows"),
    Wrong("contents", "units_segment", lambda column: pc.replace_substring(column, "units", "elsewhere"), "no units"),
    Wrong("contents", "vectors_row", lambda column: pc.add(column, 1), "points at no vectors"),
    Wrong("contents", "vectors_row", lambda column: pc.negate(column), "points at no vectors"),
    Wrong("contents", "n_units", lambda column: pc.subtract(column, 1), "other"),
    Wrong("units", "start", lambda column: pc.subtract(column, 1), "is not what its snapshot has"),
    Wrong("units", "end", lambda column: pc.add(column, 1), "is not what its snapshot has"),
    Wrong("units", "text", lambda column: pc.utf8_upper(column), "than its id says"),
    Wrong("units", "recipe", lambda column: pc.utf8_upper(column), "than its id says"),
    Wrong("units", "vector_id", lambda column: pc.add(column, 1), "wrong vector_id"),
    Wrong("units", "ordinal", lambda column: pc.negate(column), "out of order"),
    Wrong("units", "level", lambda column: pc.utf8_upper(column), "unknown level"),
    Wrong("units", "level", lambda column: pc.replace_substring(column, "chunk", "proposition"), "is no passage"),
    Wrong("units", "parent_id", lambda column: pc.if_else(pc.is_null(column), "0" * 32, column), "has a parent"),
    Wrong("snapshots", "text", lambda column: pc.replace_substring(column, "alpha", "alpHa"), "is not the text"),
    Wrong("snapshots", "content_id", lambda column: pc.utf8_upper(column), "is not the text"),
]


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: f"{wrong.table}.{wrong.column}")
def test_a_consistent_file_with_wrong_rows_is_named(store, publishing, documents, wrong):
    manifest = publishing(store, "v1", documents)
    shard = manifest.shards[0]
    old = shard.contents if wrong.table == "contents" else getattr(shard, wrong.table)[0]
    table = read_table(store, old)
    place = table.schema.get_field_index(wrong.column)
    field = table.schema.field(place)
    new = write_table(store, old.path.rsplit("/", 1)[0], table.set_column(place, field, _cast(wrong, table, field)))
    _republish(store, manifest, old, new, wrong.table)
    assert any(wrong.words in fault.problem for fault in verify(store)), verify(store)


def test_a_proposition_outside_its_passage_is_named(store, publishing, documents):
    """Every second unit of a content becomes a proposition of the one before it, which it does not lie in."""
    manifest = publishing(store, "v1", documents)
    old = manifest.shards[0].units[0]
    units = read_table(store, old).to_pylist()
    for before, unit in pairwise(units):
        if unit["ordinal"] % 2 and before["content_id"] == unit["content_id"]:
            before["level"], unit["level"], unit["parent_id"] = "passage", "proposition", before["unit_id"]
    table = pa.Table.from_pylist(units, read_table(store, old).schema)
    new = write_table(store, old.path.rsplit("/", 1)[0], table)
    _republish(store, manifest, old, new, "units")
    problems = [fault.problem for fault in verify(store)]
    assert any("lies outside its passage" in problem for problem in problems), problems


def _cast(wrong, table, field):
    return wrong.change(table.column(wrong.column)).cast(field.type)


def _republish(store, manifest, old, new, kind):
    """The manifest with one file replaced, and rows that pointed at it pointing at the new one."""
    shard = manifest.shards[0]
    contents = new
    if kind != "contents":
        table = read_table(store, shard.contents)
        column = f"{kind.removesuffix('s') if kind == 'snapshots' else kind}_segment"
        place = table.schema.get_field_index(column)
        table = table.set_column(place, table.schema.field(place), pa.array([new.path] * table.num_rows))
        contents = write_table(store, "contents/x", table)
        shard = msgspec.structs.replace(shard, **{kind: (new,)})
    shard = msgspec.structs.replace(shard, contents=contents)
    changed = msgspec.structs.replace(manifest, version="v2", shards=(shard, *manifest.shards[1:]))
    swap_pointer(store, write_manifest(store, manifest), write_manifest(store, changed))


def test_wrong_counts_of_the_manifest_are_named(store, publishing, documents):
    manifest = publishing(store, "v1", documents)
    for name in ("n_contents", "n_units"):
        shard = msgspec.structs.replace(manifest.shards[0], **{name: 99})
        changed = msgspec.structs.replace(manifest, version=f"v-{name}", shards=(shard, *manifest.shards[1:]))
        write_manifest(store, changed)
        assert any("where 99 are promised" in fault.problem for fault in verify(store, changed.version))


def test_a_lost_shard_a_lost_document_and_a_foreign_index_are_named(store, publishing, documents):
    manifest = publishing(store, "v1", documents)
    first, second = manifest.shards
    cases = {
        "lost-shard": ({"shards": (first,)}, "do not cover"),
        "lost-documents": ({"document_shards": manifest.document_shards[:1]}, "documents where"),
        "lost-content": ({"shards": (msgspec.structs.replace(first, contents=None, n_contents=0), second)}, "lacks"),
        "lost-index": ({"shards": (msgspec.structs.replace(first, index=None), second)}, "no index"),
        "foreign-index": ({"shards": (msgspec.structs.replace(first, index=second.index), second)}, "lacks"),
    }
    for name, (changes, words) in cases.items():
        write_manifest(store, msgspec.structs.replace(manifest, version=name, **changes))
        faults = verify(store, name)
        assert any(words in fault.problem for fault in faults), (name, faults)


def test_the_same_fault_is_not_said_a_million_times():
    log = FaultLog()
    for number in range(1000):
        log.add("a", f"{number}")
    faults = log.faults()
    assert len(faults) == MAX_FAULTS_PER_FILE + 1
    assert faults[-1].problem == f"and {1000 - MAX_FAULTS_PER_FILE} more faults"
