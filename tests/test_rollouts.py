"""Rollouts, with fakes for the predictor and small real environments."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from dataenvgym.errors import ConfigurationError, PredictionError, ServerError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message, TaskInstance
from dataenvgym.rollouts import rollout
from dataenvgym.tasks import Outcome, TaskEnvironment

SAMPLING = SamplingParameters()


def instances(n):
    return [
        TaskInstance(id=f"i{k}", task="echo", instruction=f"Sag {k}!", answer=str(k))
        for k in range(n)
    ]


class Echo(TaskEnvironment):
    """Right if the student's last message is the answer."""

    def respond(self, instance, conversation):
        was_correct = conversation[-1].content == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


class Countdown(TaskEnvironment):
    """Instance k takes k + 1 messages; it is solved by saying how many came before."""

    def respond(self, instance, conversation):
        said = [m.content for m in conversation if m.role == "assistant"]
        if len(said) <= int(instance.answer):
            return Outcome(messages=(Message(role="user", content="Weiter …"),), done=False)
        return Outcome(
            reward=len(said) / 10, was_correct=said == [str(k) for k in range(len(said))]
        )


def say_digits(conversation):
    return Reply(text="".join(c for c in conversation[-1].content if c.isdigit()))


def say_how_many_came_before(conversation):
    return Reply(text=str(sum(m.role == "assistant" for m in conversation)))


class Predictor:
    """Answers each conversation with a function of it, and keeps what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.chunks = []

    def predict(self, conversations, sampling):
        self.chunks.append([c[0].content for c in conversations])
        return [self.answer(c) for c in conversations]


class Submitting(Predictor):
    """The same, one conversation at a time and in threads."""

    def __init__(self, answer):
        super().__init__(answer)
        self.pool = ThreadPoolExecutor(3)

    def submit(self, conversation, sampling):
        return self.pool.submit(self.answer, conversation)

    def predict(self, conversations, sampling):
        raise AssertionError("a predictor with submit is driven by submit")


both_modes = pytest.mark.parametrize("make", [Predictor, Submitting], ids=["rounds", "submit"])


@both_modes
def test_results_come_in_the_order_of_the_instances(make):
    completed = rollout(make(say_digits), instances(20), Echo, sampling=SAMPLING, chunk_size=3)
    assert [c.instance.id for c in completed] == [f"i{k}" for k in range(20)]
    assert all(c.was_correct and c.reward == 1.0 and c.error is None for c in completed)
    assert completed[7].transcript == (
        Message(role="user", content="Sag 7!"),
        Message(role="assistant", content="7"),
    )


@both_modes
def test_a_wrong_answer_is_no_error(make):
    (completed,) = rollout(make(lambda c: Reply(text="?")), instances(1), Echo, sampling=SAMPLING)
    assert (completed.was_correct, completed.reward, completed.error) == (False, 0.0, None)


@both_modes
def test_conversations_of_different_length_all_come_to_their_end(make):
    predictor = make(say_how_many_came_before)
    completed = rollout(predictor, instances(6), Countdown, sampling=SAMPLING, chunk_size=2)
    assert [c.reward for c in completed] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert all(c.was_correct for c in completed)
    assert [m.role for m in completed[2].transcript] == ["user", "assistant"] * 3


@both_modes
def test_a_failed_call_is_not_a_wrong_answer(make):
    def answer(conversation):
        if "3" in conversation[0].content:
            return Failure(reason="HTTP 503")
        return say_digits(conversation)

    completed = rollout(make(answer), instances(5), Echo, sampling=SAMPLING)
    assert [c.error for c in completed] == [None, None, None, "HTTP 503", None]
    assert (completed[3].reward, completed[3].was_correct) == (0.0, False)
    assert completed[3].transcript == (Message(role="user", content="Sag 3!"),)


@both_modes
def test_an_exception_in_the_environment_is_the_error_of_its_instance(make):
    class Fragile(Echo):
        def begin(self, instance):
            if instance.id == "i1":
                raise OSError("no room left")
            return super().begin(instance)

        def respond(self, instance, conversation):
            if instance.id == "i2":
                raise RuntimeError("sandbox died")
            return super().respond(instance, conversation)

    completed = rollout(make(say_digits), instances(4), Fragile, sampling=SAMPLING)
    assert [c.error for c in completed] == [
        None,
        "environment: OSError: no room left",
        "environment: RuntimeError: sandbox died",
        None,
    ]
    assert completed[1].transcript == ()
    assert [c.was_correct for c in completed] == [True, False, False, True]


@both_modes
def test_a_failure_in_a_later_turn_ends_only_its_conversation(make):
    def answer(conversation):
        if len(conversation) == 5 and "3" in conversation[0].content:
            return Failure(reason="timed out")
        return say_how_many_came_before(conversation)

    completed = rollout(make(answer), instances(5), Countdown, sampling=SAMPLING)
    assert [c.error for c in completed] == [None, None, None, "timed out", None]
    assert len(completed[3].transcript) == 5


@both_modes
def test_no_instances_give_no_results(make):
    assert rollout(make(say_digits), [], Echo, sampling=SAMPLING) == []


@both_modes
def test_an_environment_that_never_ends_is_truncated_and_not_correct(make):
    class Endless(TaskEnvironment):
        max_turns = 3

        def respond(self, instance, conversation):
            return Outcome(done=False, reward=1.0, was_correct=True)

    (completed,) = rollout(make(say_digits), instances(1), Endless, sampling=SAMPLING)
    assert (completed.reward, completed.was_correct, completed.error) == (0.0, False, None)
    assert sum(m.role == "assistant" for m in completed.transcript) == 3


@both_modes
def test_a_note_of_the_environment_reaches_the_result(make):
    class Noting(TaskEnvironment):
        def respond(self, instance, conversation):
            return Outcome(info={"note": "not settled within 5 s"})

    (completed,) = rollout(make(say_digits), instances(1), Noting, sampling=SAMPLING)
    assert completed.note == "not settled within 5 s"
    assert completed.error is None


@both_modes
def test_environments_are_closed_whatever_happens_to_their_instance(make):
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


@pytest.mark.parametrize("error", [ServerError("gone"), ConfigurationError("no schemas here")])
@both_modes
def test_a_predictor_that_cannot_work_at_all_says_so_to_the_caller(make, error):
    closed = []

    class Closing(Countdown):
        def close(self):
            closed.append(self)

    def answer(conversation):
        if len(conversation) == 5:
            raise error
        return say_how_many_came_before(conversation)

    with pytest.raises(type(error)) as raised:
        rollout(make(answer), instances(5), Closing, sampling=SAMPLING)
    assert raised.value is error
    assert len(closed) == 5


@pytest.mark.parametrize("n", [0, 2, 4])
def test_a_predictor_with_too_few_or_too_many_replies_is_a_bug(n):
    class Miscounting(Predictor):
        def predict(self, conversations, sampling):
            return [Reply(text="1")] * n

    with pytest.raises(PredictionError, match=f"gave {n} replies to 3 conversations"):
        rollout(Miscounting(say_digits), instances(3), Echo, sampling=SAMPLING)


@both_modes
@pytest.mark.parametrize("value", [None, "text"])
def test_something_that_is_no_reply_is_a_bug(make, value):
    with pytest.raises(PredictionError, match="expected a Reply or a Failure"):
        rollout(make(lambda c: value), instances(3), Echo, sampling=SAMPLING)


def test_impossible_sizes_are_refused():
    for options in ({"chunk_size": 0}, {"threads": 0}):
        with pytest.raises(ConfigurationError, match="expected 1 or more"):
            rollout(Predictor(say_digits), [], Echo, sampling=SAMPLING, **options)


def test_environments_step_at_the_same_time():
    everyone_is_here = threading.Barrier(4, timeout=30)

    class Meeting(Echo):
        def respond(self, instance, conversation):
            everyone_is_here.wait()
            return super().respond(instance, conversation)

    completed = rollout(Predictor(say_digits), instances(4), Meeting, sampling=SAMPLING, threads=4)
    assert all(c.was_correct for c in completed)


def test_a_slow_conversation_holds_up_nobody():
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

    def answer(conversation):
        if "3" in conversation[0].content:
            raise TimeoutError("no reply")
        return say_digits(conversation)

    completed = rollout(Remote(answer), instances(5), Echo, sampling=SAMPLING)
    assert [c.error for c in completed] == [
        None,
        "predictor: RuntimeError: queue is full",
        "predictor: CancelledError: ",
        "predictor: TimeoutError: no reply",
        None,
    ]


@pytest.mark.parametrize("threads", [1, 4])
def test_when_the_server_is_gone_the_open_calls_are_cancelled(threads):
    never = [Future() for _ in range(6)]

    class Remote(Submitting):
        def submit(self, conversation, sampling):
            k = int(conversation[0].content[4])
            if k == 5:
                raise ServerError("gone")
            return never[k]

    with pytest.raises(ServerError, match="gone"):
        rollout(Remote(say_digits), instances(6), Echo, sampling=SAMPLING, threads=threads)
    assert all(future.cancelled() for future in never[:5])


def test_many_conversations_of_many_turns_all_end_with_many_threads():
    answers = ThreadPoolExecutor(8)

    class Remote(Submitting):
        def submit(self, conversation, sampling):
            return answers.submit(self.answer, conversation)

    completed = rollout(
        Remote(say_how_many_came_before), instances(60), Countdown, sampling=SAMPLING, threads=8
    )
    assert [c.reward for c in completed] == [(k + 1) / 10 if k < 32 else 0.0 for k in range(60)]


def test_when_a_predictor_breaks_its_contract_the_open_calls_are_cancelled():
    never = [Future() for _ in range(2)]

    class Remote(Submitting):
        def submit(self, conversation, sampling):
            if "2" in conversation[0].content:
                future = Future()
                future.set_result("no reply")
                return future
            return never[int(conversation[0].content[4])]

    with pytest.raises(PredictionError):
        rollout(Remote(say_digits), instances(3), Echo, sampling=SAMPLING, threads=1)
    assert all(future.cancelled() for future in never)
