"""The address of one document with a given content, for contents that no document of this run brought."""

import functools
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from transforms.columns import strings
from transforms.context import RunContext, open_store
from transforms.records import WorkEntry
from transforms.store.segments import read_table
from transforms.store.versions import load_manifest


def with_addresses(context: RunContext, entries: Sequence[WorkEntry], wanted: frozenset[str]) -> Sequence[WorkEntry]:
    """`entries`, of which those without an address have the first of their stored documents, if it is `wanted`."""
    if not wanted or not context.base or all(entry.uri for entry in entries):
        return entries
    known = _stored_addresses(context.root, context.base, wanted)
    return [
        entry if entry.uri else msgspec.structs.replace(entry, uri=known.get(entry.content_id, "")) for entry in entries
    ]


@functools.lru_cache(maxsize=1)
def _stored_addresses(root: str, version: str, wanted: frozenset[str]) -> Mapping[str, str]:
    """Contents of a version by the first of their addresses, where that is a `wanted` one; no more than those."""
    held = {name for uri, name in _documents(root, version) if uri in wanted and name is not None}
    first: dict[str, str] = {}
    for uri, name in _documents(root, version):
        if name is not None and name in held:
            first[name] = min(uri, first.get(name, uri))
    return {name: uri for name, uri in first.items() if uri in wanted}


def _documents(root: str, version: str) -> Iterator[tuple[str, str | None]]:
    """Yields address and content of every document, a shard at a time; no content for an empty one."""
    manifest = load_manifest(open_store(root), version)
    for shard in manifest.document_shards if manifest else ():
        if shard.documents is not None:
            table = read_table(open_store(root), shard.documents, ["uri", "content_id"])
            yield from zip(strings(table, "uri"), table.column("content_id").to_pylist(), strict=True)
