"""The base of the pocket families of all domains.

A family has skills. It asks for each of them in several plain-word phrasings and in symbols, draws
any number of exercises, and can parse its own questions. The pocket student is pretrained on
exercises; the embedded teacher (`PocketEngine`) writes records of them.

Exercises of different splits never share their operands or names: see the family.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

import numpy as np

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Message,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    Tool,
)
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.record_conversion import chat_record
from dataenvgym.tasks.source import ProceduralSource, Split


@dataclass(frozen=True)
class Exercise:
    """A question and its gold reply.

    Attributes:
        phrasing: its wording, with `{...}` for its subject; None if it is in symbols.
        output: the student's last message.
        steps: the calls and results before that message, if the family has tools.
    """

    skill: str
    phrasing: str | None
    question: str
    output: str
    steps: Conversation = ()


ProblemT = TypeVar("ProblemT", bound=Any)
"""A problem without wording: its `skill` (with `name`, `category` and `phrasings`), `answer` and
`output`, its gold reply, and `worded(phrasing)`, its question in that phrasing or in symbols."""


class PocketFamily(ABC, Generic[ProblemT]):
    """A procedural family of problems.

    Attributes:
        name: the name of its task.
        tools: for its problems.
        is_chat: a record is a whole conversation, as it always is with tools.
        wordings: texts that its students read or write, besides those of its exercises.
    """

    name: str
    tools: tuple[Tool, ...] = ()
    is_chat: bool = False
    wordings: tuple[str, ...] = ()

    # --- what a domain says ---

    @property
    @abstractmethod
    def skills(self) -> Mapping[str, Any]:
        """The skills by name."""

    @abstractmethod
    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> ProblemT:
        """A random problem of that skill and split."""

    @abstractmethod
    def find(self, question: str) -> tuple[ProblemT, str] | None:
        """The problem and the phrasing of a question in plain words; None if not recognized."""

    @abstractmethod
    def holds(self, exercise: Exercise, output: str) -> bool:
        """Whether `output` is right as the first message, as far as we know without running it."""

    def fields(
        self, problem: ProblemT, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """The fields of the problem's instance, except its question."""
        return {"answer": problem.answer, "category": problem.skill.category}

    def steps(self, problem: ProblemT) -> Conversation:
        """The calls and results that come before the problem's output."""
        return ()

    # --- what it offers ---

    @cached_property
    def phrasings(self) -> Mapping[str, Sequence[str]]:
        """The phrasings of each skill."""
        return {name: skill.phrasings for name, skill in self.skills.items()}

    def draw(
        self,
        skill: str,
        split: Split,
        rng: np.random.Generator,
        *,
        phrasing: str | None = None,
        symbols: bool = False,
    ) -> Exercise:
        """A random exercise of that split: worded as `phrasing`, in `symbols`, or at random."""
        problem = self.pose(skill, split, rng)
        if phrasing is None and not symbols:
            phrasing = self._any_phrasing(skill, rng)
        return self._exercise(problem, phrasing)

    def practice(self, skill: str, rng: np.random.Generator, *, symbols: bool) -> Exercise:
        """An exercise of the training split, to pretrain a student on."""
        return self.draw(skill, "train", rng, symbols=symbols)

    def draw_instance(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        """A random problem for a `ProceduralSource`."""
        problem = self.pose(skill, split, rng)
        question = problem.worded(self._any_phrasing(skill, rng))
        return question, partial(self.fields, problem, question, rng)

    def source(self, sizes: Mapping[Split, int], *, seed: int) -> ProceduralSource:
        """Problems of the family, the skills in equal shares."""
        return ProceduralSource(
            self.name, tuple(self.skills), self.draw_instance, sizes=sizes, seed=seed
        )

    def read(self, question: str) -> Exercise | None:
        """The exercise of a question in plain words, or None if it is not recognized."""
        found = self.find(question)
        return None if found is None else self._exercise(*found)

    def instance(self, question: str, *, id: str = "record") -> TaskInstance | None:
        """The instance that a question in plain words puts, or None if it is none."""
        if (found := self.find(question)) is None:
            return None
        return TaskInstance(
            id=id,
            task=self.name,
            instruction=question,
            skill=found[0].skill.name,
            **self.fields(found[0], question, derive_rng(0, self.name)),
        )

    def reworded(self, exercise: Exercise, phrasing: str) -> Exercise:
        """The same exercise (one in plain words) in another phrasing of its skill."""
        found = self.find(exercise.question)
        assert found is not None, exercise
        return self._exercise(found[0], phrasing)

    def record(
        self, exercise: Exercise, domain: Domain, provenance: Provenance
    ) -> SupervisedDatum | ChatDatum:
        """The record that teaches an exercise, in the prompt of the domain."""
        if not self.tools and not self.is_chat:
            plain = SupervisedDatum(
                instruction=exercise.question, output=exercise.output, provenance=provenance
            )
            return domain.frame(plain)
        conversation = self.conversation(exercise, domain.prompt_template)
        record = chat_record(conversation, provenance)
        assert record is not None, exercise
        return record

    def conversation(self, exercise: Exercise, template: PromptTemplate = PLAIN) -> Conversation:
        """The exercise from its question to the student's last message."""
        first, *others = template.conversation(exercise.question)
        return (
            first.model_copy(update={"tools": self.tools}),
            *others,
            *exercise.steps,
            Message(role="assistant", content=exercise.output),
        )

    def _any_phrasing(self, skill: str, rng: np.random.Generator) -> str:
        phrasings = self.phrasings[skill]
        return phrasings[int(rng.integers(len(phrasings)))]

    def _exercise(self, problem: ProblemT, phrasing: str | None) -> Exercise:
        question = problem.worded(phrasing)
        name, steps = problem.skill.name, self.steps(problem)
        return Exercise(name, phrasing, question, problem.output, steps)


def split_by_hash(key: str) -> Split:
    """The one split of everything with that key (70:15:15)."""
    digest = hashlib.sha256(key.encode()).digest()
    share = int.from_bytes(digest[:4], "big") / 2**32
    return "train" if share < 0.7 else "validation" if share < 0.85 else "test"


def family_of(task: Task) -> PocketFamily[Any]:
    """The family of a pocket task; ConfigurationError if the task does not have one."""
    family: PocketFamily[Any] | None = getattr(task.domain, "family", None)
    if family is None:
        raise ConfigurationError(
            f"task {task.name!r} has no pocket family: only records of pocket tasks can be written "
            "by rules. Choose agent=gold (gold answers), agent/engine=llm with a teacher, another "
            "engine (`dataenvgym list agent/engine`), your own agent (agent=my_module.MyAgent), or "
            "a pocket task such as task=pocket_math"
        )
    return family


@cache
def families() -> tuple[PocketFamily[Any], ...]:
    """The pocket families of all installed domains (entry points `dataenvgym.pocket_families`)."""
    return tuple(point.load() for point in entry_points(group="dataenvgym.pocket_families"))


def read_exercise(question: str) -> Exercise | None:
    """The exercise of a question in plain words, from any family, or None.

    Families do not share phrasings.
    """
    return next((e for family in families() if (e := family.read(question)) is not None), None)


def find_skill(family: PocketFamily[Any], name: str) -> str:
    """`name`, if the family has a skill of that name; ConfigurationError if it does not."""
    if name not in family.phrasings:
        raise ConfigurationError(
            f"{family.name} has no skill {name!r}.{did_you_mean(name, family.phrasings)} "
            f"It has: {', '.join(family.phrasings)}."
        )
    return name
