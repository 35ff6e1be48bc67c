import signal
import subprocess
import sys

import psutil
import pytest

from dataenvgym.students.external.processes import (
    end_of_log,
    end_process_tree,
    end_session,
    guarded,
    last_lines,
)
from tests.waiting import wait_for

STUBBORN = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
)
FAMILY = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], start_new_session=True, stdout=-1)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def started(*command: str) -> tuple[subprocess.Popen[str], int]:
    """The process, and the number that it tells first."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("code", [0, 3])
def test_a_guarded_command_ends_with_its_own_exit_code(code):
    command = guarded([sys.executable, "-c", f"raise SystemExit({code})"])
    assert subprocess.run(command, check=False).returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_guarded_command_ends_by_the_signal_that_ended_it(number):
    command = guarded([sys.executable, "-c", f"import os; os.kill(os.getpid(), {number.value})"])
    assert subprocess.run(command, check=False).returncode == -number


def test_a_guarded_command_has_the_standard_streams():
    command = guarded(["cat"])
    assert subprocess.run(command, check=True, input=b"text", stdout=-1).stdout == b"text"


def test_processes_of_a_guarded_command_end_with_it():
    leaves = (
        "import subprocess\n"
        "print(subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=-3).pid)"
    )
    process, left = started(*guarded([sys.executable, "-c", leaves]))
    assert process.wait(30) == 0
    assert is_gone(left)


@pytest.mark.slow
def test_a_guard_ends_all_processes_even_those_that_ignore_signals():
    process, stubborn = started(*guarded([sys.executable, "-c", FAMILY]))
    process.terminate()
    process.wait(30)
    assert is_gone(stubborn)


def test_a_guard_ends_all_when_who_asked_for_it_is_killed():
    family = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=-3)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()"
    )
    asks = (
        "import subprocess, sys; from dataenvgym.students.external.processes import guarded\n"
        f"subprocess.run(guarded([sys.executable, '-c', {family!r}]))"
    )
    process, child = started(sys.executable, "-c", asks)
    guard = psutil.Process(process.pid).children()[0].pid
    process.kill()
    process.wait()
    wait_for(lambda: is_gone(child) and is_gone(guard))


def test_a_command_ends_when_its_guard_is_killed():
    tells = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    guard, command = started(*guarded([sys.executable, "-c", tells]))
    guard.kill()
    guard.wait()
    wait_for(lambda: is_gone(command))


def test_a_process_tree_ends_including_processes_that_ignore_signals():
    process, stubborn = started(sys.executable, "-c", FAMILY)
    end_process_tree(process.pid, grace=0.3)
    assert is_gone(stubborn)
    # its exit code is left to its parent
    assert process.wait(5) == -signal.SIGTERM
    end_process_tree(process.pid)


def test_what_is_left_of_a_session_ends_although_its_leader_is_gone():
    family = FAMILY.replace("start_new_session=True, ", "")
    leader = subprocess.Popen(
        [sys.executable, "-c", family], stdout=subprocess.PIPE, start_new_session=True
    )
    assert leader.stdout is not None
    with leader.stdout:
        child = int(leader.stdout.readline())
    leader.kill()
    leader.wait(5)
    assert psutil.pid_exists(child)
    end_session(leader.pid)
    wait_for(lambda: is_gone(child))


def test_a_message_never_announces_the_end_of_a_log_that_has_none(tmp_path):
    log = tmp_path / "log.txt"
    assert end_of_log(log) == f"It wrote no log to {log}."
    log.write_text("\n")
    assert end_of_log(log) == f"Its log, {log}, is empty."
    log.write_text("a\nb\n")
    assert end_of_log(log) == f"Its log is {log}.\nThe log ends with:\na\nb"


def test_the_last_lines_of_a_log_have_the_last_state_of_progress_bars(tmp_path):
    log = tmp_path / "log.txt"
    assert last_lines(log) == "(no log)"
    log.write_bytes(b"one\n\n 1%\r 50%\r100%\nthr\xffee\n")
    assert last_lines(log) == "one\n100%\nthr�ee"
    assert last_lines(log, 1) == "thr�ee"
    log.write_text("x" * 100_000 + "\nend\n")
    assert last_lines(log, at_most=10) == "xxxxxx\nend"
