"""Where servers keep their locks, state and logs: a folder for each way to start one, and none for ever."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from models.errors import SettingsError
from models.llm import watchdog

START = "start.lock"
_NAME = re.compile(r"[0-9a-f]{16}")
KEPT_DAYS = 7.0
"""How long what a server that has ended wrote is kept, for a person to look at."""


class Locked:
    """Holds the exclusive lock of a file, making it and its folder, which a sweep may just have removed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        while True:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                self._file = self._path.open("ab")
                fcntl.flock(self._file, fcntl.LOCK_EX)
                if _is_at(self._file, self._path):
                    return
                self._file.close()

    def __exit__(self, *_: object) -> None:
        self._file.close()


def folder_of(command: Sequence[str], environment: Mapping[str, str]) -> Path:
    """This user's folder for a server that is started so, on this machine.

    :raises SettingsError: somebody else made the folder above it.
    """
    words: Sequence[object] = [command, sorted(environment.items())]
    name = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
    above = Path(tempfile.gettempdir()) / f"corpusmill-llm-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    found = above.lstat()
    if found.st_uid != os.getuid() or above.is_symlink() or found.st_mode & 0o077:
        raise SettingsError(f"{above} belongs to somebody else; set TMPDIR to a folder of your own")
    folder = above / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def sweep(folder: Path, kept_days: float = KEPT_DAYS) -> None:
    """Removes the folders beside `folder` whose servers ended `kept_days` ago or before. Those in use stay."""
    oldest = time.time() - kept_days * 86_400
    if not _NAME.fullmatch(folder.name):  # somebody's own choice of a place, beside who knows what
        return
    for beside in folder.parent.iterdir():
        with suppress(OSError):
            if beside != folder and _NAME.fullmatch(beside.name) and _last_written(beside) < oldest:
                _remove_unused(beside)


def _remove_unused(folder: Path) -> None:
    names = (START, watchdog.CLIENTS, watchdog.WATCHDOG)
    files = [(folder / name).open("ab") for name in names]
    try:
        for file in files:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError where somebody holds it
        shutil.rmtree(folder)
    finally:
        for file in files:
            file.close()


def _last_written(folder: Path) -> float:
    return max([folder.stat().st_mtime, *(file.stat().st_mtime for file in folder.iterdir())])


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
