"""What ended servers leave is kept for a while and not for ever; nothing that anybody holds is touched."""

import fcntl
import os
import threading
import time

import pytest

from models.llm import server_folders, watchdog
from models.llm.server_folders import START, Locked, folder_of, sweep


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """`folders(name, days)` is the folder of a server that ended so long ago."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def make(name, days):
        folder = folder_of((name,), {})
        for file in (START, watchdog.CLIENTS, watchdog.WATCHDOG, watchdog.LOG):
            (folder / file).write_bytes(b"")
        written = time.time() - days * 86_400
        for path in (*folder.iterdir(), folder):
            os.utime(path, (written, written))
        return folder

    return make


def test_only_old_folders_are_removed(folders):
    own, old, young = folders("own", 30), folders("old", 8), folders("young", 6)
    other = own.parent / "somebody"
    other.mkdir()
    os.utime(other, (0, 0))
    sweep(own)
    assert own.exists() and young.exists() and other.exists() and not old.exists()


@pytest.mark.parametrize("name", [START, watchdog.CLIENTS, watchdog.WATCHDOG])
def test_a_folder_that_somebody_holds_stays(folders, name):
    own, held = folders("own", 0), folders("held", 30)
    with (held / name).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        sweep(own)
        assert sorted(path.name for path in held.iterdir()) and (held / watchdog.LOG).exists()
    sweep(own)
    assert not held.exists()


def test_beside_a_place_that_somebody_chose_nothing_is_removed(folders, tmp_path):
    old = folders("old", 30)
    chosen = old.parent / "chosen"
    chosen.mkdir()
    sweep(chosen)
    assert old.exists()


def test_whoever_waits_for_a_folder_that_is_removed_makes_it_anew(folders):
    folder = folders("waited for", 30)
    got = []

    def wait():
        with Locked(folder / START):
            got.append((folder / START).exists())

    with (folder / START).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        thread = threading.Thread(target=wait)
        thread.start()
        server_folders.shutil.rmtree(folder)
    thread.join(10)
    assert got == [True]
