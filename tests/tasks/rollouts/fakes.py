"""Fake predictors for both ways of driving, and small real environments."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message, TaskInstance
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
    """Answers each conversation with a function of it, and records all requests."""

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
