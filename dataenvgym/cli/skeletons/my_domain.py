"""A domain, which defines one kind of problem, with a source of such problems.

Change the environment (it runs a conversation), the domain (it compares answers and
gives right ones) and the source.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from dataenvgym import Message, Outcome, Task, TaskEnvironment, TaskInstance
from dataenvgym.tasks import Domain, Source
from dataenvgym.tasks.source import Split


class MyEnvironment(TaskEnvironment):
    """The student has two tries; after the first wrong one it gets a hint."""

    max_turns = 2

    def respond(
        self,
        instance: TaskInstance,
        conversation: tuple[Message, ...],
    ) -> Outcome:
        """Score the student's message, or answer it."""
        said = read_number(conversation[-1].content)
        if said == instance.answer:
            n_tries = sum(message.role == "assistant" for message in conversation)
            scores = {"tries": float(n_tries)}
            return Outcome(reward=1.0 / n_tries, was_correct=True, scores=scores)
        if said is None:
            return self.again("Reply with a number.")
        is_small = int(said) < int(instance.answer or 0)
        return self.again("Too small." if is_small else "Too large.")

    def again(self, hint: str) -> Outcome:
        """Another try; at `max_turns` the problem ends unsolved."""
        return Outcome(messages=(Message(role="user", content=hint),), done=False)


class MyDomain(Domain):
    """Lists to be counted, answered with a number."""

    answer_form = "Reply with the number only."

    def make_environment(
        self,
        instances: Sequence[TaskInstance] = (),
    ) -> MyEnvironment:
        """A new environment for one problem at a time."""
        return MyEnvironment(instances)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The answer in a reply, in a form in which equal answers are equal texts."""
        return read_number(reply)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        """Replies that solve the problem; gold records use the first one."""
        if instance.answer is not None:
            yield instance.answer


class MySource(Source):
    """Lists of two to five digits; each split has its own."""

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of a split, the same ones each time."""
        rng = random.Random(0)
        lists = [rng.sample("0123456789", rng.randint(2, 5)) for _ in range(400)]
        texts = list(dict.fromkeys(map(" ".join, lists)))  # no two splits share one
        parts = {
            "train": texts[:200],
            "validation": texts[200:250],
            "test": texts[250:300],
        }
        return [self.make(text) for text in parts[split]]

    def make(self, text: str) -> TaskInstance:
        """One problem."""
        n = len(text.split())
        return TaskInstance(
            id=text,
            task="my_domain",
            instruction=f"How many numbers are these: {text}?",
            answer=str(n),
            skill="short" if n < 4 else "long",
        )


class MyTask(Task):
    """The source and the domain together."""

    name = "my_domain"

    def __init__(self, split: Split = "validation") -> None:
        super().__init__(MySource(), MyDomain(), split=split)


def read_number(text: str) -> str | None:
    """The last whole number in a text, or None."""
    words = text.replace(".", " ").split()
    return next((str(int(word)) for word in reversed(words) if word.isdecimal()), None)
