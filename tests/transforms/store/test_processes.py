"""Telling a dead process from a living one, and saying nothing about those of other machines."""

import subprocess
import sys

import pytest

from transforms.store import processes
from transforms.store.processes import is_gone, this_process

pytestmark = pytest.mark.skipif(not this_process(), reason="no /proc on this machine")


def name_of_child(child: subprocess.Popen) -> str:
    machine, _, _ = this_process().rsplit(":", 2)
    return f"{machine}:{child.pid}:{processes._started_at(child.pid)}"


def test_a_process_is_there_until_it_ends_even_before_it_is_collected():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = name_of_child(child)
    assert not is_gone(name)
    child.kill()
    while processes._started_at(child.pid) != "ended":
        pass
    assert is_gone(name)
    child.communicate()
    assert is_gone(name)


def test_a_number_used_again_is_another_process():
    machine, pid, started_at = this_process().rsplit(":", 2)
    assert not is_gone(f"{machine}:{pid}:{started_at}")
    assert is_gone(f"{machine}:{pid}:{int(started_at) - 1}")


@pytest.mark.parametrize("name", ["", "nonsense", ":", "other-boot:pid:[1]:1:1", "host:99999999:1", "a:b:c:d", "::"])
def test_nothing_is_said_about_processes_elsewhere(name):
    assert not is_gone(name)


def test_processes_that_proc_hides_are_there(monkeypatch):
    name = this_process()

    def hide(pid: int) -> str:
        raise FileNotFoundError(pid)

    monkeypatch.setattr(processes, "_started_at", hide)
    assert not is_gone(name)
    monkeypatch.setattr(processes, "_machine", lambda: "")
    assert (is_gone(name), is_gone(":1:1"), this_process()) == (False, False, "")
