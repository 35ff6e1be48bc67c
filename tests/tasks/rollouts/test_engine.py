"""Guarantees of rollouts, for every way of asking the predictor."""

import pytest

from dataenvgym.errors import ConfigurationError, PredictionError, ServerError
from dataenvgym.events import hearing_progress
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from tests.tasks.rollouts.fakes import (
    SAMPLING,
    Countdown,
    Echo,
    Predictor,
    both_modes,
    instances,
    say_digits,
    say_how_many_came_before,
)


@both_modes
def test_results_come_in_the_order_of_the_instances(make):
    wrong = {"Sag 3!": Reply(text="?")}
    predictor = make(lambda c: wrong.get(c[0].content) or say_digits(c))
    completed = rollout(predictor, instances(20), Echo, sampling=SAMPLING, chunk_size=3)
    assert [c.instance.id for c in completed] == [f"i{k}" for k in range(20)]
    expected = [(k != 3, float(k != 3), None) for k in range(20)]  # a wrong answer is no error
    assert [(c.was_correct, c.reward, c.error) for c in completed] == expected
    assert completed[7].transcript == (
        Message(role="user", content="Sag 7!"),
        Message(role="assistant", content="7"),
    )


@both_modes
def test_an_exception_in_the_environment_fails_its_instance_only_and_any_reply_is_judged(make):
    class Fragile(Echo):
        def begin(self, instance):
            if instance.id == "i1":
                raise OSError("no file \ud800")
            return super().begin(instance)

        def respond(self, instance, conversation):
            if instance.id == "i2":
                raise RuntimeError("sandbox died")
            return super().respond(instance, conversation)

    def answer(conversation):
        reply = say_digits(conversation)
        return Reply(text="3\ud800") if reply.text == "3" else reply

    completed = rollout(make(answer), instances(5), Fragile, sampling=SAMPLING, chunk_size=5)
    assert [c.error for c in completed] == [
        None,
        "environment: OSError: no file \\ud800",
        "environment: RuntimeError: sandbox died",
        None,
        None,
    ]
    assert [len(c.transcript) for c in completed] == [2, 0, 2, 2, 2]
    assert completed[3].response == "3\ufffd"
    assert [c.was_correct for c in completed] == [True, False, False, False, True]
    for c in completed:
        assert type(c).model_validate_json(c.model_dump_json()) == c


@both_modes
@pytest.mark.parametrize("length", [1, 5])
def test_a_failed_call_is_not_a_wrong_answer_and_ends_only_its_conversation(make, length):
    def answer(conversation):
        if len(conversation) == length and "3" in conversation[0].content:
            return Failure(reason="timed out")
        return say_how_many_came_before(conversation)

    completed = rollout(make(answer), instances(5), Countdown, sampling=SAMPLING)
    assert [c.error for c in completed] == [None, None, None, "timed out", None]
    assert (completed[3].reward, completed[3].was_correct) == (0.0, False)
    assert len(completed[3].transcript) == length


@both_modes
def test_environments_are_closed_even_if_their_instance_fails(make):
    closed = []

    class Closing(Echo):
        def respond(self, instance, conversation):
            if instance.id == "i1":
                raise RuntimeError("broken")
            return super().respond(instance, conversation)

        def close(self):
            closed.append(self)
            raise OSError("closing failed")

    def answer(conversation):
        return Failure(reason="no") if "2" in conversation[0].content else say_digits(conversation)

    completed = rollout(make(answer), instances(3), Closing, sampling=SAMPLING)
    assert len(closed) == 3
    assert [c.error is None for c in completed] == [True, False, False]


@both_modes
def test_random_choices_of_an_environment_depend_on_the_seed_and_the_instance_alone(make):
    class Dice(Echo):
        def begin(self, instance):
            return (Message(role="user", content=str(self.np_random.integers(10**9))),)

    def throw(seed, of):
        completed = rollout(
            make(say_digits), of, Dice, sampling=SamplingParameters(seed=seed), chunk_size=2
        )
        return {c.instance.id: c.transcript[0].content for c in completed}

    first = throw(0, instances(6))
    assert len(set(first.values())) == 6
    assert throw(0, instances(6)[::-1]) == first
    assert throw(1, instances(6)) != first


@pytest.mark.parametrize("error", [ServerError("gone"), ConfigurationError("no schemas here")])
@both_modes
def test_a_predictor_that_cannot_work_at_all_says_so_to_the_caller(make, error):
    def answer(conversation):
        if len(conversation) == 5:
            raise error
        return say_how_many_came_before(conversation)

    with pytest.raises(type(error)) as raised:
        rollout(make(answer), instances(5), Countdown, sampling=SAMPLING)
    assert raised.value is error


@both_modes
@pytest.mark.parametrize("value", [None, "text"])
def test_a_value_that_is_not_a_reply_is_a_bug(make, value):
    with pytest.raises(PredictionError, match="Failure"):
        rollout(make(lambda c: value), instances(3), Echo, sampling=SAMPLING)


class Graded(TaskEnvironment):
    """Scores each message by its length; instance 1 gets a score that is none."""

    def respond(self, instance, conversation):
        length = float("nan") if instance.id == "i1" else float(len(conversation[-1].content))
        done = sum(m.role == "assistant" for m in conversation) == 2
        messages = () if done else (Message(role="user", content="Kürzer!"),)
        return Outcome(messages=messages, done=done, scores={"length": length})


@both_modes
def test_scores_of_the_last_message_are_kept_and_bad_ones_are_the_environments_failure(make):
    predictor = make(lambda c: Reply(text="x" * (5 - len(c))))
    completed = rollout(predictor, instances(3), Graded, sampling=SAMPLING)
    assert [c.scores for c in completed] == [{"length": 2.0}, {}, {"length": 2.0}]
    assert [c.error is None for c in completed] == [True, False, True]
    assert (completed[1].error or "").startswith("environment: EvaluationError: ")
    assert [m.content for m in completed[1].transcript] == ["Sag 1!", "xxxx"]


def test_replies_of_a_round_are_counted_chunk_by_chunk():
    heard = []
    with hearing_progress(heard.append):
        rollout(Predictor(say_digits), instances(5), Echo, sampling=SAMPLING, chunk_size=2)
    replies = [m for m in heard if "replies" in m]
    assert replies == [f"0 of 5 problems, {n} of 5 replies" for n in (0, 2, 4, 5)]
    assert [m.done for m in replies] == [0, 2, 4, 5]
