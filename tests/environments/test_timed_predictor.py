"""Seconds in which replies are waited for."""

from concurrent.futures import Future
from contextlib import suppress
from types import SimpleNamespace

import pytest

from dataenvgym.environments import shown_student
from dataenvgym.environments.shown_student import TimedPredictor
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message
from tests.fakes import Student

ASKED = (Message(role="user", content="hello"),)
GREEDY = SamplingParameters()


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(shown_student, "time", clock)
    return clock


class Remote:
    """Answers on command; it is not asked in rounds."""

    predict = None

    def __init__(self):
        self.futures = []

    def submit(self, conversation, sampling):
        self.futures.append(Future())
        return self.futures[-1]


@pytest.mark.parametrize("said", ["yes", RuntimeError("gone")])
def test_the_time_of_predict_counts_also_if_it_raises(clock, said):
    def slow(text, sampling):
        clock.now += 2.0
        return said

    timed = TimedPredictor(Student(slow))
    for _ in range(2):
        with suppress(RuntimeError):
            timed.predict([ASKED], GREEDY)
    assert timed.seconds == 4.0
    assert not hasattr(timed, "submit")


def test_seconds_in_which_several_replies_are_waited_for_count_once(clock):
    remote = Remote()
    timed = TimedPredictor(remote)
    timed.submit(ASKED, GREEDY)  # at 0
    clock.now = 1.0
    timed.submit(ASKED, GREEDY)
    clock.now = 3.0
    remote.futures[0].set_result(Reply(text="one"))
    clock.now = 4.0
    remote.futures[1].set_result(Reply(text="two"))
    clock.now = 10.0  # no request waits
    timed.submit(ASKED, GREEDY)
    clock.now = 11.0
    remote.futures[2].cancel()
    assert timed.seconds == 5.0


def test_a_submit_that_raises_is_not_waited_for_any_longer(clock):
    class Broken(Remote):
        def submit(self, conversation, sampling):
            clock.now += 1.0
            raise RuntimeError("gone")

    timed = TimedPredictor(Broken())
    with pytest.raises(RuntimeError):
        timed.submit(ASKED, GREEDY)
    clock.now += 5.0
    assert timed.seconds == 1.0
