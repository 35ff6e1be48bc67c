"""Students for tests of requests to a student and uses of its answers."""

import numpy as np

from dataenvgym.interfaces import Failure, Reply


class Student:
    """Answers each question with `say(question, sampling)`, a text or a `Failure`.

    Attributes:
        asked: the questions of each call.
        samplings: the sampling parameters of each call.
    """

    def __init__(self, say):
        self.say = say
        self.asked = []
        self.samplings = []

    @property
    def n_asked(self):
        return sum(map(len, self.asked))

    @property
    def temperatures(self):
        return {sampling.temperature for sampling in self.samplings}

    def predict(self, conversations, sampling):
        questions = [c[-1].content for c in conversations]
        self.asked.append(questions)
        self.samplings.append(sampling)
        said = [self.say(question, sampling) for question in questions]
        return [Reply(text=text) if isinstance(text, str) else text for text in said]


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


def lost(question, sampling):
    """The reply of a student after its server is lost."""
    return Failure(reason="HTTP 503")
