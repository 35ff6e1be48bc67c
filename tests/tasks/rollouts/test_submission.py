"""Rollouts without rounds."""

import threading
import time
from concurrent.futures import Future

import pytest

from dataenvgym.errors import PredictionError, ServerError
from dataenvgym.tasks.rollouts import rollout
from tests.tasks.rollouts.fakes import (
    SAMPLING,
    Countdown,
    Echo,
    Submitting,
    instances,
    say_digits,
    say_how_many_came_before,
)


def test_a_slow_conversation_does_not_delay_the_others():
    others_are_over = threading.Event()
    over = []

    class Counting(Countdown):
        def close(self):
            over.append(self)
            if len(over) == 5:
                others_are_over.set()

    def answer(conversation):
        if "0" in conversation[0].content:
            # the first conversation is answered only after all others came to their end
            assert others_are_over.wait(timeout=30)
        return say_how_many_came_before(conversation)

    completed = rollout(Submitting(answer), instances(6), Counting, sampling=SAMPLING, threads=1)
    assert [c.error for c in completed] == [None] * 6
    assert all(c.was_correct for c in completed)


def test_a_future_that_fails_and_a_submit_that_raises_are_errors_of_their_instances():
    class Remote(Submitting):
        def submit(self, conversation, sampling):
            if "1" in conversation[0].content:
                raise RuntimeError("queue is full")
            if "2" in conversation[0].content:
                cancelled = Future()
                cancelled.cancel()
                return cancelled
            return super().submit(conversation, sampling)

    completed = rollout(Remote(say_digits), instances(4), Echo, sampling=SAMPLING)
    assert [c.error for c in completed] == [
        *(None, "predictor: RuntimeError: queue is full", "predictor: CancelledError: ", None)
    ]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("fault", [ServerError("gone"), "no reply"])
def test_when_the_server_is_gone_or_breaks_its_contract_the_open_calls_are_cancelled(
    threads, fault
):
    never = [Future() for _ in range(6)]
    never[5].set_result("no reply")

    class Remote(Submitting):
        def submit(self, conversation, sampling):
            k = int(conversation[0].content[4])
            if k == 5 and isinstance(fault, Exception):
                raise fault
            return never[k]

    with pytest.raises(PredictionError, match=r"gone|no reply"):
        rollout(Remote(say_digits), instances(6), Echo, sampling=SAMPLING, threads=threads)
    assert all(future.cancelled() for future in never[:5])


def test_many_conversations_of_many_turns_all_end_with_many_threads():
    student = Submitting(say_how_many_came_before)
    completed = rollout(student, instances(60), Countdown, sampling=SAMPLING, threads=8)
    assert [c.reward for c in completed] == [(k + 1) / 10 if k < 32 else 0.0 for k in range(60)]


def test_a_conversation_that_ends_in_another_thread_meanwhile_ends_no_other_one():
    first_is_over = threading.Event()

    class Telling(Echo):
        def close(self):
            first_is_over.set()

    class Late(Future):
        """The asking thread continues only after another one has taken the reply."""

        def add_done_callback(self, fn):
            super().add_done_callback(fn)
            assert first_is_over.wait(timeout=30)

    class Remote(Submitting):
        def submit(self, conversation, sampling):
            if "0" not in conversation[0].content:
                return self.pool.submit(self.answer_at_last, conversation)
            reply = Late()
            reply.set_result(self.answer(conversation))
            return reply

        def answer_at_last(self, conversation):
            assert first_is_over.wait(timeout=30)
            time.sleep(0.1)  # gives the asking thread time to continue
            return self.answer(conversation)

    completed = rollout(Remote(say_digits), instances(2), Telling, sampling=SAMPLING, threads=2)
    assert [(c.was_correct, len(c.transcript)) for c in completed] == [(True, 2)] * 2
