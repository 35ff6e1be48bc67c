"""Servers between processes: shared, taken over, and ended by the last one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dataenvgym.students.external.processes import created_at, is_alive
from dataenvgym.students.predictors.vllm.leases import Lease, RunningServer
from tests.students.predictors.conftest import ask

DRIVER = Path(__file__).with_name("driver.py")


class Driver:
    """Another process with a predictor."""

    def __init__(self, **options):
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, text="?"):
        """The reply, and the number of the server's process."""
        self.tell(f"ask {text}")
        answer = json.loads(self.process.stdout.readline())
        return answer["reply"], answer["pid"]

    def end(self):
        if self.process.poll() is None:
            self.tell("end")
        return self.process.wait(30)


@pytest.fixture
def other(stand_in, student):
    """Starts another process with such a predictor."""
    drivers = []

    def start(**options):
        drivers.append(Driver(student=student, command=stand_in.command, **options))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.process.kill()
        driver.process.wait()


def is_running(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_processes_share_a_server_and_the_last_one_ends_it(make, stand_in, other, adapter):
    predictor, driver = make(), other()
    predictor.load(adapter("a"))
    pid = predictor.server.running.pid
    reply, their_pid = driver.ask("x")
    assert their_pid == pid
    assert f"{predictor.student}|x" in reply  # not our adapter
    predictor.close()
    assert is_running(pid)
    assert driver.ask("y")[1] == pid
    assert driver.end() == 0
    assert not is_running(pid)
    assert len(stand_in.lives) == 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"max_loras": 9}])
def test_the_server_of_a_killed_process_is_ended_by_the_next_one(make, other, options):
    driver = other()
    _, pid = driver.ask()
    driver.process.kill()
    driver.process.wait()
    assert is_running(pid)

    predictor = make(**options)
    assert ask(predictor, "x").endswith("|x")
    assert predictor.server.running.pid != pid
    assert not is_running(pid)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, None])
def test_a_process_that_is_interrupted_or_ends_ends_its_server(other, number):
    driver = other()
    _, pid = driver.ask()
    if number is None:
        assert driver.end() == 0
    else:
        driver.process.send_signal(number)
        assert driver.process.wait(30) != 0
    assert not is_running(pid)


@pytest.mark.slow
def test_an_interrupt_while_the_server_starts_ends_it(other, stand_in):
    stand_in.plan({"deaf": True})
    driver = other()
    driver.tell("ask x")
    servers: list[RunningServer] = []
    while not servers:
        assert driver.process.poll() is None
        files = Path(os.environ["DATAENVGYM_CACHE"]).glob("servers/*/*/server.json")
        servers = [server for f in files if (server := Lease(f.parent.name).running())]
        users = list(Path(os.environ["DATAENVGYM_CACHE"]).glob("servers/*/*/users/*"))
        servers = servers if users else []
    driver.process.send_signal(signal.SIGINT)
    assert driver.process.wait(30) != 0
    assert not servers[0].is_alive


@pytest.mark.slow
def test_a_server_that_another_process_started_again_gets_our_adapter_too(
    make, stand_in, other, adapter
):
    predictor, driver = make(), other()
    predictor.load(adapter("a"))
    assert ask(predictor, "x") == f"{adapter('a')}|x"
    before = driver.ask("x")[1]
    os.kill(before, signal.SIGKILL)
    after = driver.ask("y")[1]  # sees it first
    assert after != before
    assert ask(predictor, "z") == f"{adapter('a')}|z"
    assert predictor.server.running.pid == after
    assert len(stand_in.lives) == 2


def test_users_that_were_killed_are_forgotten(stand_in):
    lease = Lease("k")
    with lease.alone():
        lease.join()
    me = os.getpid()
    stale = lease.folder / "users" / f"{me}-{created_at() - 1000:.2f}"
    stale.touch()
    assert lease.users() == [me]
    assert not stale.exists()
    lease.leave()
    assert lease.users() == []


def test_a_reused_process_number_is_not_taken_for_the_server(stand_in):
    lease = Lease("k")
    lease.record(RunningServer(os.getpid(), created_at() - 1000, 1))
    assert lease.running() is None
    lease.end_server()  # does not end us
    assert is_alive(os.getpid(), created_at())
    (lease.folder / "server.json").write_text("{")
    assert lease.last() is None
