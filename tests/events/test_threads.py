import threading

import pytest

from dataenvgym.events import CancelledTask, ContextThreadPool, raise_if_cancelled
from tests.waiting import eventually, is_cancelled, wait_for


def test_an_exception_that_leaves_the_block_ends_tasks_that_run_and_starts_no_other():
    begun, ended, never = threading.Event(), [], []

    def compute():
        begun.set()
        ended.append(eventually(is_cancelled))

    def interrupt_pool():
        with ContextThreadPool(1) as pool:
            pool.submit(compute)
            pool.submit(never.append, "started")
            wait_for(begun.is_set)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt_pool()
    assert (ended, never) == ([True], [])


def test_a_task_ends_with_every_pool_around_it_and_starts_no_task_any_more():
    begun, ended = threading.Event(), []

    def compute():
        begun.set()
        ended.append(eventually(is_cancelled))
        raise_if_cancelled()

    def start_another():
        try:
            with ContextThreadPool(1) as inner:
                inner.submit(compute).result()
        finally:
            with ContextThreadPool(1) as inner:
                inner.submit(ended.append, "started")

    outer = ContextThreadPool(1)
    task = outer.submit(start_another)
    wait_for(begun.is_set)
    outer.shutdown(cancel_futures=True)
    assert isinstance(task.exception(), CancelledTask)
    assert ended == [True]


def test_a_block_that_is_left_as_planned_waits_for_its_tasks():
    done = []
    with ContextThreadPool(1) as pool:
        for i in range(3):
            pool.submit(lambda i: (raise_if_cancelled(), done.append(i)), i)
    assert done == [0, 1, 2]
    assert not is_cancelled()
    assert not issubclass(CancelledTask, Exception)  # those become failures of an instance
