"""Runs a server for as long as any client lives. A process of its own, started by its file: standard library only.

Standard input holds a JSON object: `folder`, `command` (whose `{port}` is filled in), `environment`, `poll_seconds`,
`grace_seconds` and `max_log_bytes`. Clients hold a shared lock on `clients.lock`, which the kernel frees however they
end. When nobody holds one, or the server has ended, the server's process group is ended too, with all that descends
from it.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CLIENTS, WATCHDOG, STATE, LOG = "clients.lock", "watchdog.lock", "server.json", "server.log"
MAX_LOG_BYTES = 16 << 20
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Watchdog:
    """One server and the locks around it."""

    def __init__(self, plan: dict[str, Any], ready: int) -> None:
        self._plan, self._ready = plan, ready
        self._folder = Path(plan["folder"])
        self._is_over = False

    def run(self) -> None:
        """Serves until nobody needs it. Returns at once where another watchdog serves the folder."""
        # The clients' lock is freed last: who gets it next finds no watchdog here.
        with self._open(CLIENTS) as clients, self._open(WATCHDOG) as own:
            if not _locks(own):
                return
            for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(name, self._stop)
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
            server = self._start()
            os.close(self._ready)
            while not self._is_over and server.poll() is None and not _locks(clients):
                self._bound_log()
                time.sleep(self._plan["poll_seconds"])
            code = server.poll()
            self._end(server)
            if code is None:
                (self._folder / STATE).unlink(missing_ok=True)
            else:
                self._write({"exit_code": code})

    def _start(self) -> "subprocess.Popen[bytes]":
        port = _free_port()
        command = [part.replace("{port}", str(port)) for part in self._plan["command"]]
        log = self._folder / LOG
        if log.exists():
            log.replace(log.with_suffix(".log.old"))
        with log.open("ab") as output:  # appends, so that it goes on at the start of a log that was emptied
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._plan["environment"]},
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self._write({"port": port, "pid": server.pid, "key": self._plan["key"]})
        return server

    def _bound_log(self) -> None:
        """Begins the log anew when it is large, and keeps what it held once."""
        log = self._folder / LOG
        with suppress(OSError):
            if log.stat().st_size > self._plan["max_log_bytes"]:
                shutil.copyfile(log, log.with_suffix(".log.old"))
                os.truncate(log, 0)

    def _end(self, server: "subprocess.Popen[bytes]") -> None:
        """Ends the group, politely at first, and then whatever descends from it, group or not."""
        _kill_group(server.pid, signal.SIGTERM)
        deadline = time.monotonic() + self._plan["grace_seconds"]
        while server.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        _kill_group(server.pid, signal.SIGKILL)
        server.wait()
        for _ in range(100):  # those of a killed child come to us, as their reaper, one generation after the other
            children = _children()
            if not children:
                return
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(-1, 0)

    def _write(self, state: dict[str, Any]) -> None:
        temporary = self._folder / f"{STATE}.tmp"
        temporary.write_text(json.dumps(state))
        temporary.replace(self._folder / STATE)

    def _open(self, name: str) -> Any:
        return (self._folder / name).open("ab")

    def _stop(self, *_: object) -> None:
        self._is_over = True


def _locks(file: Any) -> bool:
    """Takes the exclusive lock, if nobody else holds one."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _kill_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _children() -> list[int]:
    """Our children; none where the kernel does not list them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere a watchdog that is killed leaves its server."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def main() -> None:
    """Runs in the background; returns when the server's process has been started, or could not be."""
    plan = json.load(sys.stdin)
    waiting, ready = os.pipe()
    if os.fork():
        os.close(ready)
        os.read(waiting, 1)  # ends when the child closes its end, or dies
        os._exit(0)
    os.close(waiting)
    Watchdog(plan, ready).run()


if __name__ == "__main__":
    main()
