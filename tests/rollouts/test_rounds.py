"""Rollouts in rounds."""

from __future__ import annotations

import threading

import pytest

from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Reply
from dataenvgym.rollouts import rollout

from .fakes import (
    SAMPLING,
    Countdown,
    Echo,
    Predictor,
    instances,
    say_digits,
    say_how_many_came_before,
)


def test_chunks_are_fixed_by_the_order_of_the_instances():
    predictor = Predictor(say_how_many_came_before)
    rollout(predictor, instances(5), Countdown, sampling=SAMPLING, chunk_size=2)
    say = [f"Sag {k}!" for k in range(5)]
    assert predictor.chunks[:3] == [say[0:2], say[2:4], say[4:5]]
    # i0 is over: its chunk shrinks, and no other chunk changes
    assert predictor.chunks[3:6] == [say[1:2], say[2:4], say[4:5]]
    assert predictor.chunks[6:8] == [say[2:4], say[4:5]]


def test_an_exception_in_predict_is_the_error_of_its_chunk():
    class Breaking(Predictor):
        def predict(self, conversations, sampling):
            if "Sag 2!" in [c[0].content for c in conversations]:
                raise ConnectionError("server gone")
            return super().predict(conversations, sampling)

    completed = rollout(Breaking(say_digits), instances(6), Echo, sampling=SAMPLING, chunk_size=2)
    error = "predictor: ConnectionError: server gone"
    assert [c.error for c in completed] == [None, None, error, error, None, None]
    assert not any(c.was_correct for c in completed[2:4])


@pytest.mark.parametrize("n", [0, 2, 4])
def test_a_predictor_with_too_few_or_too_many_replies_is_a_bug(n):
    class Miscounting(Predictor):
        def predict(self, conversations, sampling):
            return [Reply(text="1")] * n

    with pytest.raises(PredictionError, match=f"gave {n} replies to 3 conversations"):
        rollout(Miscounting(say_digits), instances(3), Echo, sampling=SAMPLING)


def test_environments_step_at_the_same_time():
    everyone_is_here = threading.Barrier(4, timeout=30)

    class Meeting(Echo):
        def respond(self, instance, conversation):
            everyone_is_here.wait()
            return super().respond(instance, conversation)

    completed = rollout(Predictor(say_digits), instances(4), Meeting, sampling=SAMPLING, threads=4)
    assert all(c.was_correct for c in completed)
