"""Versions: writing and reading their manifests, listing them, and rolling back to one."""

import hashlib
from collections.abc import Iterable

import msgspec

from models.errors import ConflictError, DamagedFileError, StoreError
from transforms.store.files import Store, damaged
from transforms.store.manifest import FileEntry, Manifest, decode_manifest, encode_manifest
from transforms.store.pointer import (
    CURRENT,
    VERSIONS,
    Pointer,
    checked_name,
    find_pointer,
    manifest_path,
    marker_path,
    read_pointer,
    swap_pointer,
)

__all__ = [
    "VersionInfo",
    "check_present",
    "discard_version",
    "list_versions",
    "load_manifest",
    "manifest_path",
    "paths_of",
    "rollback",
    "stored_manifest",
    "sums_bytes",
    "sums_path",
    "version_names",
    "was_published",
    "write_manifest",
]


class VersionInfo(msgspec.Struct, frozen=True):
    """A line of `corpusmill versions`. Bytes count every file once, those shared with other versions too.

    `is_published` is false for what a run left that was killed, or beaten by another, just before its version became
    current.
    """

    version: str
    created_at: str
    is_current: bool
    is_published: bool
    base: str | None
    n_documents: int
    n_contents: int
    n_units: int
    n_files: int
    n_bytes: int


def sums_path(version: str) -> str:
    """Where the manifest's sha256 lies, in the format of `sha256sum`, so that old versions can be checked too."""
    return f"{VERSIONS}/{checked_name(version)}/manifest.sha256"


def sums_bytes(manifest_sha256: str) -> bytes:
    """What stands at `sums_path`."""
    return f"{manifest_sha256}  manifest.json\n".encode()


def write_manifest(store: Store, manifest: Manifest) -> Pointer:
    """Stores a version's manifest, which makes it complete but not current. Writing the same one again is no error.

    :raises ConflictError: a different manifest has the version's name.
    """
    data = encode_manifest(manifest)
    sha256 = hashlib.sha256(data).hexdigest()
    present = store.find_named(manifest_path(manifest.version))
    if present is not None and present != data:
        raise ConflictError(
            f"version {manifest.version} exists in {store.root} and is another one; choose another name"
        )
    store.write_named(sums_path(manifest.version), sums_bytes(sha256))
    if present is None:
        store.write_named(manifest_path(manifest.version), data)
    return Pointer(manifest.version, sha256)


def load_manifest(store: Store, version: str | None = None) -> Manifest | None:
    """The manifest of `version`, or of the current one; None where nothing was published.

    :raises StoreError: there is no such version.
    :raises DamagedFileError: CURRENT or the manifest is not what was written.
    """
    current = read_pointer(store)
    if version is None and current is None:
        return None
    if version is None or (current is not None and current.version == version):
        assert current is not None
        return _load(store, current)
    return _load(store, _stored_pointer(store, version))


def _stored_pointer(store: Store, version: str) -> Pointer:
    """The pointer that would make a stored version current."""
    data = store.find_named(sums_path(version))
    if data is None or not store.exists(manifest_path(version)):
        raise StoreError(f"{store.root} has no version {version}; see `corpusmill versions {store.root}`")
    sha256 = data.decode("ascii", "replace")[:64]
    if data != sums_bytes(sha256):
        raise damaged(store.path(sums_path(version)), "is not a checksum this program wrote")
    return Pointer(version, sha256)


def _load(store: Store, pointer: Pointer) -> Manifest:
    path = manifest_path(pointer.version)
    manifest = decode_manifest(store.read(FileEntry(path, pointer.manifest_sha256, 0)))
    if manifest.version != pointer.version:
        raise damaged(store.path(path), f"is the manifest of version {manifest.version}")
    return manifest


def stored_manifest(store: Store, version: str) -> Manifest:
    """The manifest of a version by its own checksum, whatever CURRENT says.

    :raises DamagedFileError: it is damaged. Where it is not the current one, the remedy is to do without it.
    """
    try:
        return _load(store, _stored_pointer(store, version))
    except DamagedFileError as error:
        current = find_pointer(store)
        if current is None or current.version == version:
            raise
        folder = store.path(f"{VERSIONS}/{version}")
        problem = str(error).split(";")[0]
        raise DamagedFileError(
            f"{problem}; {current.version} is current and does not need it: restore it, or delete {folder}"
        ) from error


def paths_of(manifest: Manifest) -> set[str]:
    """Every path under the root that a version needs, its manifest and the block sums of mapped files included."""
    entries = manifest.files()
    own = {manifest_path(manifest.version), sums_path(manifest.version)}
    return own | {entry.path for entry in entries} | {entry.block_sums for entry in entries if entry.block_sums}


def version_names(store: Store) -> list[str]:
    """The versions that have a manifest, sorted by name."""
    found = (file.path.split("/") for file in store.list(VERSIONS))
    return sorted(parts[1] for parts in found if parts[2:] == ["manifest.json"])


def list_versions(store: Store) -> list[VersionInfo]:
    """All versions, newest first. Where CURRENT is gone none of them is current."""
    current = find_pointer(store)
    manifests = [stored_manifest(store, name) for name in version_names(store)]
    infos = [_info(store, manifest, current) for manifest in manifests]
    return sorted(infos, key=lambda info: (info.created_at, info.version), reverse=True)


def _info(store: Store, manifest: Manifest, current: Pointer | None) -> VersionInfo:
    files = manifest.files()
    return VersionInfo(
        version=manifest.version,
        created_at=manifest.created_at,
        is_current=current is not None and current.version == manifest.version,
        is_published=was_published(store, manifest.version, current),
        base=manifest.base,
        n_documents=sum(shard.documents.n_rows for shard in manifest.document_shards if shard.documents),
        n_contents=sum(shard.n_contents for shard in manifest.shards),
        n_units=sum(shard.n_units for shard in manifest.shards),
        n_files=len(files),
        n_bytes=sum(entry.n_bytes for entry in files),
    )


def rollback(store: Store, version: str) -> Pointer:
    """Makes a version current again, after checking that its files are there in full size.

    Where CURRENT is missing or damaged this puts it right, and takes any complete version.

    :raises StoreError: there is no such version, or it never was current.
    :raises DamagedFileError: a file of it is missing.
    :raises ConflictError: another version was published meanwhile.
    """
    target = _stored_pointer(store, version)
    expected = _pointer_or_none(store)
    if expected is not None and not was_published(store, version, expected):
        raise StoreError(f"version {version} was never published; see `corpusmill versions {store.root}`")
    check_present(store, _load(store, target).files())
    swap_pointer(store, expected, target)
    return target


def was_published(store: Store, version: str, current: Pointer | None) -> bool:
    """Whether a version is or was current."""
    return (current is not None and current.version == version) or store.exists(marker_path(version))


def _pointer_or_none(store: Store) -> Pointer | None:
    """The current version. A damaged CURRENT is removed: no run can publish over it, so nobody loses anything."""
    try:
        return read_pointer(store)
    except DamagedFileError:
        store.delete([CURRENT])
        return None


def check_present(store: Store, entries: Iterable[FileEntry]) -> None:
    """`DamagedFileError` names the first file that is missing or has another size."""
    for entry in entries:
        found = store.stat(entry.path)
        if found is None:
            raise damaged(store.path(entry.path), "is missing")
        if found.size != entry.n_bytes:
            raise damaged(store.path(entry.path), f"has {found.size} bytes where {entry.n_bytes} were written")


def discard_version(store: Store, version: str) -> None:
    """Removes the manifest of a version that lost the race to be published. The current one cannot be removed."""
    current = read_pointer(store)
    if current is not None and current.version == version:
        raise StoreError(f"version {version} is current; roll back to another one before removing it")
    store.delete_folder(f"{VERSIONS}/{checked_name(version)}")
