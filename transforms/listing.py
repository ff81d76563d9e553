"""Which objects match the patterns, with the stamps that tell whether an object changed."""

import functools
import itertools
import os
import re
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

    Hidden files and what lies in hidden folders (a name that starts with a dot or an underscore) are left out unless
    the pattern spells such a name out. A link to nothing is listed: it cannot be read, which is then said.
    Raises `SettingsError` for a pattern that cannot be listed.
    """
    seen: dict[str, ListedFile] = {}
    moment = time.time() if now is None else now
    for pattern in patterns:
        as_pattern = _as_pattern(pattern)
        for metadata in itertools.chain(_match(pattern), _broken_links(as_pattern)):
            if _is_wanted(metadata.path, as_pattern, exclude):
                listed = _listed(metadata, moment)
                seen[listed.file] = listed
    return [seen[file] for file in sorted(seen)]


def _broken_links(pattern: str) -> Iterator[FileMetadata]:
    """Links to nothing among the local files that match `pattern`, which file systems leave out of a listing."""
    if "://" in pattern:
        return
    is_match = re.compile(FileSystems.get_filesystem(pattern).translate_pattern(pattern)).match
    for entry in _entries(_fixed_folder(pattern)):
        if entry.is_symlink() and not os.path.exists(entry.path) and is_match(entry.path):
            yield FileMetadata(entry.path, 0, 0.0)


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    waiting = [folder or "."]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry
        except OSError:  # a folder that is gone or closed to us has nothing to list
            continue


def _fixed_folder(pattern: str) -> str:
    """The folder above the first part of a pattern that holds a wildcard."""
    parts = pattern.split("/")
    fixed = next((number for number, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))
    return "/".join(parts[: min(fixed, len(parts) - 1)]) or ("/" if pattern.startswith("/") else "")


def _match(pattern: str) -> Iterator[FileMetadata]:
    try:
        results = FileSystems.match([_as_pattern(pattern)])
    except (BeamIOError, ValueError) as error:
        raise SettingsError(f"input = {pattern!r} cannot be listed: {_first_line(error)}") from error
    for result in results:
        yield from result.metadata_list


def _as_pattern(pattern: str) -> str:
    """A folder stands for everything below it, and what exists under a pattern's very name is meant literally."""
    if os.path.isdir(pattern):
        return f"{_escape(pattern.rstrip('/'))}/**"
    if os.path.isfile(pattern):
        return _escape(pattern)
    return f"{pattern}**" if pattern.endswith("/") else pattern


def _escape(path: str) -> str:
    """The pattern that matches `path` alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def reaches_into(patterns: Iterable[str], folder: str) -> bool:
    """Whether a pattern goes through all folders below one that holds `folder`, or is below it itself."""
    for pattern in map(_as_pattern, patterns):
        if _lies_in(folder, _fixed_folder(pattern)) and "**" in pattern:
            return True
        if _lies_in(_fixed_folder(pattern), folder):
            return True
    return False


def _lies_in(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or below it, by whichever links they are named."""
    if "://" in path or "://" in folder:
        return f"{path}/".startswith(folder.rstrip("/") + "/")
    return f"{_real(path)}/".startswith(_real(folder).rstrip("/") + "/")


@functools.lru_cache(maxsize=4096)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


def _is_wanted(path: str, pattern: str, exclude: str) -> bool:
    if exclude and _lies_in(path.rsplit("/", 1)[0], exclude):
        return False
    if os.path.isdir(path):
        return False
    spelt = {part[0] for part in pattern.split("/") if part.startswith((".", "_"))}
    below = path.removeprefix(_fixed_folder(pattern)).strip("/").split("/")
    return not any(part.startswith((".", "_")) and part[0] not in spelt for part in below)


def _listed(metadata: FileMetadata, now: float) -> ListedFile:
    modified = float(metadata.last_updated_in_seconds or 0.0)
    trusted = 0.0 < modified <= now - MIN_STAMP_AGE_SECONDS
    return ListedFile(_as_text(metadata.path), int(metadata.size_in_bytes), f"{modified:.6f}", trusted)


def _as_text(path: str) -> str:
    """A name that is not UTF-8, written with escapes: no such file can be opened, so it becomes a dead letter."""
    return path.encode("utf-8", "backslashreplace").decode()


def stat_file(file: str) -> ListedFile | None:
    """One object as it is now; None where it is gone."""
    try:
        return _listed(FileSystems.get_filesystem(file).metadata(file), time.time())
    except BeamIOError:
        return None


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def total_bytes(files: Iterable[ListedFile]) -> int:
    """The bytes of all `files` together."""
    return sum(file.size for file in files)
