"""Counting a run's processes, with a folder of files that imitates its /proc."""

import errno
import os
import platform

import pytest

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.accounting import Accounting
from dataenvgym.sandbox.interface import Limits

PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 2**20
CLONE = 56 if platform.machine() == "x86_64" else 220
VFORK = f"{CLONE} 0x4111 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f"  # with CLONE_VM and CLONE_VFORK
LIMITS = Limits(memory=128 * 2**20, processes=4)


def stat(state: str, *, mb: int, parent: int = 2, threads: int = 1, size: int = 7) -> str:
    fields = [state, parent, *[0] * 15, threads, 0, 0, size, mb * 2**20 // PAGE, 0]
    return f"9 (a ) name) {' '.join(map(str, fields))}\n"


@pytest.fixture
def proc(tmp_path):
    """Write processes (and their threads, as "PID/task/TID") and count them.

    Any other entry is another file.
    """
    opened = []

    def count(**stats: str) -> Accounting:
        for name, text in {"1": stat("S", mb=999), **stats}.items():
            file = tmp_path / (f"{name}/stat" if name.rpartition("/")[2].isdigit() else name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        opened.append(os.open(tmp_path, os.O_RDONLY))
        return Accounting(opened[-1], LIMITS, allowance=32 * 2**20)

    yield count
    for fd in opened:
        os.close(fd)


def test_memory_and_threads_are_sums_over_all_processes_but_the_first(proc):
    fine = proc(**{"2": stat("R", mb=100), "3": stat("S", mb=50, threads=3)})
    assert (fine.look(), fine.peak) == (None, 150 * 2**20)
    beyond = proc(**{"3": stat("S", mb=61)})
    assert (beyond.look(), beyond.peak) == ("out_of_memory", 161 * 2**20)
    assert proc(**{"3": stat("S", mb=1, threads=4)}).look() == "killed"


def test_a_crowd_is_ended_before_each_of_it_is_read(proc, monkeypatch):
    """A bomb grows while its processes are read one by one."""
    crowd = proc(**{str(pid): stat("R", mb=1) for pid in range(2, 40)})
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("it was read"))
    assert crowd.look() == "killed"


def test_a_child_that_still_has_its_parents_memory_is_not_counted_twice(proc):
    waits = {"2": stat("D", mb=100, size=5), "3": stat("R", mb=100, parent=2, size=5)}
    assert proc(**waits, **{"2/syscall": VFORK}).look() is None


@pytest.mark.parametrize(
    "call",
    [
        f"{CLONE} 0x4011 0x0",  # CLONE_VFORK without CLONE_VM
        f"{CLONE} 0x11 0x0",
        "435 0x4111 0x58",  # clone3, whose flags are in the memory of the process
        "82 0x4111 0x4111",  # any other call that waits
        "running",
    ],
)
def test_a_parent_that_waits_for_another_event_hides_no_child(proc, call):
    waits = {"2": stat("D", mb=100, size=5), "3": stat("R", mb=100, parent=2, size=5)}
    counted = proc(**waits, **{"2/syscall": call})
    assert (counted.look(), counted.peak) == ("out_of_memory", 200 * MB)


def test_a_process_that_hides_its_call_hides_no_child(proc, monkeypatch):
    """As to an ordinary user, from whom a process that is not dumpable hides its call."""
    waits = {"2": stat("D", mb=100, size=5), "3": stat("R", mb=100, parent=2, size=5)}
    counted = proc(**waits, **{"2/syscall": VFORK})
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert counted.look() == "out_of_memory"


def test_a_chain_of_children_that_wait_counts_in_full(proc):
    chain = {str(pid): stat("D", mb=50, parent=pid - 1, size=5) for pid in (2, 3, 4, 5)}
    calls = {f"{pid}/syscall": f"{CLONE} 0x4011 0x0" for pid in (2, 3, 4, 5)}
    counted = proc(**chain, **calls)
    assert (counted.look(), counted.peak) == ("out_of_memory", 200 * MB)


def test_a_thread_may_wait_for_the_child_that_has_its_memory(proc):
    """As where threads start programs: the first thread of the process does not wait."""
    parent = {"2": stat("S", mb=100, threads=2, size=5), "3": stat("R", mb=100, size=5)}
    threads = {
        "2/task/2": stat("S", mb=100, threads=2, size=5),
        "2/task/7": stat("D", mb=100, threads=2, size=5),
    }
    assert proc(**parent, **threads, **{"2/task/7/syscall": VFORK}).look() is None
    assert proc(**{"4": stat("R", mb=100, size=5)}).look() == "out_of_memory"


def test_sockets_count_with_the_size_of_their_buffers(proc):
    few = proc(**{"2": stat("R", mb=100), "1/net/sockstat": "sockets: used 16\nTCP: inuse 9\n"})
    assert (few.look(), few.peak) == (None, 100 * MB)
    many = proc(**{"1/net/sockstat": "sockets: used 261\nTCP: inuse 9\n"})
    assert many.look() == "out_of_memory"
    assert many.peak == 100 * MB + 245 * 2**18


def test_only_one_child_of_a_waiting_parent_can_have_its_memory(proc):
    two = {"3": stat("R", mb=100, size=5), "4": stat("R", mb=100, size=5), "2/syscall": VFORK}
    assert proc(**{"2": stat("D", mb=100, size=5), **two}).look() == "out_of_memory"


def test_a_child_of_a_parent_that_does_not_wait_counts(proc):
    both = {"2": stat("S", mb=100, size=5), "3": stat("R", mb=100, size=5)}
    assert proc(**both).look() == "out_of_memory"


def test_threads_that_live_shortly_hide_no_memory(proc):
    """The first thread has ended; another is seen once, and then none is caught alive."""
    ended = stat("Z", mb=0, threads=2)
    seen = proc(**{"2": ended, "2/task/7": stat("R", mb=150)})
    assert (seen.look(), seen.peak) == (None, 150 * 2**20)
    proc(**{"2/task/7": stat("R", mb=0), "3": stat("S", mb=20)})
    assert seen.look() == "out_of_memory"


def test_a_run_that_cannot_be_counted_is_an_error(proc, monkeypatch):
    counted = proc(**{"2": stat("R", mb=500)})

    def none_left(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", none_left)
    with pytest.raises(SandboxError, match="watched"):
        counted.look()
