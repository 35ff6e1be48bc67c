"""Self-teaching: the student's own answers to new problems become its records.

The student answers problems of the task's training split several times, and an engine picks the
answer to learn from, if there is one. `SelfAnswersEngine` is all of it but the picking:

- `SelfConsistencyEngine` (self_consistency) picks what the student says most often;
- `RejectionSamplingEngine` (rejection_sampling) picks what the task's scorer calls right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.engines.gold_records import record_of_prompt, train_instances
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    EnvironmentInterface,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TaskInterface,
)
from dataenvgym.plans import Assignment, Plan
from dataenvgym.progress import tell
from dataenvgym.records import Conversation, SupervisedDatum, TaskInstance
from dataenvgym.seeding import derive_seed


class SelfAnswersEngine(ABC):
    """Writes records from the student's own answers; a subclass says which (`pick`).

    An assignment with a skill gets problems of that skill; one with examples, problems of their
    skill where it is known; any other, problems of all kinds. A problem becomes a record once.

    Args:
        task: whose training split has the problems, each answered in one turn.
        samples: how many answers the student gives to each problem.
        temperature: how the student draws its answers; above 0.
        tries: how many problems are tried for each record that is wanted, at most.
    """

    chooses = True

    def __init__(
        self,
        task: TaskInterface,
        *,
        samples: int = 8,
        temperature: float = 1.0,
        tries: int = 4,
    ) -> None:
        for name, value in (("samples", samples), ("tries", tries)):
            if value < 1:
                raise ConfigurationError(f"{name} is {value}, expected 1 or more")
        if temperature <= 0:
            raise ConfigurationError(
                f"temperature is {temperature}, expected more than 0: greedy answers are all alike"
            )
        self.task: Any = task
        self.samples = samples
        self.tries = tries
        own = getattr(task, "sampling", SamplingParameters(max_tokens=1024))
        self.sampling = own.model_copy(update={"temperature": temperature, "top_p": 1.0})
        self._used: set[str] = set()

    # --- what a subclass says ---

    @abstractmethod
    def pick(
        self, problem: TaskInstance, answers: Sequence[str], environment: EnvironmentInterface
    ) -> str | None:
        """The one of the student's answers to learn from, or None.

        Args:
            answers: at most `samples` of them; calls that failed have none.
            environment: one of the task's, to be reset to the problem by whoever needs it.
        """

    # --- what an agent asks ---

    @property
    def skills(self) -> Sequence[str]:
        """The skills of the training split."""
        return tuple(sorted({p.skill for p in train_instances(self.task) if p.skill}))

    def prepare(self) -> None:
        """Load the training split.

        Raises:
            ConfigurationError: if the task has none, or puts no problems.
        """
        train_instances(self.task)
        if not hasattr(self.task, "make_environment"):
            raise ConfigurationError(
                f"{type(self.task).__name__} has no `make_environment`, which puts a problem to "
                "the student: give it one, or choose another engine"
            )

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[SupervisedDatum]:
        """The records of the plan; fewer where answers to learn from are rare."""
        seed = int(rng.integers(2**31))
        wishes = _by_skill(plan)
        problems = train_instances(self.task)
        order = [problems[int(i)] for i in rng.permutation(len(problems))]
        left = {skill: self.tries * count for skill, count in wishes.items()}
        records: list[SupervisedDatum] = []
        tried: set[str] = set()
        wave = 0
        while chosen := self._choose(order, tried, wishes, left):
            tried |= {problem.id for problem, _ in chosen}
            found = self._answered([p for p, _ in chosen], predictor, derive_seed(seed, wave))
            for (problem, skill), record in zip(chosen, found, strict=True):
                left[skill] -= 1
                if record is not None and wishes[skill]:
                    wishes[skill] -= 1
                    self._used.add(problem.id)
                    records.append(record)
            wave += 1
            tell(f"self-teaching: {len(records)} records from {len(tried)} problems")
        return records

    def state_dict(self) -> dict[str, JsonValue]:
        return {"used": [*sorted(self._used)]}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        used = state["used"]
        assert isinstance(used, list)
        self._used = {str(name) for name in used}

    def _choose(
        self,
        order: Sequence[TaskInstance],
        tried: set[str],
        wishes: dict[str | None, int],
        left: dict[str | None, int],
    ) -> list[tuple[TaskInstance, str | None]]:
        """For each skill as many new problems as it wants records, or may still try."""
        rooms = {skill: min(count, left[skill]) for skill, count in wishes.items()}
        chosen: list[tuple[TaskInstance, str | None]] = []
        for problem in order:
            if problem.id in tried or problem.id in self._used:
                continue
            skill = problem.skill if rooms.get(problem.skill) else None
            if rooms.get(skill):
                rooms[skill] -= 1
                chosen.append((problem, skill))
        return chosen

    def _answered(
        self, problems: Sequence[TaskInstance], predictor: PredictorInterface, seed: int
    ) -> list[SupervisedDatum | None]:
        """For each problem the record of the answer that was picked, if any."""
        environment = self.task.make_environment()
        try:
            asked = [
                environment.reset(seed=0, options={"instance": problem})[0] for problem in problems
            ]
            answers = self._sampled(asked, predictor, seed)
            picked = [
                self.pick(problem, said, environment)
                for problem, said in zip(problems, answers, strict=True)
            ]
        finally:
            environment.close()
        return [
            None if text is None else record_of_prompt(conversation, text, problem.skill)
            for problem, conversation, text in zip(problems, asked, picked, strict=True)
        ]

    def _sampled(
        self, asked: Sequence[Conversation], predictor: PredictorInterface, seed: int
    ) -> list[list[str]]:
        answers: list[list[str]] = [[] for _ in asked]
        for sample in range(self.samples):
            sampling = self.sampling.model_copy(update={"seed": derive_seed(seed, sample) % 2**31})
            for said, reply in zip(answers, predictor.predict(asked, sampling), strict=True):
                if isinstance(reply, Reply):
                    said.append(reply.text)
        return answers


def _by_skill(plan: Plan) -> dict[str | None, int]:
    """How many records of each skill; None is of any."""
    wishes: Counter[str | None] = Counter()
    for assignment in plan:
        wishes[_skill_of(assignment)] += assignment.count
    return dict(wishes)


def _skill_of(assignment: Assignment) -> str | None:
    if assignment.skill is not None:
        return assignment.skill
    skills = {example.instance.skill for example in assignment.examples}
    return skills.pop() if len(skills) == 1 else None
