"""Rollouts in rounds."""

import pytest

from dataenvgym.environments.shown_student import TimedPredictor
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.interfaces import Ask, Failure, Reply
from dataenvgym.records import Message
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.tasks.rollouts.driver import answered_together
from tests.tasks.rollouts.fakes import (
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


@pytest.mark.parametrize(("replies", "n"), [(None, 0), ([Reply(text="1")] * 4, 4)])
def test_a_predictor_without_a_reply_for_each_conversation_is_a_bug(replies, n):
    class Odd(Predictor):
        def predict(self, conversations, sampling):
            return replies

    for predictor in (Odd(say_digits), TimedPredictor(Odd(say_digits))):
        with pytest.raises(PredictionError, match=rf"Odd\.predict returned {n} replies"):
            rollout(predictor, instances(3), Echo, sampling=SAMPLING)


@pytest.mark.parametrize("predictor", [None, "pocket", Predictor])
def test_what_is_no_predictor_is_refused_and_not_a_failed_call(predictor):
    with pytest.raises(ConfigurationError, match="predictor is"):
        rollout(predictor, instances(3), Echo, sampling=SAMPLING)


class Stumbling(Predictor):
    """Raises if one of the conversations is among those that it cannot take."""

    def __init__(self, *bad, error=None):
        super().__init__(say_digits)
        self.bad = {f"Sag {k}!" for k in bad}
        self.error = error or ValueError("too long")
        self.calls = 0

    def predict(self, conversations, sampling):
        self.calls += 1
        if self.bad & {c[0].content for c in conversations}:
            raise self.error
        return super().predict(conversations, sampling)


def test_one_conversation_that_makes_predict_raise_does_not_spoil_its_chunk():
    predictor = Stumbling(2, 5)
    completed = rollout(predictor, instances(8), Echo, sampling=SAMPLING, chunk_size=4)
    errors = {c.instance.id: c.error for c in completed if c.error is not None}
    assert errors == dict.fromkeys(("i2", "i5"), "predictor: ValueError: too long")
    assert sum(c.was_correct for c in completed) == 6
    assert predictor.calls == 2 * (1 + 4)


def test_a_predictor_that_fails_at_everything_is_not_asked_for_every_conversation():
    predictor = Stumbling(*range(128))
    completed = rollout(predictor, instances(128), Echo, sampling=SAMPLING, chunk_size=128)
    assert {c.error for c in completed} == {"predictor: ValueError: too long"}
    assert predictor.calls == 1 + 3


def test_a_predictor_that_is_out_of_reach_is_asked_once_a_chunk():
    predictor = Stumbling(0, error=ConnectionError("server gone"))
    completed = rollout(predictor, instances(8), Echo, sampling=SAMPLING, chunk_size=4)
    error = "predictor: ConnectionError: server gone"
    assert [c.error for c in completed] == [error] * 4 + [None] * 4
    assert predictor.calls == 2


def asks(n):
    """Ask `n` times; return the replies, with the reasons of failed ones."""
    said = []
    for i in range(n):
        question = (Message(role="user", content=f"Sag {n}{i}!"),)
        reply = yield Ask("judge", question, SAMPLING, may_fail=True)
        said.append(reply.reason if isinstance(reply, Failure) else reply.text)
    return said


def test_asks_of_generators_are_answered_together_and_failures_reach_their_generator():
    def answer(conversation):
        if "20" in conversation[0].content:
            raise KeyError("broken")
        return say_digits(conversation)

    judge = Predictor(answer)
    found = answered_together([asks(0), asks(2), asks(1)], {"judge": judge})
    assert found == [[], ["judge: KeyError: 'broken'", "21"], ["10"]]
    # the batch of the first round, its conversations one by one, and the second round
    assert judge.chunks == [["Sag 20!", "Sag 10!"], ["Sag 20!"], ["Sag 10!"], ["Sag 21!"]]
    assert answered_together([], {"judge": judge}) == []

    def spent(conversation):
        raise BudgetSpentError("max_requests is 0")

    found = answered_together([asks(1)], {"judge": Predictor(spent)})
    assert found == [["not asked: max_requests is 0"]]
