"""What every test stands on: no network, one thread a library, and files kept beside the checkout."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

settings.register_profile("no clock", deadline=None)  # a busy machine fails no property
settings.load_profile("no clock")

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests go to whichever process is free, but for those that share one vLLM."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file.endswith("/test_vllm.py") else nodeid

    return Scheduling(config, log) if config.getvalue("dist") == "load" else None


def shared_path(relative: str = "") -> Path | None:
    """A file kept outside the checkout: under $CORPUSMILL_SHARED, else ../shared. None where it is missing."""
    root = Path(os.environ.get("CORPUSMILL_SHARED") or CHECKOUT.parent / "shared")
    path = root / relative
    return path if path.exists() else None


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared():
    """`shared("cases/cases.yaml")` is the path of a shared file; the test skips, saying why, where it is missing."""

    def find(relative: str = "") -> Path:
        path = shared_path(relative)
        if path is None:
            pytest.skip(f"{relative or 'shared files'} not found; set CORPUSMILL_SHARED to the folder that holds it")
        return path

    return find
