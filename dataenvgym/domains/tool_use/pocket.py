"""Pocket tools: the small, seeded, procedural family of the tool-use domain.

The student gets a request in plain words, makes one to three calls that change or inspect the
village, and gives a short final answer: 20 skills in 5 categories. The state of the village in a
problem depends only on the problem's operands, so a question can be parsed.

Training, validation and test never share operands: goods, places and digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import PositiveInt

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import ToolUseOptions
from dataenvgym.domains.tool_use.pocket_skills import POOLS, SKILLS, PocketToolsSkill
from dataenvgym.domains.tool_use.village import GOODS, PLACES, Village, offer_id
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Message,
    SupervisedDatum,
    TaskInstance,
    ToolCall,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.operand_family import OperandFamily, OperandProblem, Operands
from dataenvgym.tasks.options import PocketOptions
from dataenvgym.tasks.worlds.world import World

VILLAGE = Village()
DONE = "done"


@dataclass(frozen=True, kw_only=True)
class PocketToolsOptions(PocketOptions, ToolUseOptions):
    """Options of `PocketToolsTask`.

    Attributes:
        max_turns: the most messages of the student; three calls and an answer are enough.
        sampling: how the student answers. The pocket student's longest message takes nine tokens, a
            call as JSON about 40.
    """

    max_turns: PositiveInt = 6
    max_errors: PositiveInt = 3
    sampling: SamplingParameters = SamplingParameters(max_tokens=64)
    student: str = "pocket-tools-v1"


class PocketToolsTask(Task):
    """Pocket tools: 20 tool-calling skills in a small world; nothing to download."""

    name = "pocket_tools"

    @takes(PocketToolsOptions)
    def __init__(self, options: PocketToolsOptions) -> None:
        source = POCKET_TOOLS.source(options.sizes, seed=options.seed)
        self.set_up(source, PocketToolsDomain(VILLAGE, options, POCKET_TOOLS), options)


class PocketToolsDomain(ToolUseDomain):
    """Problems of the village that it can solve by itself, so that it can judge records on them."""

    def __init__(self, world: World[Any], options: PocketToolsOptions, family: PocketTools) -> None:
        super().__init__(world, options)
        self.family = family

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The problem of the family that a conversation begins with, or None."""
        if not isinstance(record, ChatDatum):
            return None
        request = record.messages[_request_of(record)].content
        question = self.prompt_template.instruction_in(request)
        return self.family.instance(question, id=record.provenance.id or "record")

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether the calls and words of a chat solve its problem; None if that is unknown."""
        if not isinstance(record, ChatDatum) or (problem := self.problem_of_record(record)) is None:
            return None
        said = (m for m in record.messages[_request_of(record) :] if m.role == "assistant")
        done = self.conversation(problem, map(as_reply, said))
        return done is not None and done.was_correct

    def overlap_key(self, text: str) -> str:
        """Two problems on the same operands are the same; without any, the same words."""
        return " ".join(sorted(self.family.operands_in(text))) or super().overlap_key(text)


def _request_of(record: ChatDatum) -> int:
    """The position of the request: the last user's message; earlier ones are examples."""
    return max(i for i, message in enumerate(record.messages) if message.role == "user")


@dataclass(frozen=True)
class PocketToolsProblem(OperandProblem[PocketToolsSkill]):
    """A task in the village, and the state of the village before it."""

    world: ClassVar[World[Any]] = VILLAGE

    @property
    def output(self) -> str:
        """The student's last message: the answer, or `done` if none is required."""
        return DONE if self._solution[1] is None else f"#### {self._solution[1]}"

    @property
    def data(self) -> dict[str, Any]:
        """The data of its instance: a `ToolUseProblem`."""
        steps, said = self._solution
        gold = [call.model_dump() for message in steps for call in message.tool_calls]
        basis = ["state"] if said is None else ["state", "said"]
        known = {"world": self.world.name, "state": self.changes, "gold": gold, "basis": basis}
        if said is None:
            return known
        answers = map(str, range(20)) if said.isdecimal() else PLACES
        return {**known, "said": [said], "not_said": [a for a in answers if a not in said.split()]}

    @property
    def steps(self) -> Conversation:
        """The gold calls and their results."""
        return self._solution[0]

    @cached_property
    def changes(self) -> dict[str, Any]:
        """The differences of the village from its initial state: places of goods, and offers."""
        goods = [v for v in self.operands.values() if v in GOODS]
        places = [v for v in self.operands.values() if v in PLACES]
        rng = derive_rng(0, "pocket-tools", *self.operands.values())
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
        """The gold calls with their results, and the required words."""
        world = self.world.at(self.world.state.patched(self.changes))
        solving, steps = self.skill.solve(**self.operands), []
        call: ToolCall = next(solving)
        while True:
            result = world.call(call)
            assert result.error is None, (call, result)
            steps.append(Message(role="assistant", content="", tool_calls=(call,)))
            steps.append(Message(role="tool", content=result.content))
            try:
                call = solving.send(result.content)
            except StopIteration as end:
                return tuple(steps), end.value


class PocketTools(OperandFamily[PocketToolsProblem]):
    """The family; see `OperandFamily`."""

    name = "pocket_tools"
    skills: Mapping[str, PocketToolsSkill] = SKILLS
    pools = POOLS
    split_key = "pocket-tools"
    tools = VILLAGE.tools()

    def problem(self, skill: str, operands: Operands) -> PocketToolsProblem:
        return PocketToolsProblem(SKILLS[skill], operands)

    def steps(self, problem: PocketToolsProblem) -> Conversation:
        return problem.steps

    def fields(
        self, problem: PocketToolsProblem, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        return {**super().fields(problem, question, rng), "data": problem.data}


POCKET_TOOLS = PocketTools()
