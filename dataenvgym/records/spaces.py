"""Gymnasium spaces whose elements are our own records.

    TextSpace                 any Unicode text
    ConversationSpace         a conversation: a tuple of `Message`
    CompletedInstancesSpace   evaluated problems: a tuple of `CompletedTaskInstance`
    ReportSpace               one `PerformanceReport`
    RecordsSpace              a batch of training records: a tuple of `TrainingDatum`

An element is the frozen model itself, and a sequence is a tuple. Lists and dicts are not elements;
they are parsed before they reach a space. `sample()` draws small, sensible elements, not noise, so
gymnasium's checkers send what users send. `to_jsonable` and `from_jsonable` are inverse.

In a vector environment, n elements are a `gymnasium.spaces.Tuple` of n spaces. `SyncVectorEnv`
works with these spaces; `AsyncVectorEnv` needs `shared_memory=False`, because text has no fixed
size.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import Error
from pydantic import TypeAdapter

from dataenvgym.records.conversations import Conversation, Message
from dataenvgym.records.instances import CompletedTaskInstance, TaskInstance
from dataenvgym.records.reports import PerformanceReport, SkillReport
from dataenvgym.records.training import Datum, Provenance, SupervisedDatum, TrainingDatum

T = TypeVar("T")


class RecordSpace(gymnasium.Space[T], Generic[T]):
    """A space of Python objects that pydantic reads and writes. Spaces of one class are equal.

    A subclass defines `draw` and:

    Attributes:
        adapter: of an element.
        items: the classes of the items, if an element is a tuple.
    """

    adapter: ClassVar[TypeAdapter[Any]]
    items: ClassVar[tuple[type, ...]]

    def contains(self, x: Any) -> bool:
        """Whether `x` is an element; nothing is parsed or converted."""
        return isinstance(x, tuple) and all(isinstance(item, self.items) for item in x)

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> T:
        """A sensible element."""

    def sample(self, mask: None = None, probability: None = None) -> T:
        """A sensible element, drawn with the space's own generator (see `seed`).

        Raises:
            gymnasium.error.Error: for a mask or probabilities, which these spaces do not support.
        """
        if mask is not None or probability is not None:
            raise Error(f"{type(self).__name__}.sample takes neither mask nor probability")
        return self.draw(self.np_random)

    def to_jsonable(self, sample_n: Iterable[T]) -> list[Any]:
        """The elements as JSON values."""
        return [self.adapter.dump_python(element, mode="json") for element in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[T]:
        """The elements that `to_jsonable` wrote."""
        return [self.adapter.validate_python(value) for value in sample_n]

    @property
    def is_np_flattenable(self) -> bool:
        """False: elements have no fixed size."""
        return False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class TextSpace(RecordSpace[str]):
    """Any Unicode text, also the empty one.

    A lone surrogate is not Unicode text: UTF-8, and so every file and model, cannot represent it.
    """

    adapter = TypeAdapter(str)

    def contains(self, x: Any) -> bool:
        if not isinstance(x, str):
            return False
        return x.isascii() or not any("\ud800" <= character <= "\udfff" for character in x)

    def draw(self, rng: np.random.Generator) -> str:
        return draw_tries(rng)[0].transcript[int(rng.integers(2))].content


class ConversationSpace(RecordSpace[Conversation]):
    """Conversations: tuples of `Message`, oldest first."""

    adapter = TypeAdapter(Conversation)
    items = (Message,)

    def draw(self, rng: np.random.Generator) -> Conversation:
        return draw_tries(rng)[0].transcript[: int(rng.integers(1, 3))]


class CompletedInstancesSpace(RecordSpace[tuple[CompletedTaskInstance, ...]]):
    """Evaluated problems: tuples of `CompletedTaskInstance`."""

    adapter = TypeAdapter(tuple[CompletedTaskInstance, ...])
    items = (CompletedTaskInstance,)

    def draw(self, rng: np.random.Generator) -> tuple[CompletedTaskInstance, ...]:
        return draw_tries(rng)


class ReportSpace(RecordSpace[PerformanceReport]):
    """One `PerformanceReport`."""

    adapter = TypeAdapter(PerformanceReport)

    def contains(self, x: Any) -> bool:
        return isinstance(x, PerformanceReport)

    def draw(self, rng: np.random.Generator) -> PerformanceReport:
        skills = tuple(
            SkillReport(skill=skill, category=None, score=share, accuracy=share, n=8, n_errors=0)
            for skill, share in zip(draw_skills(rng), rng.integers(0, 9, 8) / 8, strict=False)
        )
        score = float(np.mean([skill.score for skill in skills]))
        return PerformanceReport(
            task=_TASK, score=score, accuracy=score, n=8 * len(skills), n_errors=0, skills=skills
        )


class RecordsSpace(RecordSpace[tuple[TrainingDatum, ...]]):
    """Batches of training records of any kind; a batch may be empty."""

    adapter = TypeAdapter(tuple[TrainingDatum, ...])
    items = (Datum,)

    def draw(self, rng: np.random.Generator) -> tuple[TrainingDatum, ...]:
        return tuple(
            SupervisedDatum(
                instruction=one.instance.instruction,
                output=one.transcript[1].content,
                provenance=Provenance(skill=one.instance.skill),
            )
            for one in draw_tries(rng)
        )


_TASK = "sample"
_SKILLS = {
    "addition": ("+", operator.add),
    "subtraction": ("−", operator.sub),  # noqa: RUF001
    "multiplication": ("×", operator.mul),  # noqa: RUF001
}
_QUESTIONS = (
    "What is {}?",
    "Wie viel ergibt {}? Prüfe es zweimal.",
    "{} はいくつですか。",
    "{} = ? 🧮",
)


def draw_tries(rng: np.random.Generator) -> tuple[CompletedTaskInstance, ...]:
    """One to four problems on two numbers below 100, half of them solved."""
    tries = []
    for number in range(int(rng.integers(1, 5))):
        skill = list(_SKILLS)[int(rng.integers(len(_SKILLS)))]
        sign, compute = _SKILLS[skill]
        a, b = rng.integers(2, 100, 2).tolist()
        question = _QUESTIONS[int(rng.integers(len(_QUESTIONS)))].format(f"{a} {sign} {b}")
        answer, is_right = str(compute(a, b)), bool(rng.integers(2))
        reply = f"#### {answer}" if is_right else "? 🤷"
        tries.append(
            CompletedTaskInstance(
                instance=TaskInstance(
                    id=f"{_TASK}-{number}",
                    task=_TASK,
                    instruction=question,
                    answer=answer,
                    skill=skill,
                ),
                transcript=(
                    Message(role="user", content=question),
                    Message(role="assistant", content=reply),
                ),
                reward=float(is_right),
                was_correct=is_right,
            )
        )
    return tuple(tries)


def draw_skills(rng: np.random.Generator) -> list[str]:
    """One or more names of skills, sorted."""
    return sorted(rng.permutation(list(_SKILLS))[: int(rng.integers(1, len(_SKILLS) + 1))].tolist())
