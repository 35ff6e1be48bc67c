"""Python code that runs too long is ended, in its thread."""

import sys
import threading
import time

import pytest

from dataenvgym.tasks.worlds.time_limit import within


def forever():
    while True:
        pass


def stubborn():
    try:
        forever()
    except Exception:
        forever()


def swallowing():
    try:
        forever()
    except BaseException:
        return 7


@pytest.mark.parametrize("function", [forever, stubborn, swallowing])
def test_a_loop_is_ended_and_late_even_if_it_swallows_the_end(function):
    with pytest.raises(TimeoutError, match=r"longer than 0\.05 s"):
        within(0.05, function)
    assert within(5, lambda: 7) == 7


def test_threads_are_ended_each_at_its_own_time():
    ended = []

    def run(seconds):
        with pytest.raises(TimeoutError, match=f"{seconds:g} s"):
            within(seconds, forever)
        ended.append(seconds)

    threads = [threading.Thread(target=run, args=(s,)) for s in (0.6, 0.1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [0.1, 0.6]


def test_an_inner_limit_does_not_lift_the_outer_one():
    def nested():
        within(50, lambda: None)
        forever()

    with pytest.raises(TimeoutError, match=r"0\.1 s"):
        within(0.1, nested)


def test_a_time_limit_at_the_end_of_a_call_has_no_later_effect():
    for _ in range(3):
        with pytest.raises(TimeoutError):
            within(0.01, lambda: time.sleep(0.15))
        assert sum(range(100_000)) == 4_999_950_000


def test_a_tracer_works_after_a_call_was_ended():
    with pytest.raises(TimeoutError):
        within(0.05, forever)
    events = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        within(5, lambda: 7)
    finally:
        sys.setprofile(before)
    assert "call" in events
