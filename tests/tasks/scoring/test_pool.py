import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

from dataenvgym.tasks.scoring.pool import WorkerPool, shared_pool
from dataenvgym.tasks.scoring.process import WorkerProcess, WorkerRequest
from dataenvgym.tasks.scoring.worker import MEMORY_LIMIT, _reply
from tests.waiting import wait_for

LN = WorkerRequest(r"\ln 4", r"2\ln 2")
HANGING = WorkerRequest("5", "9^{9^{9^{9}}}+1")
LIMIT = 20.0


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2)
    pool.run([LN, LN], LIMIT)
    yield pool
    pool.close()


def _logs(count):
    """Textually different requests, of which those at even places are equal."""
    return [
        WorkerRequest(f"{n}\\ln {n * n}", f"{2 * n + n % 2}\\ln {n}") for n in range(2, 2 + count)
    ]


def _expected(count):
    return [n % 2 == 0 for n in range(2, 2 + count)]


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _at_work(pool):
    """How many workers are lent to a caller."""
    return pool._size - pool._free.qsize()


def test_replies_come_in_the_order_of_the_requests(pool):
    replies = pool.run(_logs(12), LIMIT)
    assert [reply.value for reply in replies] == _expected(12)
    assert {reply.error for reply in replies} == {None}


def test_a_hanging_worker_is_killed_and_does_not_delay_others(pool):
    before = set(pool.worker_pids())
    slow = []
    hanging = threading.Thread(target=lambda: slow.extend(pool.run([HANGING, LN], 2.0)))
    hanging.start()
    wait_for(lambda: _at_work(pool) == 1)
    replies = pool.run(_logs(6), LIMIT)
    assert not slow
    assert [reply.value for reply in replies] == _expected(6)
    hanging.join()
    assert [(reply.value, reply.error is None) for reply in slow] == [(False, False), (True, True)]
    assert len(before - set(pool.worker_pids())) == 1
    assert sum(map(_is_running, before)) == 1


def test_a_worker_that_died_while_idle_is_replaced(pool):
    pool.run([LN, LN], LIMIT)
    pids = pool.worker_pids()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(_is_running, pids)))
    assert pool.run([LN], LIMIT)[0].value is True


def test_a_worker_that_dies_at_work_fails_its_request_only(pool):
    pool.run([LN, LN], LIMIT)
    results = []
    thread = threading.Thread(target=lambda: results.extend(pool.run([HANGING, HANGING], LIMIT)))
    thread.start()
    wait_for(lambda: _at_work(pool) == 2)
    for pid in pool.worker_pids():
        os.kill(pid, signal.SIGKILL)
    thread.join(60)
    assert ["exit code -9" in (reply.error or "") for reply in results] == [True, True]
    assert pool.run([LN], LIMIT)[0].value is True


def test_a_worker_whose_reply_cannot_be_read_is_not_asked_again(pool, monkeypatch):
    asked = []

    def garbled(self, what, limit):
        asked.append(self)
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(WorkerProcess, "_read", garbled)
        with pytest.raises(ValueError):  # noqa: PT011
            pool.run([LN], LIMIT)
    assert [worker.has_exited() for worker in asked] == [True]
    assert pool.run([LN, LN], LIMIT)[0].value is True


def test_the_memory_of_a_worker_is_limited(pool):
    pool.run([LN], LIMIT)
    for pid in pool.worker_pids():
        with open(f"/proc/{pid}/limits") as limits:
            (line,) = [line for line in limits if line.startswith("Max address space")]
        assert line.split()[3] == str(MEMORY_LIMIT)


def test_a_long_batch_does_not_keep_a_short_one_waiting(pool):
    finished: list[str] = []

    def grade(name, count):
        pool.run(_logs(count), LIMIT)
        finished.append(name)

    long = threading.Thread(target=grade, args=("long", 12))
    long.start()
    wait_for(lambda: _at_work(pool) == 2)
    grade("short", 1)
    long.join()
    assert finished == ["short", "long"]


def _grade_in_child(sender):
    sender.send([reply.value for reply in shared_pool().run([LN], LIMIT)])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_daemonic_child_process_has_a_pool_of_its_own(method):
    assert shared_pool().run([LN], LIMIT)[0].value is True
    mine = set(shared_pool().worker_pids())
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_grade_in_child, args=(sender,), daemon=True)
    child.start()
    assert receiver.poll(30)
    assert receiver.recv() == [True]
    child.join()
    assert shared_pool().run([LN], LIMIT)[0].value is True
    assert mine <= set(shared_pool().worker_pids())


_SCRIPT = """
import sys, threading
from dataenvgym.tasks.scoring import grade_pairs
from dataenvgym.tasks.scoring.pool import shared_pool

grade_pairs([(r"\\\\ln 4", r"2\\\\ln 2"), (r"\\\\ln 9", r"2\\\\ln 3")])
{then}
print(*shared_pool().worker_pids(), flush=True)
{last}
"""
_HANG = 'grade_pairs([("5", "9^{9^{9^{9}}}+1")], time_limit=1)'
_HANG_IN_THREAD = f"threading.Thread(target=lambda: {_HANG}, daemon=True).start()"


def _start_script(then, last):
    script = _SCRIPT.replace("{then}", then).replace("{last}", last).replace("\\\\", "\\")
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, [int(pid) for pid in process.stdout.readline().split()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "last", "is_killed"),
    [
        (_HANG_IN_THREAD, "raise KeyboardInterrupt", False),
        (_HANG_IN_THREAD, "threading.Event().wait()", True),
        ("pass", "threading.Event().wait()", True),
        ("pass", 'print("done")', False),
    ],
)
def test_no_worker_outlives_a_script_which_needs_no_main_guard(then, last, is_killed):
    process, pids = _start_script(then, last)
    assert pids
    if is_killed:
        process.kill()
    with process:  # `communicate` would miss what the first line's buffer has
        said = process.stdout.read(), process.stderr.read()
    if "done" in last:
        assert (said, process.returncode) == (("done\n", ""), 0)  # its output stays its own
    wait_for(lambda: not any(map(_is_running, pids)))


def test_a_worker_that_cannot_start_makes_errors_and_no_endless_series(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    pool = WorkerPool(2)
    replies = pool.run([LN, LN, LN], LIMIT)
    assert all("start of the grading worker" in (reply.error or "") for reply in replies)
    assert not any(reply.exhausted for reply in replies)
    assert pool.run([], LIMIT) == []
    assert pool.worker_pids() == []


def test_an_answer_that_sympy_cannot_handle_is_the_answers_own_fault():
    def raises(*texts):
        raise TypeError("cannot compare")

    reply = _reply({"gold": "1", "answer": "x"}, raises, raises)
    assert reply == {"error": "TypeError: cannot compare", "exhausted": True}
