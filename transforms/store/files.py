"""The store's files: immutable ones named by the hash of their bytes, and a few named ones (manifests, leases).

Names come from hashes and from our own folder names, never from a document, so no uri becomes a path. A path that was
read from a manifest is checked before it is used: it cannot leave the root.
"""

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from models.errors import DamagedFileError, StoreError
from transforms.store.disks import Data, Disk, disk_for, is_temporary, scheme_of
from transforms.store.faults import crash_point
from transforms.store.manifest import FileEntry

_PART = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class StoredFile(msgspec.Struct, frozen=True):
    """A file under the root. `modified_at` is in seconds since 1970, by the file system's clock."""

    path: str
    size: int
    modified_at: float


def checked_path(path: str) -> str:
    """`path`, if it is a plain relative path of the kind this store writes; else `StoreError`.

    >>> checked_path("units/0000-0fff/ab.parquet")
    'units/0000-0fff/ab.parquet'
    """
    for part in path.split("/"):
        if not _PART.fullmatch(part) or not part.strip("."):
            raise StoreError(f"{path[:200]!r} is not a path inside a store; the manifest that names it is not ours")
    return path


@dataclass(frozen=True)
class Store:
    """All access to the files under one root. Cheap to make and to pickle."""

    root: str

    def __post_init__(self) -> None:
        root = self.root.removeprefix("file://") if not scheme_of(self.root) else self.root
        object.__setattr__(self, "root", root.rstrip("/") or "/")

    @property
    def is_local(self) -> bool:
        return not scheme_of(self.root)

    @property
    def _disk(self) -> Disk:
        return disk_for(self.root)

    def path(self, relative: str) -> str:
        """The full path of a file under the root; `StoreError` if it would lie outside."""
        return f"{self.root}/{checked_path(relative)}"

    def write(self, folder: str, suffix: str, data: Data, n_rows: int = 0) -> FileEntry:
        """Stores `data` under `folder` by its sha256, unless it is there and sound. Any number may write it at once."""
        sha256 = hashlib.sha256(data).hexdigest()
        relative = f"{folder}/{sha256}.{suffix}"
        path = self.path(relative)
        if self._is_sound(path, sha256, len(data)):
            self._disk.touch(path, data)  # garbage collection must see that someone needs it again
        else:
            self._disk.put(path, data, lambda moment: crash_point(relative, moment))
        return FileEntry(relative, sha256, len(data), n_rows)

    def _is_sound(self, path: str, sha256: str, n_bytes: int) -> bool:
        found = self._disk.stat(path)
        return found is not None and found.size == n_bytes and self._disk.sha256(path) == sha256

    def read(self, entry: FileEntry) -> bytes:
        """The bytes that `entry` promises; `DamagedFileError` names the file that has others or is gone."""
        data = self.find_named(entry.path)
        if data is None:
            raise damaged(self.path(entry.path), "is missing")
        check_bytes(self.path(entry.path), data, entry.sha256)
        return data

    def write_named(self, relative: str, data: Data) -> None:
        """Writes or replaces a file of a fixed name; a reader sees the old bytes or the new ones."""
        self._disk.put(self.path(relative), data, lambda moment: crash_point(relative, moment))

    def read_named(self, relative: str) -> bytes:
        """A named file's bytes; `StoreError` where there is none."""
        data = self.find_named(relative)
        if data is None:
            raise StoreError(f"{self.path(relative)} does not exist; check the root")
        return data

    def read_part(self, relative: str, offset: int, n_bytes: int) -> bytes:
        """`n_bytes` of a named file from `offset` on; `StoreError` where it does not have them."""
        with suppress(FileNotFoundError):
            data = self._disk.get(self.path(relative), offset, n_bytes)
            if len(data) == n_bytes:
                return data
        raise StoreError(f"{self.path(relative)}, which this run wrote, is gone or damaged; run again")

    def find_named(self, relative: str) -> bytes | None:
        """A named file's bytes, None where there is none."""
        try:
            return self._disk.get(self.path(relative))
        except FileNotFoundError:
            return None

    def stat(self, relative: str) -> StoredFile | None:
        """Size and time of a file, None where there is none."""
        found = self._disk.stat(self.path(relative))
        return StoredFile(relative, found.size, found.modified_at) if found else None

    def sha256(self, relative: str) -> str | None:
        """The sha256 of a file's bytes, None where there is none. A local file is not held in memory for it."""
        try:
            return self._disk.sha256(self.path(relative))
        except FileNotFoundError:
            return None

    def exists(self, relative: str) -> bool:
        return self.stat(relative) is not None

    def list(self, folder: str, temporary: bool = False) -> list[StoredFile]:
        """All files below `folder` ("" is the whole root), sorted by path.

        :param temporary: the half-written files that killed runs left instead of the whole ones.
        """
        start = self.path(folder) if folder else self.root
        cut = len(self.root.rstrip("/")) + 1
        files = [StoredFile(found.path[cut:], found.size, found.modified_at) for found in self._disk.walk(start)]
        return sorted((file for file in files if is_temporary(file.path) == temporary), key=lambda file: file.path)

    def delete(self, relatives: Iterable[str]) -> None:
        """Removes files; one that is gone already is no error."""
        self._disk.delete([self.path(relative) for relative in relatives])

    def delete_folder(self, relative: str) -> None:
        """Removes a folder and all below it."""
        self._disk.delete_folder(self.path(relative))


def check_bytes(path: str, data: Data, sha256: str) -> None:
    """`DamagedFileError` naming `path` unless the sha256 of `data` is the promised one."""
    if not _SHA256.fullmatch(sha256) or hashlib.sha256(data).hexdigest() != sha256:
        raise damaged(path, "does not have the bytes its manifest promises")


def damaged(path: str, problem: str) -> DamagedFileError:
    """The error about a damaged file, with the remedy."""
    return DamagedFileError(f"{path} {problem}; restore it, or roll back to a version that `corpusmill verify` passes")
