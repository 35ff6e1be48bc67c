"""Each process has its own server, which ends with it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.students.predictors.conftest import ask, program
from tests.waiting import wait_for

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
        driver.end()


def is_running(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_process_has_a_server_of_its_own(make, stand_in, other):
    predictor, driver = make(), other()
    assert ask(predictor).endswith("|?")
    assert driver.ask("x")[1] != predictor.server.pid
    assert len(stand_in.lives) == 2


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGINT, None))],
)
def test_a_server_ends_with_its_process(other, number):
    driver = other()
    _, pid = driver.ask()
    server = psutil.Process(pid).children()[0].pid
    if number is None:
        assert driver.end() == 0
    else:
        driver.process.send_signal(number)
        assert driver.process.wait(30) != 0
    wait_for(lambda: not is_running(pid) and not is_running(server))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_that_starts_ends_with_its_process(other, stand_in, number):
    stand_in.plan({"deaf": True})
    driver = other()
    driver.tell("ask x")
    wait_for(lambda: stand_in.lives)
    servers = psutil.Process(driver.process.pid).children(recursive=True)
    driver.process.send_signal(number)
    assert driver.process.wait(30) != 0
    wait_for(lambda: not any(is_running(server.pid) for server in servers))


def test_a_server_whose_guard_is_killed_ends(make):
    predictor = make()
    assert ask(predictor).endswith("|?")
    server = program(predictor.server)
    psutil.Process(predictor.server.pid).kill()
    wait_for(lambda: not is_running(server.pid))
    assert ask(predictor, "x").endswith("|x")  # it is started again
