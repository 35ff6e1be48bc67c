"""Seconds in which replies are waited for."""

from concurrent.futures import Future

import pytest

from dataenvgym.environments import shown_student as timed_predictor
from dataenvgym.environments.shown_student import TimedPredictor
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message

from ..fakes import Student

ASKED = (Message(role="user", content="hello"),)
GREEDY = SamplingParameters()


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timed_predictor, "time", clock)
    return clock


class Remote:
    """Answers on command."""

    def __init__(self):
        self.futures = []

    def predict(self, conversations, sampling):
        raise AssertionError("a predictor with submit is not asked in rounds")

    def submit(self, conversation, sampling):
        self.futures.append(Future())
        return self.futures[-1]


def test_the_time_of_predict_counts(clock):
    def slow(text, sampling):
        clock.now += 2.0
        return "yes"

    timed = TimedPredictor(Student(slow))
    timed.predict([ASKED], GREEDY)
    timed.predict([ASKED], GREEDY)
    assert timed.seconds == 4.0
    assert not hasattr(timed, "submit")


def test_a_predict_that_raises_has_taken_time_too(clock):
    def broken(text, sampling):
        clock.now += 3.0
        raise RuntimeError("gone")

    timed = TimedPredictor(Student(broken))
    with pytest.raises(RuntimeError):
        timed.predict([ASKED], GREEDY)
    assert timed.seconds == 3.0


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
