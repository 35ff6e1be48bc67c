"""Pocket tools: the small, seeded, procedural family of the tool-use domain.

A request in plain words, one to three calls that change the village or look into it, a short final
answer: 20 skills in 5 categories. What the village is like in a problem depends on the problem's
operands alone, so that a question can be read back.

Training, validation and test never share operands: `split_of` assigns the sorted operands of a
problem (goods, places, digits) to exactly one split, whatever the skill or the phrasing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from dataenvgym.records import Conversation, Message, ToolCall
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.source import Split
from dataenvgym.tasks.tool_use.pocket_skills import SKILLS, Operands, PocketToolsSkill
from dataenvgym.tasks.tool_use.village import GOODS, PLACES, Village, offer_id

VILLAGE = Village()
DONE = "done"
_OPERAND = re.compile(rf"\b(?:(?P<good>{'|'.join(GOODS)})|(?P<place>{'|'.join(PLACES)})|[1-9])\b")


@dataclass(frozen=True)
class PocketToolsProblem:
    """A skill and what it is about."""

    skill: PocketToolsSkill
    operands: Operands

    @property
    def answer(self) -> str:
        """The final answer: numbers or places, or `done` where nothing has to be said."""
        return self._solution[1] or DONE

    @property
    def output(self) -> str:
        return DONE if self._solution[1] is None else f"#### {self._solution[1]}"

    @property
    def steps(self) -> Conversation:
        """The gold calls and their results."""
        return self._solution[0]

    @property
    def state(self) -> dict[str, Any]:
        """How the village differs from its initial state: where the goods are, and offers."""
        return self._changes

    def worded(self, phrasing: str | None) -> str:
        return (
            self.skill.in_symbols(self.operands)
            if phrasing is None
            else phrasing.format_map(self.operands)
        )

    @cached_property
    def _changes(self) -> dict[str, Any]:
        goods = [v for v in self.operands.values() if v in GOODS]
        places = [v for v in self.operands.values() if v in PLACES]
        rng = derive_rng(0, "pocket-tools", *(self.operands[name] for name in self.skill.operands))
        homes = [place for place in rng.permutation(PLACES).tolist() if place not in places]
        amounts, prices = (rng.permutation(9)[: len(places)] + 1 for _ in range(2))
        return {
            "goods": {good: {"place": home} for good, home in zip(goods, homes, strict=False)},
            "offers": {
                offer_id(good, place): {"amount": int(amount), "price": int(price)}
                for good in goods
                for place, amount, price in zip(places, amounts, prices, strict=True)
            },
        }

    @cached_property
    def _solution(self) -> tuple[Conversation, str | None]:
        """The gold calls with their results, and what has to be said."""
        village = VILLAGE.at(VILLAGE.state.patched(self.state))
        solving, steps = self.skill.solve(**self.operands), []
        call: ToolCall = next(solving)
        while True:
            result = village.call(call)
            assert result.error is None, (call, result)
            steps.append(Message(role="assistant", content="", tool_calls=(call,)))
            steps.append(Message(role="tool", content=result.content))
            try:
                call = solving.send(result.content)
            except StopIteration as end:
                return tuple(steps), end.value


class PocketTools(PocketFamily[PocketToolsProblem]):
    """The family; see `PocketFamily`."""

    name = "pocket_tools"
    tools = VILLAGE.tools()

    @property
    def skills(self) -> Mapping[str, PocketToolsSkill]:
        return SKILLS

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> PocketToolsProblem:
        while split_of(operands := SKILLS[skill].draw(rng)) != split:
            pass
        return PocketToolsProblem(SKILLS[skill], operands)

    def find(self, question: str) -> tuple[PocketToolsProblem, str] | None:
        found = _shapes().get(_OPERAND.sub(_kind, question))
        if found is None:
            return None
        skill, phrasing = found
        names = re.findall(r"{(\w)}", phrasing)
        values = [int(v) if v.isdigit() else v for v in operands_in(question)]
        return PocketToolsProblem(skill, dict(zip(names, values, strict=True))), phrasing

    def steps(self, problem: PocketToolsProblem) -> Conversation:
        return problem.steps

    def holds(self, exercise: Exercise, output: str) -> bool:
        return output.strip() == exercise.output


POCKET_TOOLS = PocketTools()


def split_of(operands: Operands) -> Split:
    """The one split that problems on these operands, in any order, belong to."""
    return split_by_hash(f"pocket-tools {' '.join(sorted(map(str, operands.values())))}")


# --- what a question asks for, read from its text alone ------------------------------------------


def operands_in(text: str) -> tuple[str, ...]:
    """The goods, places and digits in a text, in their order."""
    return tuple(found[0] for found in _OPERAND.finditer(text))


def _kind(found: re.Match[str]) -> str:
    return f"{{{found.lastgroup or 'digit'}}}"


@cache
def _shapes() -> dict[str, tuple[PocketToolsSkill, str]]:
    kinds = {"a": GOODS[0], "b": GOODS[1], "c": GOODS[2], "x": PLACES[0], "y": PLACES[1]}
    return {
        _OPERAND.sub(_kind, phrasing.format(**kinds, k=1, m=1, n=1)): (skill, phrasing)
        for skill in SKILLS.values()
        for phrasing in skill.phrasings
    }
