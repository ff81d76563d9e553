"""Whole files on a file system: the local disk through `os`, every other scheme through Beam's file systems."""

import errno
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from models.errors import SettingsError, StoreError

Data = bytes | memoryview | pa.Buffer
Moment = Callable[[str], None]

_REMEDIES = {
    errno.ENOSPC: "free space there or choose another root",
    errno.EDQUOT: "free space there or choose another root",
    errno.EFBIG: "raise the limit on file size (ulimit -f)",
    errno.EROFS: "choose a root on a writable file system",
    errno.EACCES: "give this user access or choose another root",
    errno.EPERM: "give this user access or choose another root",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENOTDIR: "a file lies where a folder is needed; move it or choose another root",
    errno.EEXIST: "a file lies where a folder is needed; move it or choose another root",
}


class FoundFile(msgspec.Struct, frozen=True):
    """A file as its file system lists it. `modified_at` is in seconds since 1970."""

    path: str
    size: int
    modified_at: float


class Disk(Protocol):
    """What the store asks of a file system. Paths are absolute; failures are `StoreError`s of one line."""

    def put(self, path: str, data: Data, moment: Moment) -> None:
        """Writes a file so that it is never seen half written. Calls `moment` with 'before' and 'after' it appears."""

    def get(self, path: str, offset: int = 0, n_bytes: int = -1) -> bytes:
        """The file's bytes from `offset` on, all or so many; raises FileNotFoundError where there is no file."""

    def sha256(self, path: str) -> str:
        """The sha256 of the file's bytes; raises FileNotFoundError where there is none."""

    def stat(self, path: str) -> FoundFile | None: ...

    def touch(self, path: str, data: Data) -> None:
        """Makes the file, whose bytes are `data`, look just written."""

    def walk(self, folder: str) -> Iterator[FoundFile]:
        """Every file below `folder`, hidden ones too; none where there is no such folder."""

    def delete(self, paths: Sequence[str]) -> None:
        """Removes files; one that is gone already is no error."""

    def delete_folder(self, folder: str) -> None:
        """Removes a folder with all it holds; one that is gone already is no error."""


def scheme_of(root: str) -> str:
    """The scheme of a root; empty for a local path.

    >>> scheme_of("gs://bucket/index"), scheme_of("/data/index")
    ('gs', '')
    """
    scheme, separator, _ = root.partition("://")
    return scheme if separator and scheme != "file" else ""


def disk_for(root: str) -> Disk:
    """The disk that `root` lies on."""
    return BeamDisk() if scheme_of(root) else LocalDisk()


def temporary_name(path: str) -> str:
    """A hidden, unique name in the folder of `path`, for a file that is being written."""
    folder, _, _ = path.rpartition("/")
    return f"{folder}/.{uuid.uuid4().hex}.tmp"


def is_temporary(path: str) -> bool:
    """True for a file that `put` had not finished."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and name.endswith(".tmp")


def refusal(doing: str, path: str, error: OSError) -> StoreError:
    """One line about a failed access: what, where, why, and what to do about it."""
    remedy = _REMEDIES.get(error.errno or 0, "check the path and the disk")
    return StoreError(f"cannot {doing} {path}: {error.strerror or error}; {remedy}")


class LocalDisk:
    """The local file system. A file that `put` returned from survives a power cut."""

    def put(self, path: str, data: Data, moment: Moment) -> None:
        temporary = temporary_name(path)
        try:
            _make_folder(os.path.dirname(path))
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            moment("before")
            os.replace(temporary, path)
            _sync_folder(os.path.dirname(path))
            moment("after")
        except OSError as error:
            raise refusal("write", path, error) from error
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    def get(self, path: str, offset: int = 0, n_bytes: int = -1) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(n_bytes)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise refusal("read", path, error) from error

    def sha256(self, path: str) -> str:
        try:
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise refusal("read", path, error) from error

    def stat(self, path: str) -> FoundFile | None:
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise refusal("read", path, error) from error
        return FoundFile(path, found.st_size, found.st_mtime)

    def touch(self, path: str, data: Data) -> None:
        try:
            os.utime(path)
        except OSError as error:
            raise refusal("write", path, error) from error

    def walk(self, folder: str) -> Iterator[FoundFile]:
        for parent, _, names in os.walk(folder, onerror=_raise_unless_missing):
            for name in names:
                found = self.stat(f"{parent}/{name}")
                if found is not None:
                    yield found

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise refusal("remove", path, error) from error

    def delete_folder(self, folder: str) -> None:
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise refusal("remove", folder, error) from error


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise refusal("list", str(error.filename), error) from error


def _make_folder(folder: str) -> None:
    """Makes a folder and its parents, so that their names survive a power cut too."""
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        os.makedirs(path, exist_ok=True)
        _sync_folder(os.path.dirname(path))


def _sync_folder(folder: str) -> None:
    handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(handle)


class BeamDisk:
    """Any scheme that Beam knows. A file appears under its final name by Beam's rename."""

    def put(self, path: str, data: Data, moment: Moment) -> None:
        from apache_beam.io.filesystem import BeamIOError, CompressionTypes

        files, temporary = _beam_files(path), temporary_name(path)
        try:
            with files.create(temporary, compression_type=CompressionTypes.UNCOMPRESSED) as file:
                file.write(bytes(data))
            moment("before")
            files.rename([temporary], [path])
            moment("after")
        except (OSError, BeamIOError) as error:
            with suppress(OSError, BeamIOError):
                files.delete([temporary])
            raise StoreError(f"cannot write {path}: {_one_line(error)}; check the rights and the quota") from error

    def get(self, path: str, offset: int = 0, n_bytes: int = -1) -> bytes:
        from apache_beam.io.filesystem import BeamIOError, CompressionTypes

        files = _beam_files(path)
        try:
            if not files.exists(path):
                raise FileNotFoundError(path)
            with files.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
                if offset:
                    file.seek(offset)
                return bytes(file.read(n_bytes) if n_bytes >= 0 else file.read())
        except FileNotFoundError:
            raise
        except (OSError, BeamIOError) as error:
            raise StoreError(f"cannot read {path}: {_one_line(error)}; check the rights") from error

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.get(path)).hexdigest()

    def stat(self, path: str) -> FoundFile | None:
        return next((found for found in self._match(path) if found.path == path), None)

    def touch(self, path: str, data: Data) -> None:
        self.put(path, data, lambda _: None)

    def walk(self, folder: str) -> Iterator[FoundFile]:
        return self._match(folder + "/**")

    def delete(self, paths: Sequence[str]) -> None:
        from apache_beam.io.filesystem import BeamIOError

        present = [path for path in dict.fromkeys(paths) if self.stat(path) is not None]
        try:
            if present:
                _beam_files(present[0]).delete(present)
        except (OSError, BeamIOError) as error:
            raise StoreError(f"cannot remove {present[0]}: {_one_line(error)}; check the rights") from error

    def delete_folder(self, folder: str) -> None:
        self.delete([found.path for found in self.walk(folder)])

    def _match(self, pattern: str) -> Iterator[FoundFile]:
        from apache_beam.io.filesystem import BeamIOError

        try:
            (result,) = _beam_files(pattern).match([pattern])
        except (OSError, BeamIOError) as error:
            raise StoreError(f"cannot list {pattern}: {_one_line(error)}; check the rights") from error
        for found in result.metadata_list:
            yield FoundFile(found.path, found.size_in_bytes, found.last_updated_in_seconds or 0.0)


def _beam_files(path: str) -> Any:
    from apache_beam.io.filesystems import FileSystems

    try:
        return FileSystems.get_filesystem(path)
    except ValueError as error:
        raise SettingsError(
            f"no file system for {path}; use a local path or install Beam's support for {scheme_of(path)}://"
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
