"""Questions and changes of adapters take turns."""

import threading
from collections.abc import Callable

import pytest

from dataenvgym.students.predictors.vllm.server import AdapterLock
from tests.waiting import wait_for


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_a_change_waits_for_questions_and_goes_before_those_that_come_after_it():
    adapter_lock, order = AdapterLock(), []

    def change() -> None:
        with adapter_lock.stopped():
            order.append("changed")

    def ask() -> None:
        adapter_lock.enter()
        order.append("asked")
        adapter_lock.leave()

    adapter_lock.enter()
    adapter_lock.enter()
    threads = [in_thread(change)]
    wait_for(lambda: adapter_lock._is_stopped)
    threads.append(in_thread(ask))
    for _ in range(2):
        order.append("answered")
        adapter_lock.leave()
    for thread in threads:
        thread.join(30)
    assert order == ["answered", "answered", "changed", "asked"]


def test_changes_come_one_after_the_other():
    adapter_lock, inside, most = AdapterLock(), [], []

    def change() -> None:
        for _ in range(50):
            with adapter_lock.stopped():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [in_thread(change) for _ in range(3)]
    for thread in threads:
        thread.join(30)
    assert most == [1] * 150


def test_a_change_that_is_interrupted_while_it_waits_stops_no_request(monkeypatch):
    adapter_lock = AdapterLock()
    adapter_lock.enter()
    wait_for = adapter_lock._condition.wait_for

    def interrupted(condition: Callable[[], bool]) -> bool:
        if not condition():
            raise KeyboardInterrupt
        return wait_for(condition)

    monkeypatch.setattr(adapter_lock._condition, "wait_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        adapter_lock.stop()
    adapter_lock.enter()
    assert adapter_lock._on_the_way == 2
