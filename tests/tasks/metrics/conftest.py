"""A task of several turns, and students that answer by rule."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Conversation, Message, TaskInstance
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks import Outcome, Task, TaskEnvironment

SAMPLED = SamplingParameters(temperature=1.0)


class GuessEnvironment(TaskEnvironment):
    """The student guesses a number in at most two tries; the reply is "higher" or "lower"."""

    max_turns: ClassVar[int] = 2

    def __init__(self, instances: Sequence[TaskInstance] = (), hint: str = "{}", tries: int = 2):
        super().__init__(instances)
        self.hint = hint
        self.tries = tries

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        guess, tries = int(conversation[-1].content), len(conversation) // 2
        right = guess == int(instance.answer or 0)
        if right or tries == self.tries:
            return Outcome(reward=float(right), was_correct=right)
        word = "higher" if guess < int(instance.answer or 0) else "lower"
        return Outcome(messages=(Message(role="user", content=self.hint.format(word)),), done=False)


class GuessTask(Task):
    """Numbers from 0 to 9 to be guessed."""

    name = "guess"

    def __init__(self, n: int = 5, *, hint: str = "{}", tries: int = 2, **options: Any) -> None:
        super().__init__(**{"sampling": SAMPLED, **options})
        self.n = n
        self.hint = hint
        self.tries = tries

    def load(self, split: str) -> list[TaskInstance]:
        return [
            TaskInstance(
                id=f"{split}-{i}", task=self.name, instruction=f"Number {i}?", answer=str(i % 10)
            )
            for i in range(self.n)
        ]

    def make_environment(self) -> GuessEnvironment:
        return GuessEnvironment(self.instances, self.hint, self.tries)


class Guesser:
    """Answers 0 to 9 by the conversation and the seed, as a student that draws its replies.

    Attributes:
        asked: how many conversations it was asked.
        fails: says whether a call fails.
    """

    def __init__(self, fails: Callable[[int], bool] = lambda asked: False) -> None:
        self.asked = 0
        self.fails = fails

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [self._answer(c, sampling) for c in conversations]

    def _answer(self, conversation: Conversation, sampling: SamplingParameters) -> Reply | Failure:
        self.asked += 1
        if self.fails(self.asked):
            return Failure(reason="the line is dead")
        text = "|".join(message.content for message in conversation)
        return Reply(text=str(derive_rng(sampling.seed, text).integers(10)))


def complete(
    reply: str, *, error: str | None = None, right: bool = False, **data: Any
) -> CompletedTaskInstance:
    """A completed instance with that reply."""
    instance = TaskInstance(**{"id": "i", "task": "t", "instruction": "?", "answer": "1", **data})
    said = (Message(role="user", content="?"), Message(role="assistant", content=reply))
    return CompletedTaskInstance(
        instance=instance, transcript=said, reward=float(right), was_correct=right, error=error
    )


@pytest.fixture
def guess_task():
    return GuessTask


@pytest.fixture
def task():
    return GuessTask()


@pytest.fixture
def guesser():
    return Guesser


@pytest.fixture
def completed():
    """Makes a completed instance with a reply."""
    return complete
