"""Signals that ask the program to stop: they end it as an error does, so that what it holds is let go."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_DEFAULT = (signal.SIG_DFL, signal.default_int_handler)
_received: list[int] = []


@contextlib.contextmanager
def stopping_on_signals() -> Iterator[None]:
    """The first of `STOPPING` raises KeyboardInterrupt, the second ends the process at once.

    Signals that whoever started the program has ignored, as nohup does, stay so.
    """
    _received.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in (number for number, handler in before.items() if handler in _BY_DEFAULT):
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    for other in STOPPING:
        if signal.getsignal(other) is _stop:
            signal.signal(other, signal.SIG_DFL)
    raise KeyboardInterrupt


def received() -> int:
    """The signal that asked the program to stop; 0 where none did. A runner may have made an error of its own of it."""
    return _received[0] if _received else 0
