"""Whether a process that once ran on this machine still does: so that a killed run need not be waited for."""

import os
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str:
    """Names this process for all time: boot, process namespace, number and start. Empty where /proc does not tell."""
    return f"{_machine()}:{os.getpid()}:{_started_at(os.getpid())}" if _machine() else ""


def is_gone(process: str) -> bool:
    """True only if `process`, named by `this_process`, surely ran here and does not any more."""
    machine, pid, started_at = ["", "", *process.rsplit(":", 2)][-3:]
    if not (pid.isascii() and pid.isdecimal() and len(pid) < 10) or not machine or machine != _machine():
        return False
    try:
        return _started_at(int(pid)) != started_at
    except OSError:
        return not _can_be_seen(int(pid))


def _machine() -> str:
    """This boot of this machine, and the namespace in which its process numbers count; empty where nothing tells."""
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _can_be_seen(pid: int) -> bool:
    """Whether a process exists, also where /proc hides those of others."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _started_at(pid: int) -> str:
    """When a process started, in clock ticks since boot; 'ended' for one that only waits to be collected."""
    stat = _PROC.joinpath(str(pid), "stat").read_text()
    fields = stat.rpartition(")")[2].split()  # the command's name may hold anything
    return "ended" if fields[0] in "ZX" else fields[19]
