"""CURRENT, the one name that moves: which version readers open. Swapped last, on condition, and never half."""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import msgspec

from models.errors import ConflictError, DamagedFileError, SettingsError, StoreError
from transforms.store.disks import refusal, scheme_of
from transforms.store.files import Store, damaged
from transforms.store.manifest import FileEntry

CURRENT = "CURRENT"
VERSIONS = "versions"
LOCK = ".CURRENT.lock"
LOCK_TIMEOUT_SECONDS = 60.0

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


class Pointer(msgspec.Struct, frozen=True):
    """A version and the sha256 of its manifest's bytes."""

    version: str
    manifest_sha256: str


class _Stored(msgspec.Struct, frozen=True):
    """CURRENT's content. `sha256` is that of "version manifest_sha256", so that damage to the pointer shows."""

    version: str
    manifest_sha256: str
    sha256: str


class PointerSwap(Protocol):
    """Conditional replacement of CURRENT, one implementation a scheme.

    For gs:// that is an upload with `if_generation_match` set to the generation that was read (0: no object yet).
    """

    def __call__(self, store: Store, expected: Pointer | None, new: Pointer) -> None: ...


def checked_name(name: str) -> str:
    """The name of a version or a run, if it can be a folder's name; else `StoreError`."""
    if not _NAME.fullmatch(name):
        raise StoreError(f"{name[:200]!r} is not a name; use up to 128 letters, digits and - _ .")
    return name


def manifest_path(version: str) -> str:
    """Where a version's manifest lies under the root."""
    return f"{VERSIONS}/{checked_name(version)}/manifest.json"


def marker_path(version: str) -> str:
    """Where it is written down that a version has been current. After a kill the current one may lack this file."""
    return f"{VERSIONS}/{checked_name(version)}/published"


def encode_pointer(pointer: Pointer) -> bytes:
    """CURRENT's bytes, one line of JSON."""
    own = hashlib.sha256(f"{pointer.version} {pointer.manifest_sha256}".encode()).hexdigest()
    return msgspec.json.encode(_Stored(checked_name(pointer.version), pointer.manifest_sha256, own)) + b"\n"


def read_pointer(store: Store) -> Pointer | None:
    """The current version, None where nothing was published.

    :raises DamagedFileError: CURRENT is not what was written, or is gone although a version was current.
    """
    pointer = find_pointer(store)
    if pointer is None and any(file.path.endswith("/published") for file in store.list(VERSIONS)):
        raise DamagedFileError(
            f"{store.path(CURRENT)} is missing, though versions were published here; `corpusmill versions "
            f"{store.root}` lists them, and `corpusmill rollback {store.root} VERSION` makes one current"
        )
    return pointer


def find_pointer(store: Store) -> Pointer | None:
    """The current version, None where there is no CURRENT; `DamagedFileError` if it is not what was written."""
    data = store.find_named(CURRENT)
    if data is None:
        return None
    try:
        stored = msgspec.json.decode(data, type=_Stored)
        pointer = Pointer(stored.version, stored.manifest_sha256)
        is_sound = encode_pointer(pointer) == data
    except (msgspec.MsgspecError, StoreError):
        is_sound = False
    if not is_sound:
        raise damaged(store.path(CURRENT), "is not a pointer this program wrote")
    return pointer


def check_publishable(store: Store) -> None:
    """`SettingsError` unless a version can be published under this root; ask before a run starts."""
    _swap_for(store)


def swap_pointer(store: Store, expected: Pointer | None, new: Pointer) -> None:
    """Makes `new` current if `expected` still is; done twice it is done once.

    :raises ConflictError: another version is current; nothing was changed.
    :raises DamagedFileError: the manifest of `new` is missing or another one; CURRENT never points at nothing.
    """
    _swap_for(store)(store, expected, new)


def _swap_for(store: Store) -> PointerSwap:
    scheme = scheme_of(store.root)
    if scheme not in _SWAPS:
        raise SettingsError(
            f"cannot publish to {store.root}: no conditional swap for {scheme}:// yet; use a root on a local disk"
        )
    return _SWAPS[scheme]


def _swap_local(store: Store, expected: Pointer | None, new: Pointer) -> None:
    with locked(store):
        store.read(FileEntry(manifest_path(new.version), new.manifest_sha256, 0))
        current = find_pointer(store)
        if current == new:
            return
        if current != expected:
            raise _conflict(current, expected, new)
        if current is not None and not store.exists(marker_path(current.version)):
            store.write_named(marker_path(current.version), b"published\n")
        store.write_named(CURRENT, encode_pointer(new))
        store.write_named(marker_path(new.version), b"published\n")  # so that a CURRENT that gets lost is missed


_SWAPS: dict[str, PointerSwap] = {"": _swap_local}


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Holds the root's lock, under which CURRENT moves and versions go; the kernel frees it when its holder dies."""
    check_publishable(store)
    path = f"{store.root}/{LOCK}"
    try:
        os.makedirs(store.root, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise refusal("write", path, error) from error
    try:
        _wait_for_lock(handle, path)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, path: str) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{path} was held for {LOCK_TIMEOUT_SECONDS:.0f} s by another process; end it and try again"
                ) from None
            time.sleep(0.02)


def _conflict(current: Pointer | None, expected: Pointer | None, new: Pointer) -> ConflictError:
    was = f"version {expected.version}" if expected else "an empty root"
    now = f"version {current.version} was published first" if current else "CURRENT was removed"
    return ConflictError(f"{now}: version {new.version} started from {was} and was not published; run again")
