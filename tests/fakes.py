"""Students and teachers that answer from a script."""

import json
from typing import Any

import numpy as np

from dataenvgym.errors import BudgetSpentError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance
from dataenvgym.records.plans import Situation
from dataenvgym.students.predictors import ScriptedPredictor


class Speaker:
    """Answers each conversation with `say(text of the last message, sampling)`, or in turn.

    An answer is a text, a `Reply`, a `Failure`, an exception, which is raised, or else JSON.

    Attributes:
        asked: the last text of each conversation that was answered.
        rounds: the conversations of each call.
        samplings: the sampling parameters of each call.
        budget: how many conversations are answered until it is spent.
    """

    def __init__(self, *say: Any, budget: int = 10**6):
        answers = iter(say)
        self.say = say[0] if callable(say[0]) else lambda text, sampling: next(answers)
        self.budget = budget
        self.asked = []
        self.rounds = []
        self.samplings = []

    @property
    def sizes(self):
        return [len(conversations) for conversations in self.rounds]

    def answer(self, conversations, sampling):
        self.rounds.append(conversations)
        self.samplings.append(sampling)
        if conversations and not self.budget:
            raise BudgetSpentError("the budget is spent")
        return [self._reply(conversation[-1].content, sampling) for conversation in conversations]

    def _reply(self, text, sampling):
        if not self.budget:
            return Failure(reason="the budget is spent")
        self.budget -= 1
        self.asked.append(text)
        said = self.say(text, sampling)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, (Reply, Failure)):
            return said
        return Reply(text=said if isinstance(said, str) else json.dumps(said))


class Student(Speaker):
    """A speaker that is asked as a student."""

    def predict(self, conversations, sampling):
        return self.answer(conversations, sampling)


class Teacher(Speaker):
    """A speaker that is asked as a teacher, and counts what was malformed."""

    def __init__(self, *say: Any, budget: int = 10**6):
        super().__init__(*say, budget=budget)
        self.purposes = set()
        self.malformed = 0

    def ask(self, conversations, sampling, *, purpose):
        self.purposes.add(purpose)
        return self.answer(conversations, sampling)

    def count_malformed(self, n: int = 1):
        self.malformed += n


class Knowing(Student):
    """Answers from a table, in the form that is asked for."""

    def __init__(self, answers, form="#### {}"):
        super().__init__(lambda question, sampling: form.format(answers[question]))


class Wavering(Student):
    """Answers rightly as often as `rates` says of a skill; fails at the skills in `failing`.

    `solve(question)` tells the skill and the answer.
    """

    def __init__(self, solve, rates, default=0.0, failing=(), wrong="no idea"):
        super().__init__(self._guess)
        self.solve = solve
        self.rates = rates
        self.default = default
        self.failing = failing
        self.wrong = wrong

    def predict(self, conversations, sampling):
        self.rng = np.random.default_rng(sampling.seed)
        return super().predict(conversations, sampling)

    def _guess(self, question, sampling):
        skill, answer = self.solve(question)
        chance = self.rng.random()
        if skill in self.failing:
            return Failure(reason="away")
        return f"#### {answer}" if chance < self.rates.get(skill, self.default) else self.wrong


class Trying:
    """Answers a conversation with `say(conversation, n)` in its n-th try, from 0: its n-th seed."""

    def __init__(self, say):
        self.say = say
        self.seeds = []
        self.n_asked = 0

    def predict(self, conversations, sampling):
        if sampling.seed not in self.seeds:
            self.seeds.append(sampling.seed)
        self.n_asked += len(conversations)
        n = self.seeds.index(sampling.seed)
        said = [self.say(conversation, n) for conversation in conversations]
        return [one if isinstance(one, Failure) else Reply(text=one) for one in said]


def turn_of(conversation):
    """How many turns the student has had."""
    return sum(message.role == "assistant" for message in conversation)


def lost(question, sampling):
    """The reply of a student after its server is lost."""
    return Failure(reason="HTTP 503")


def begun(environment, *, resume=False):
    """The environment with an episode of seed 0."""
    environment.reset(seed=0, options={"resume": True} if resume else None)
    return environment


def tried(instance=None, *, right=False, said=None, **fields):
    """An evaluated instance, or one with these fields: right, wrong, or failed (None).

    `said` is the student's reply to it.
    """
    if instance is None:
        named = fields.get("instruction") or fields.get("id") or "q"
        instance = TaskInstance(**{"id": named, "task": "t", "instruction": named, **fields})
    asked = Message(role="user", content=instance.instruction)
    transcript = () if said is None else (asked, Message(role="assistant", content=said))
    return CompletedTaskInstance(
        instance=instance,
        transcript=transcript,
        reward=float(bool(right)),
        was_correct=bool(right),
        error="timeout" if right is None else None,
    )


def situation(completed=(), skills=(), predictor=None):
    """What a policy sees; the student, if asked, says nothing."""
    return Situation(completed, skills, predictor or ScriptedPredictor(lambda conversation: ""))


def files_below(folder):
    """The contents of all files in a folder, by path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
