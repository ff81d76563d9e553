"""The address of one document with a given content, for contents that no document of this run brought."""

import functools
from collections.abc import Mapping, Sequence

import msgspec

from transforms.columns import strings
from transforms.context import RunContext, open_store
from transforms.records import WorkEntry
from transforms.store.segments import read_table
from transforms.store.versions import load_manifest


def with_addresses(context: RunContext, entries: Sequence[WorkEntry], wanted: frozenset[str]) -> Sequence[WorkEntry]:
    """`entries`, of which those without an address have that of a stored document, if it is a `wanted` one."""
    if not wanted or not context.base or all(entry.uri for entry in entries):
        return entries
    known = _stored_addresses(context.root, context.base, wanted)
    return [
        entry if entry.uri else msgspec.structs.replace(entry, uri=known.get(entry.content_id, "")) for entry in entries
    ]


@functools.lru_cache(maxsize=1)
def _stored_addresses(root: str, version: str, wanted: frozenset[str]) -> Mapping[str, str]:
    """The first of the `wanted` addresses of each content that has one in a version. Holds no more than `wanted`."""
    manifest, found = load_manifest(open_store(root), version), dict[str, str]()
    for shard in manifest.document_shards if manifest else ():
        if shard.documents is None:
            continue
        table = read_table(open_store(root), shard.documents, ["uri", "content_id"])
        for uri, name in zip(strings(table, "uri"), table.column("content_id").to_pylist(), strict=True):
            if uri in wanted and name is not None:
                found[name] = min(uri, found.get(name, uri))
    return found
