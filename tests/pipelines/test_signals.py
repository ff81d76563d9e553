"""Signals that stop a run: one line, the exit code of the signal, and a lease that nobody waits for."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from pipelines.signals import received, stopping_on_signals
from transforms.context import open_store
from transforms.store.lease import expired_runs, live_runs

SCRIPT = """
import pathlib, signal, sys, time
from models.fakes import HashingEncoder
from pipelines.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)

def encode(self, texts):
    pathlib.Path(sys.argv.pop()).write_text("at work")
    time.sleep(60)

HashingEncoder.encode = encode
sys.exit(main(sys.argv[1:-1]))
"""


@pytest.mark.parametrize(("number", "how"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "stopped by SIGTERM")])
def test_a_run_that_is_told_to_stop_says_so_and_frees_its_lease(mill, checkout, number, how):
    mill.write("a.md", "# A\n\nsome text\n")
    sign = mill.base / "sign"
    words = ["ingest", "--input", str(mill.source), "--output", mill.root, "--encoder", "hashing", str(sign)]
    command = [sys.executable, "-c", SCRIPT, *words]
    with subprocess.Popen(command, cwd=checkout, stderr=subprocess.PIPE, text=True) as process:
        while not sign.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert err.splitlines()[-1] == f"corpusmill: {how}; what was published before is still there"
    assert "Traceback" not in err and not err.count("corpusmill:") > 1
    store = open_store(mill.root)
    assert not live_runs(store) and len(expired_runs(store)) == 1
    assert mill.run().documents["indexed"] == 1


def test_the_second_signal_is_not_held_up_and_ignored_ones_stay_so():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), stopping_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
                assert received() == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_outside_the_main_thread_signals_are_somebody_elses():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work():
        with stopping_on_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
