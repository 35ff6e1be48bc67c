import copy
import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox.opening import SharedSandbox

OPENED = []


class Box:
    """A backend that only knows whether it is closed, and where it was opened."""

    def __init__(self, *, workers):
        self.workers = workers
        self.closed = False
        self.pid = os.getpid()
        OPENED.append(self)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def none_is_open():
    OPENED.clear()


def test_it_opens_at_the_first_need_and_once_for_all_threads():
    shared = SharedSandbox(Box, workers=3)
    assert not OPENED
    with ThreadPoolExecutor(8) as pool:
        boxes = set(pool.map(lambda _: shared.box(), range(50)))
    assert boxes == {*OPENED}
    assert [box.workers for box in OPENED] == [3]


def test_it_is_closed_by_name_or_without_references():
    shared = SharedSandbox(Box)
    box = shared.box()
    shared.close()
    assert box.closed
    with pytest.raises(SandboxError, match="closed"):
        shared.box()
    other = SharedSandbox(Box)
    box = other.box()
    del other
    gc.collect()
    assert box.closed


def test_a_pickled_copy_opens_its_own_and_a_plain_copy_of_its_holder_shares_it():
    shared = SharedSandbox(Box, workers=2)
    holder = {"sandbox": shared}
    assert copy.copy(holder)["sandbox"].box() is shared.box()
    again = pickle.loads(pickle.dumps(shared))
    assert again.box() is not shared.box()
    assert again.box().workers == 2


def test_a_forked_process_opens_its_own_and_leaves_the_parent_s_alone():
    shared = SharedSandbox(Box)
    parent_s = shared.box()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        own = shared.box()
        shared.close()
        says = [own is not parent_s, own.pid == os.getpid(), own.closed, not parent_s.closed]
        os.write(writing, repr(says).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == b"[True, True, True, True]"
    assert shared.box() is parent_s


def test_an_unknown_backend_is_reported_before_it_is_needed():
    with pytest.raises(ConfigurationError, match="Did you mean 'bubblewrap'"):
        SharedSandbox("bubblewarp")
