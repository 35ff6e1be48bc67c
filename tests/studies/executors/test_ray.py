"""Ray clusters that are started for a run, and those that cannot run it."""

import logging
import signal

import pytest

from dataenvgym.storage import read_json
from dataenvgym.studies.executors.ray_executor import _own_signal_handlers, _raylet_messages_logged
from tests.processes import MAIN, python
from tests.studies.executors.conftest import SCRIPTED


@pytest.fixture
def command(folder):
    """`dataenvgym run executor=ray` in a process of its own."""

    def run_it(*overrides):
        options = ["--plain", "executor=ray", "executor.num_cpus=1", *SCRIPTED]
        return python(*MAIN, "run", *options, *overrides)

    return run_it


@pytest.mark.slow
def test_the_command_line_starts_a_cluster_and_says_nothing_of_it(command, folder):
    done = command("name=a", "agent._target_=my_students.Fragile")
    assert (done.returncode, done.stderr) == (0, "")
    assert "iteration 2/2" in done.stdout
    assert (folder / "died-teaching").exists()
    assert "raylet" not in done.stdout
    assert "worker died" not in done.stdout
    assert read_json(folder / "runs" / "a" / "summary.json")["status"] == "finished"


@pytest.mark.slow
def test_a_cluster_that_is_too_small_is_refused(command, folder):
    done = command("executor.cpus_per_episode=2")
    assert done.returncode == 2
    assert "executor.cpus_per_episode is 2, and the Ray cluster here has 1 CPUs" in done.stderr
    assert not (folder / "runs").exists()


REPORT = {"lines": ["A worker died or was killed"], "pid": "raylet", "is_err": False}


def test_reports_of_rays_processes_go_to_the_log_and_not_to_the_screen(capsys, caplog):
    worker = pytest.importorskip("ray._private.worker", reason="needs the extra [ray]")
    with caplog.at_level(logging.WARNING), _raylet_messages_logged():
        worker.print_to_stdstream({**REPORT, "lines": ["it is full"]}, ignore_prefix=False)
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == ["raylet: it is full"]
    worker.print_to_stdstream(REPORT, ignore_prefix=False)
    assert "A worker died" in capsys.readouterr().out  # a user's own Ray does as it always did


def test_rays_start_leaves_our_handler_of_sigterm_in_place():
    def ours(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, ours)
    try:
        with _own_signal_handlers():
            signal.signal(signal.SIGTERM, lambda number, frame: None)  # as ray.init does
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)
