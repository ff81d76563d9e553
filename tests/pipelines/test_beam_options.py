import pytest

from models.errors import SettingsError
from pipelines.beam_options import beam_arguments, budget_share, worker_processes


def test_the_runner_is_the_fn_api_runner_unless_named():
    assert beam_arguments([]) == ["--runner=FnApiRunner"]
    assert beam_arguments(["--direct_num_workers=2"]) == ["--direct_num_workers=2", "--runner=FnApiRunner"]
    for runner in ("DirectRunner", "PrismRunner", "prism", "flinkrunner", "my.package.Runner"):
        assert beam_arguments(["--runner", runner]) == ["--runner", runner]


def test_what_beam_knows_is_passed_on_as_it_was_given():
    flags = ["--direct_running_mode", "multi_processing", "--experiments=a", "--experiments", "b", "--streaming"]
    assert beam_arguments([*flags, "--runner=FnApiRunner"]) == [*flags, "--runner=FnApiRunner"]


def test_flags_of_the_flink_job_server_are_passed_on():
    flags = ["--runner=PortableRunner", "--parallelism=2", "--execution_mode_for_batch=BATCH_FORCED"]
    assert beam_arguments(flags) == flags
    with pytest.raises(SettingsError, match="did you mean --execution_mode_for_batch"):
        beam_arguments(["--execution_mode_for_batches=BATCH_FORCED"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--direct_num_worker=2"], "'--direct_num_worker'; did you mean --direct_num_workers"),
        (["--window_tokens=2"], "'--window_tokens'; did you mean --window-tokens"),
        (["--zzzzzzzz"], "corpusmill ingest --help"),
        (["-r", "x"], "unknown flag '-r'"),
        (["stray.txt"], "unexpected argument 'stray.txt'; file patterns follow --input"),
        (["--runner=FlinkRuner"], "'FlinkRuner' must be one of .*; did you mean FlinkRunner"),
        (["--direct_running_mode=sideways"], "direct_running_mode.*sideways"),
        (["--direct_running_mode=multi_threading"], "multi_threading.*lose rows.*use multi_processing"),
        (["--direct_running_mode", "multi_threading"], "multi_threading.*lose rows"),
        (["--direct_num_workers=two"], "direct_num_workers.*'two'"),
    ],
)
def test_a_mistake_is_one_line_with_a_remedy(flags, message):
    with pytest.raises(SettingsError, match=message) as caught:
        beam_arguments(flags, ["--window-tokens"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "n_processes"),
    [
        ([], 1),
        (["--direct_num_workers=3"], 1),  # threads of one process
        (["--direct_running_mode=multi_processing", "--direct_num_workers=3"], 3),
        (["--runner=PrismRunner", "--max_num_workers=9"], 1),
        (["--runner=FlinkRunner", "--parallelism=4"], 4),
        (["--runner=PortableRunner", "--parallelism=4", "--sdk_worker_parallelism=2"], 8),
        (["--runner=FlinkRunner"], None),
        (["--runner=DataflowRunner", "--max_num_workers=4"], None),  # each of which starts a process for each core
        (["--runner=my.package.Runner"], None),
    ],
)
def test_a_budget_is_shared_by_the_processes_that_there_can_be(flags, n_processes):
    assert worker_processes(flags) == n_processes
    assert budget_share(None, flags, is_limited=False) == 1 / (n_processes or 1)
    assert budget_share(5, flags, is_limited=True) == 0.2
    if n_processes is None:
        with pytest.raises(SettingsError, match="set budget_processes to the most"):
            budget_share(None, flags, is_limited=True)
