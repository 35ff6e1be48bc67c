"""Seconds in which replies are waited for."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from dataenvgym.environments import shown_student
from dataenvgym.environments.shown_student import TimedPredictor
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message

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
