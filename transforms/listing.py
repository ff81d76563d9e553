"""Which objects match the patterns, with the stamps that tell whether an object changed."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from apache_beam.io.filesystem import BeamIOError, FileMetadata
from apache_beam.io.filesystems import FileSystems

from models.errors import SettingsError

MIN_STAMP_AGE_SECONDS = 2.0


class ListedFile(msgspec.Struct, frozen=True):
    """An object of the listing. `stamp` changes when the object does; `trusted` is false while it may still change."""

    file: str
    size: int
    stamp: str
    trusted: bool


def list_files(patterns: Sequence[str], exclude: str = "", now: float | None = None) -> list[ListedFile]:
    """Every object that matches a pattern, each once, sorted by name; nothing under the folder `exclude`.

    Hidden files (a name that starts with a dot or an underscore) are left out unless a pattern spells them out.
    Raises `SettingsError` for a pattern that cannot be listed.
    """
    seen: dict[str, ListedFile] = {}
    moment = time.time() if now is None else now
    for pattern in patterns:
        for metadata in _match(pattern):
            if _is_wanted(metadata.path, pattern, exclude):
                seen[metadata.path] = _listed(metadata, moment)
    return [seen[file] for file in sorted(seen)]


def _match(pattern: str) -> Iterator[FileMetadata]:
    try:
        results = FileSystems.match([_as_pattern(pattern)])
    except (BeamIOError, ValueError) as error:
        raise SettingsError(f"input = {pattern!r} cannot be listed: {_first_line(error)}") from error
    for result in results:
        yield from result.metadata_list


def _as_pattern(pattern: str) -> str:
    """A folder stands for everything below it."""
    return f"{pattern.rstrip('/')}/**" if pattern.endswith("/") or os.path.isdir(pattern) else pattern


def _is_wanted(path: str, pattern: str, exclude: str) -> bool:
    if exclude and path.startswith(exclude.rstrip("/") + "/"):
        return False
    if os.path.isdir(path):
        return False
    name = path.rsplit("/", 1)[-1]
    return not name.startswith((".", "_")) or pattern.rsplit("/", 1)[-1].startswith(name[0])


def _listed(metadata: FileMetadata, now: float) -> ListedFile:
    modified = float(metadata.last_updated_in_seconds or 0.0)
    trusted = 0.0 < modified <= now - MIN_STAMP_AGE_SECONDS
    return ListedFile(metadata.path, int(metadata.size_in_bytes), f"{modified:.6f}", trusted)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def total_bytes(files: Iterable[ListedFile]) -> int:
    """The bytes of all `files` together."""
    return sum(file.size for file in files)
