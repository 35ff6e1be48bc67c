"""The base of pocket families whose questions name operands, such as "Carry the {a} to the {x}.".

An operand is a name from one of the family's pools, or a digit, so a question can be parsed from
its text alone. `split_of` assigns the sorted operands of a problem to exactly one split, for all
skills and phrasings.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.source import Split

Operands = Mapping[str, str | int]
_OPEN = re.compile(r"{(\w)}")


@dataclass(frozen=True)
class OperandSkill(ABC):
    """A kind of request, in three phrasings and in symbols: `symbol` and its operands."""

    name: str
    category: str
    symbol: str
    phrasings: tuple[str, ...]

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its operands, sorted."""
        return tuple(sorted(_OPEN.findall(self.phrasings[0])))

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Operands:
        """Random operands; operands from the same pool differ."""

    def in_symbols(self, operands: Operands) -> str:
        """The question in symbols, e.g. `carry tea mill =`."""
        return " ".join([self.symbol, *(str(operands[name]) for name in self.operands), "="])


SkillT = TypeVar("SkillT", bound=OperandSkill)


@dataclass(frozen=True)
class OperandProblem(ABC, Generic[SkillT]):
    """A skill and its operands, which are sorted by name."""

    skill: SkillT
    operands: Operands

    @property
    @abstractmethod
    def output(self) -> str:
        """The student's last message."""

    @property
    def answer(self) -> str:
        return self.output

    def worded(self, phrasing: str | None) -> str:
        if phrasing is None:
            return self.skill.in_symbols(self.operands)
        return phrasing.format_map(self.operands)


ProblemT = TypeVar("ProblemT", bound=OperandProblem[Any])


class OperandFamily(PocketFamily[ProblemT]):
    """A family that parses its questions by their operands.

    Attributes:
        pools: operand -> its possible names; every other operand is a digit from 1 to 9.
        split_key: its splits are derived from this and the operands.
    """

    pools: Mapping[str, tuple[str, ...]]
    split_key: str

    @abstractmethod
    def problem(self, skill: str, operands: Operands) -> ProblemT:
        """The problem of that skill on these operands."""

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> ProblemT:
        while True:
            operands = self.skills[skill].draw(rng)
            if self.split_of(operands.values()) == split:
                return self.problem(skill, operands)

    def find(self, question: str) -> tuple[ProblemT, str] | None:
        found = self._shapes.get(self._operand.sub(lambda m: _slot(m.lastgroup), question))
        if found is None:
            return None
        skill, phrasing = found
        values = [int(v) if v.isdigit() else v for v in self.operands_in(question)]
        operands = dict(sorted(zip(_OPEN.findall(phrasing), values, strict=True)))
        return self.problem(skill, operands), phrasing

    def holds(self, exercise: Exercise, output: str) -> bool:
        return not exercise.steps and output.strip() == exercise.output

    def operands_in(self, text: str) -> tuple[str, ...]:
        """The names and digits in a text, in their order."""
        return tuple(found[0] for found in self._operand.finditer(text))

    def split_of(self, operands: Iterable[str | int]) -> Split:
        """The one split that problems on these operands, in any order, belong to."""
        return split_by_hash(f"{self.split_key} {' '.join(sorted(map(str, operands)))}")

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, ...], str]:
        """The last operand of each pool, by pool."""
        return {pool: name for name, pool in self.pools.items()}

    @cached_property
    def _operand(self) -> re.Pattern[str]:
        kinds = (f"(?P<{kind}>{'|'.join(pool)})" for pool, kind in self._kinds.items())
        return re.compile(rf"\b(?:{'|'.join(kinds)}|[1-9])\b")

    @cached_property
    def _shapes(self) -> Mapping[str, tuple[str, str]]:
        """The skill and phrasing by the phrasing with the kinds of its operands in their place."""
        kinds = {name: self._kinds[pool] for name, pool in self.pools.items()}
        return {
            _OPEN.sub(lambda m: _slot(kinds.get(m[1])), phrasing): (name, phrasing)
            for name, skill in self.skills.items()
            for phrasing in skill.phrasings
        }


def _slot(kind: str | None) -> str:
    return f"{{{kind or 'digit'}}}"
