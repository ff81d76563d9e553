import io
import threading
import time

import pytest

from pipelines.progress import Progress, seconds_left, watch_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def progress_threads():
    return [thread for thread in threading.enumerate() if thread.name == "progress"]


def poll_of(*states):
    remaining = list(states)
    return lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def test_plain_lines_off_a_terminal_and_nothing_where_nothing_moved():
    stream = io.StringIO()
    poll = poll_of(
        None, Progress("read", 5, 0, "files"), Progress("encode", 1, 4, "tokens"), Progress("done", 4, 4, "t")
    )
    with watch_progress(poll, stream, interval_s=0.001):
        wait_for(lambda: "done" in stream.getvalue())
    lines = stream.getvalue().splitlines()
    assert lines[0] == "read: 5 files"
    assert lines[1].startswith("encode: 1 of 4 tokens (25 %")
    assert lines[2].startswith("done: 4 of 4 t (100 %")
    assert len(lines) == 3 and "\x1b" not in stream.getvalue()


def test_a_bar_on_a_terminal_shows_stage_and_amount_as_they_are():
    stream = Terminal()
    poll = poll_of(Progress("cut [red]", 1_500, 3_000, "units"), Progress("encode", 1, 0, "tokens"))
    with watch_progress(poll, stream, interval_s=0.001):
        wait_for(lambda: "encode" in stream.getvalue())
    assert "cut [red]" in stream.getvalue() and "1,500 of 3,000 units" in stream.getvalue()


@pytest.mark.parametrize("stream_type", [io.StringIO, Terminal])
def test_an_exception_passes_through_and_no_thread_stays(stream_type):
    with pytest.raises(KeyboardInterrupt), watch_progress(lambda: None, stream_type(), interval_s=0.001):
        raise KeyboardInterrupt
    assert not progress_threads()


@pytest.mark.parametrize("stream_type", [io.StringIO, Terminal])
def test_a_poll_that_fails_says_so_once_and_the_work_goes_on(stream_type):
    def poll():
        raise RuntimeError("no metrics")

    stream = stream_type()
    with watch_progress(poll, stream, interval_s=0.001):
        wait_for(lambda: "no metrics" in stream.getvalue())
    assert stream.getvalue().count("no metrics") == 1
    assert not progress_threads()


def test_a_short_block_ends_at_once():
    began = time.monotonic()
    with watch_progress(lambda: None, io.StringIO()):
        pass
    assert time.monotonic() - began < 5


def test_time_left():
    assert seconds_left(25, 100, 10.0) == 30.0
    assert seconds_left(100, 100, 10.0) == 0.0
    assert seconds_left(0, 100, 10.0) is None
    assert seconds_left(101, 100, 10.0) is None
