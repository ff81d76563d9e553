"""One server a machine, ended with its last client: after success, failure, Ctrl-C and kill -9; no orphan."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from models.errors import MissingExtraError, ModelError, SettingsError
from models.llm import serve_vllm, watchdog
from models.llm.server import ServerPlan, SharedServer, vllm_plan
from models.llm.settings import LlmServerSettings, LlmSettings

STAND_IN = Path(__file__).with_name("stand_in_server.py")
CLIENT = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells turn off for what runs in the background
sys.path.insert(0, {checkout!r})
from models.llm.server import ServerPlan, SharedServer
plan = ServerPlan({command!r}, poll_seconds=0.02, grace_seconds=0.3)
with SharedServer(plan, Path({folder!r})) as server:
    print(server.pid, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def plan(tmp_path):
    def make(*manners, **more):
        command = (sys.executable, str(STAND_IN), "{port}", str(tmp_path), *manners)
        return ServerPlan(command, **({"poll_seconds": 0.02, "grace_seconds": 0.3, "start_seconds": 60.0} | more))

    return make


@pytest.fixture
def clients(tmp_path, plan, checkout):
    """Starts client processes in a folder; each is ready when it says the server's number."""
    started = []

    def start(*manners):
        code = CLIENT.format(checkout=str(checkout), command=plan(*manners).command, folder=str(tmp_path))
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def processes_of(folder):
    """The servers that were started, each with its child."""
    return [int(word) for line in (folder / "starts").read_text().splitlines() for word in line.split()]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(is_so, what):
    """Waits until it is so; polls, since other processes are waited for."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def until_nothing_is_left(folder):
    until(lambda: not any(map(is_alive, processes_of(folder))), "the server or its child lives on")
    until(lambda: not (folder / watchdog.STATE).exists(), "the watchdog did not finish")


def test_it_serves_until_it_is_let_go(plan, tmp_path):
    with SharedServer(plan(), tmp_path) as server:
        assert httpx2.get(server.url.removesuffix("/v1") + "/health").status_code == 200
        assert is_alive(server.pid) and len(server.key) == 32
    until_nothing_is_left(tmp_path)
    with SharedServer(plan(), tmp_path) as server:  # and can be had again
        assert is_alive(server.pid)
    until_nothing_is_left(tmp_path)


@pytest.mark.parametrize("ends_first", [0, 1])
def test_two_processes_share_one_server_and_either_may_die_first(clients, tmp_path, ends_first):
    both = [clients(), clients()]
    pids = {int(process.stdout.readline()) for process in both}
    assert len(pids) == 1 and len(processes_of(tmp_path)) == 2
    both[ends_first].kill()
    both[ends_first].wait()
    other = both[1 - ends_first]
    third = clients()  # a newcomer finds the same server, which has not noticed anything
    assert int(third.stdout.readline()) in pids
    third.communicate(b"\n")
    assert is_alive(*pids)
    other.communicate(b"\n")
    until_nothing_is_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_the_client_is_killed(clients, tmp_path, number):
    client = clients()
    client.stdout.readline()

    def is_gone():
        os.killpg(client.pid, number)  # again, since Python may just have looked whether there was one
        return client.poll() is not None

    until(is_gone, "the client lives on")
    until_nothing_is_left(tmp_path)


@pytest.mark.parametrize("manners", ["stubborn", "detached"])
def test_a_server_that_will_not_go_is_killed_with_all_its_own(plan, tmp_path, manners):
    with SharedServer(plan(manners), tmp_path):
        pass
    until_nothing_is_left(tmp_path)


def test_a_watchdog_that_is_killed_takes_its_server_along(plan, tmp_path):
    with SharedServer(plan(), tmp_path) as server:
        parent = int(Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        until(lambda: not is_alive(server.pid), "the server lives on")
        os.kill(processes_of(tmp_path)[1], signal.SIGKILL)  # the stand-in does not look after its own
        with SharedServer(plan(), tmp_path) as again:
            assert again.pid != server.pid and is_alive(again.pid)
    until_nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("manners", "words"), [("fails", "code 1; its log .* ends: no such model"), ("dies", "code 3")]
)
def test_a_server_that_cannot_start_says_why(plan, tmp_path, manners, words):
    with pytest.raises(ModelError, match=words):
        SharedServer(plan(manners), tmp_path).start()


def test_a_program_that_cannot_be_run_says_so(tmp_path):
    with pytest.raises(ModelError, match=r"could not be started; see .*watchdog\.log"):
        SharedServer(ServerPlan((str(tmp_path / "gone"), "{port}")), tmp_path).start()


def test_a_server_that_never_gets_ready_is_given_up(plan, tmp_path):
    with pytest.raises(ModelError, match=r"not ready after 0\.2 s"):
        SharedServer(plan("hangs", start_seconds=0.2), tmp_path).start()
    until(lambda: (tmp_path / "starts").exists(), "it never began")
    until_nothing_is_left(tmp_path)


def test_the_command_of_vllm():
    server = LlmServerSettings(
        llm_python=sys.executable,
        tensor_parallel_size=2,
        gpu_memory_utilization=0.8,
        llm_dtype="bfloat16",
        llm_chat_template="chat.jinja",
        llm_server_arguments=("--enforce-eager",),
    )
    plan = vllm_plan(LlmSettings(llm_model="/models/gemma", llm_context_tokens=2048), server, "/models/gemma")
    assert " ".join(plan.command) == (
        f"{sys.executable} {serve_vllm.__file__} /models/gemma --host 127.0.0.1 "
        "--port {port} --served-model-name gemma --dtype bfloat16 --tensor-parallel-size 2 "
        "--gpu-memory-utilization 0.8 --max-model-len 2048 --chat-template chat.jinja "
        "--disable-uvicorn-access-log --enforce-eager"
    )


@pytest.mark.parametrize(
    ("has_metadata", "said"),
    [(True, "cli.main serve /m/gemma --port 1"), (False, "openai.api_server --model /m/gemma --port 1")],
)
def test_vllm_is_started_as_its_version_and_build_can_be(tmp_path, has_metadata, said):
    for name in ("cli/main", "openai/api_server"):
        module = tmp_path / f"vllm/entrypoints/{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text("import sys\nprint(__spec__.name, *sys.argv[1:])\nimport settings")  # no settings of ours
    if has_metadata:
        (tmp_path / "vllm-0.40.dist-info").mkdir()
        (tmp_path / "vllm-0.40.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.40\n")
    command = [sys.executable, serve_vllm.__file__, "/m/gemma", "--port", "1"]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout.strip() == f"vllm.entrypoints.{said}"
    assert "No module named 'settings'" in done.stderr


def test_a_log_that_grows_is_begun_anew_and_what_it_held_is_kept_once(plan, tmp_path, monkeypatch):
    with SharedServer(plan("talks"), tmp_path, max_log_bytes=20_000) as server:
        old = server.log.with_suffix(".log.old")
        until(old.exists, "the log was never begun anew")
        until(lambda: server.log.stat().st_size > 0, "nothing was written after that")
        assert b"\0" not in server.log.read_bytes()  # it goes on at the start, and not behind a hole
        assert old.read_bytes().startswith(b"1 ")
    until_nothing_is_left(tmp_path)


def test_a_missing_vllm_is_a_line_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="vllm is not installed; run: pip install"):
        vllm_plan(LlmSettings(), LlmServerSettings(), "m")
    with pytest.raises(SettingsError, match="llm_python = 'no-such-python' is no program"):
        vllm_plan(LlmSettings(), LlmServerSettings(llm_python="no-such-python"), "m")


def test_a_folder_of_somebody_else_is_not_used(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"corpusmill-llm-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"corpusmill-llm-{os.getuid()}").chmod(0o777)
    with pytest.raises(SettingsError, match="belongs to somebody else"):
        SharedServer(plan())
