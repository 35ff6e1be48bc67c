"""The student's observations and actions: conversations and text."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import Error
from pydantic import TypeAdapter

from dataenvgym.records import Conversation, Message

T = TypeVar("T")


class RecordSpace(gymnasium.Space[T], Generic[T]):
    """A space of Python objects that pydantic reads and writes.

    A subclass defines its `adapter`, `contains` and `draw`. Spaces of one class are equal.
    """

    adapter: ClassVar[TypeAdapter[Any]]

    @abstractmethod
    def contains(self, x: Any) -> bool:
        """Whether `x` is an element; nothing is parsed or converted."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> T:
        """A sensible element."""

    def sample(self, mask: None = None, probability: None = None) -> T:
        """A sensible element, drawn with the space's own generator (see `seed`).

        Raises:
            gymnasium.error.Error: for a mask or probabilities, which these spaces do not support.
        """
        if mask is not None or probability is not None:
            raise Error(
                f"{type(self).__name__}.sample takes neither mask nor probability, "
                f"got mask={mask!r}, probability={probability!r}"
            )
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


def is_tuple_of(value: Any, *models: type) -> bool:
    """Whether `value` is a tuple whose items are all instances of `models`."""
    return isinstance(value, tuple) and all(isinstance(item, models) for item in value)


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
        problem = draw_problem(rng)
        return problem.question if rng.random() < 0.5 else problem.solution


class ConversationSpace(RecordSpace[Conversation]):
    """Conversations: tuples of `Message`, oldest first."""

    adapter = TypeAdapter(Conversation)

    def contains(self, x: Any) -> bool:
        return is_tuple_of(x, Message)

    def draw(self, rng: np.random.Generator) -> Conversation:
        problem = draw_problem(rng)
        conversation: Conversation = (Message(role="user", content=problem.question),)
        if rng.random() < 0.5:
            conversation += (Message(role="assistant", content=problem.solution),)
        return conversation


TASK = "sample"
SKILLS = {
    "addition": ("+", operator.add),
    "subtraction": ("−", operator.sub),  # noqa: RUF001
    "multiplication": ("×", operator.mul),  # noqa: RUF001
}
_QUESTIONS = (
    "What is {sum}?",
    "Wie viel ergibt {sum}? Prüfe es zweimal.",
    "Сколько будет {sum}?",
    "{sum} はいくつですか。",
    "كم يساوي {sum}؟",
    "{sum} = ? 🧮",
)


@dataclass(frozen=True)
class SampleProblem:
    """A question, its answer, and a solution that ends in the answer."""

    question: str
    answer: str
    skill: str

    @property
    def solution(self) -> str:
        return f"#### {self.answer}"


def draw_problem(rng: np.random.Generator) -> SampleProblem:
    """A problem on two numbers below 100."""
    skill = list(SKILLS)[int(rng.integers(len(SKILLS)))]
    sign, compute = SKILLS[skill]
    a, b = rng.integers(2, 100, 2).tolist()
    question = _QUESTIONS[int(rng.integers(len(_QUESTIONS)))]
    return SampleProblem(question.format(sum=f"{a} {sign} {b}"), str(compute(a, b)), skill)


def draw_skills(rng: np.random.Generator) -> list[str]:
    """One or more names of skills, sorted."""
    return sorted(rng.permutation(list(SKILLS))[: int(rng.integers(1, len(SKILLS) + 1))].tolist())
