"""Pocket orchestration: short requests for simulated tiers, of which the cheap one often suffices.

Sums and orders are solved by any tier, products and powers by the dear one only, and codes of
places by any tier that has searched for them. So an orchestrator does well if it sends easy
requests to the cheap tier, hard ones to the dear one, and searches before it answers about places.

Training, validation and test never share operands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from pydantic import PositiveInt

from dataenvgym.domains.orchestrate.calls import Result
from dataenvgym.domains.orchestrate.domain import OrchestrateDomain, call_of
from dataenvgym.domains.orchestrate.environment import GradedBy, OrchestrateEnvironment, tool_of
from dataenvgym.domains.orchestrate.task import OrchestratedTask, OrchestrationOptions
from dataenvgym.domains.orchestrate.tiers import Tier, parse_tiers
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    Tool,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import HERMES
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.options import PocketOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.record_conversion import chat_record
from dataenvgym.tasks.source import Split

_PLACES = ("Ak", "Bel", "Dor", "Er", "Gal", "Is", "Kor", "Lar", "Mur", "Nip", "Sip", "Ur")
_MIDDLES = ("ab", "el", "im", "on", "ar", "ut", "es", "ir")
_ENDS = ("ad", "eb", "in", "ma", "os", "pur", "sa", "tum")
_NUMBER = r"\d+"
PLACE = "".join(f"(?:{'|'.join(parts)})" for parts in (_PLACES, _MIDDLES, _ENDS))
"""A pattern of the names of places."""


@dataclass(frozen=True)
class RequestSkill:
    """A kind of request; `{a}` and `{b}` are its operands: two numbers, or a place."""

    name: str
    category: str
    phrasings: tuple[str, ...]
    calls: tuple[str, ...]
    symbol: str


_EASY, _HARD, _LOOKUP = ("answer-4",), ("answer-1",), ("search-3", "answer-4")
_SKILLS = (
    RequestSkill("sum", "easy", ("Request: add {a} and {b}", "Request: the total of {a} and {b}",
        "Request: {a} more than {b}"), _EASY, "add"),
    RequestSkill("larger", "easy", ("Request: the larger of {a} and {b}",
        "Request: {a} or {b}, which is more", "Request: the maximum of {a}, {b}"), _EASY, "max"),
    RequestSkill("product", "hard", ("Request: multiply {a} by {b}",
        "Request: the product of {a} and {b}", "Request: {a} rows of {b} seats"), _HARD, "mul"),
    RequestSkill("remainder", "hard", ("Request: divide {a} by {b} and give the rest",
        "Request: {a} modulo {b}", "Request: what {a} leaves over {b}"), _HARD, "mod"),
    RequestSkill("code", "lookup", ("Request: the code of {a}", "Request: which code {a} has",
        "Request: look up the code for {a}"), _LOOKUP, "code"),
    RequestSkill("height", "lookup", ("Request: the height of {a}", "Request: how high {a} lies",
        "Request: meters of {a} above the sea"), _LOOKUP, "high"),
)  # fmt: skip
SKILLS = {skill.name: skill for skill in _SKILLS}


def _accuracies(**of_category: float) -> dict[str, float]:
    return {skill.name: of_category[skill.category] for skill in _SKILLS}


TIERS: Mapping[str, Tier] = parse_tiers(
    {
        "search-3": {"accuracy": 1.0, "reply_tokens": 50},
        "answer-1": {"accuracy": _accuracies(easy=0.99, hard=0.99, lookup=0.0), "informed": 0.99},
        "answer-4": {"accuracy": _accuracies(easy=0.98, hard=0.1, lookup=0.0), "informed": 0.98},
    }
)


OFFERED = {name: tier for name, tier in TIERS.items() if tier.accuracy is not None}


@dataclass(frozen=True)
class Request:
    """A request without wording."""

    skill: RequestSkill
    operands: tuple[str, ...]

    @property
    def answer(self) -> str:
        if self.skill.category == "lookup":
            return _fact(self.skill.name, self.operands[0])
        a, b = map(int, self.operands)
        return str({"sum": a + b, "larger": max(a, b), "product": a * b, "remainder": a % b}[
            self.skill.name
        ])  # fmt: skip

    @property
    def output(self) -> str:
        return call_of(self.skill.calls[-1], TIERS)

    def worded(self, phrasing: str | None) -> str:
        if phrasing is None:
            return " ".join((self.skill.symbol, *self.operands, "="))
        return phrasing.format(**dict(zip("ab", self.operands, strict=False)))


def _fact(what: str, place: str) -> str:
    return str(1000 + crc32(f"{what} {place}".encode()) % 9000)


class PlaceRetriever:
    """Finds the document about each place in a query."""

    def search(self, query: str, k: int) -> Sequence[str]:
        """See `Retriever`."""
        return [
            f"{place}: the code is {_fact('code', place)}, the height {_fact('height', place)}."
            for place in re.findall(PLACE, query)[:k]
        ]


class PocketOrchestrate(PocketFamily[Request]):
    """The family of pocket orchestration."""

    name = "pocket_orchestrate"
    skills = SKILLS
    tools: tuple[Tool, ...] = tuple(tool_of(name, OFFERED) for name in ("search", "answer"))

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> Request:
        while True:
            if SKILLS[skill].category == "lookup":
                parts = [p[int(rng.integers(len(p)))] for p in (_PLACES, _MIDDLES, _ENDS)]
                operands: tuple[str, ...] = ("".join(parts),)
            else:
                operands = tuple(str(n) for n in rng.integers(10, 100, size=2).tolist())
            if split_by_hash(" ".join(sorted(operands))) == split:
                return Request(SKILLS[skill], operands)

    def find(self, question: str) -> tuple[Request, str] | None:
        for skill in _SKILLS:
            operand = PLACE if skill.category == "lookup" else _NUMBER
            for phrasing in skill.phrasings:
                form = re.sub(r"\\{[ab]\\}", "(OPERAND)", re.escape(phrasing))
                form = form.replace("OPERAND", operand)
                if found := re.fullmatch(form, question):
                    return Request(skill, found.groups()), phrasing
        return None

    def holds(self, exercise: Exercise, output: str) -> bool:
        """Whether it calls a tier that can take the first step."""
        called = [call.arguments.get("model") for call in HERMES.parse(output).tool_calls]
        return called in _right_calls(SKILLS[exercise.skill], is_informed=False)

    def fields(
        self, problem: Request, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        return {**super().fields(problem, question, rng), "data": {"gold": [*problem.skill.calls]}}

    def steps(self, problem: Request) -> Conversation:
        if problem.skill.category != "lookup":
            return ()
        search = HERMES.parse(call_of(problem.skill.calls[0], TIERS))
        query = problem.worded(problem.skill.phrasings[0])
        found = Result(
            tool="search",
            tier="search-3",
            query=query,
            documents=tuple(PlaceRetriever().search(query, 1)),
        )
        return (search, found.message())

    def record(
        self, exercise: Exercise, domain: Domain, provenance: Provenance
    ) -> SupervisedDatum | ChatDatum:
        """The record of one turn; of exercises with two turns, a half teaches the first."""
        problem = self.instance(exercise.question)
        assert problem is not None
        assert isinstance(domain, OrchestrateDomain)
        before = domain.prompt(problem)
        said = HERMES.parse(exercise.output)
        if exercise.steps:
            search, _ = exercise.steps
            if crc32(exercise.question.encode()) % 2:
                said = search
            else:
                with closing(domain.make_environment()) as environment:
                    before = environment.shown(problem, (*before, *exercise.steps))
        record = chat_record((*before, said), provenance)
        assert record is not None, exercise
        return record


def _right_calls(skill: RequestSkill, *, is_informed: bool) -> list[list[str]]:
    """The calls of a message that are right for a request, with or without its document."""
    if skill.category == "lookup" and not is_informed:
        return [["search-3"], ["search-3", "answer-4"], ["search-3", "answer-1"]]
    return [["answer-1"]] if skill.category == "hard" else [["answer-4"], ["answer-1"]]


POCKET_ORCHESTRATE = PocketOrchestrate()


class PocketOrchestrateDomain(OrchestrateDomain):
    """Requests that it can solve by itself, so that it can judge records on them."""

    family = POCKET_ORCHESTRATE

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The request of the family that a record answers, or None."""
        asked = record.prompt if isinstance(record, SupervisedDatum) else record.messages
        users = [message.content for message in asked if message.role == "user"]
        question = self.prompt_template.instruction_in(users[-1]).partition("\n")[0]
        return self.family.instance(question, id=record.provenance.id or "record")

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether the last call of a chat is a right one; None if it is not of the family."""
        if not isinstance(record, ChatDatum) or (problem := self.problem_of_record(record)) is None:
            return None
        called = [str(call.arguments.get("model")) for call in record.messages[-1].tool_calls]
        is_informed = "Documents:\n" in record.messages[-2].content
        return called in _right_calls(SKILLS[problem.skill or ""], is_informed=is_informed)

    def overlap_key(self, text: str) -> str:
        """Two requests for the same numbers or place are the same; without any, the same words."""
        found = re.findall(f"{_NUMBER}|{PLACE}", text)
        return " ".join(sorted(set(found))) or super().overlap_key(text)


@dataclass(frozen=True, kw_only=True)
class PocketOrchestrateOptions(PocketOptions, OrchestrationOptions):
    """Options of `PocketOrchestrateTask`.

    Attributes:
        tiers: changes of the pocket tiers, by name (see `Tier`).
        graded_by: an answer that is not the gold answer is wrong.
        max_turns: the most messages of the student.
        sampling: how the student answers. The pocket student's calls take seven tokens, others, as
            JSON, about 40.
    """

    graded_by: GradedBy = "exact_match"
    max_turns: PositiveInt = 6
    sampling: SamplingParameters = SamplingParameters(max_tokens=64)
    student: str = "pocket-orchestrate-v1"


class PocketOrchestrateTask(OrchestratedTask):
    """Pocket orchestration: short requests, a cheap tier for easy ones, a dear one, a search."""

    name = "pocket_orchestrate"

    @takes(PocketOrchestrateOptions)
    def __init__(self, options: PocketOrchestrateOptions) -> None:
        tiers = parse_tiers(options.tiers, TIERS)
        kind, retriever = PocketOrchestrateDomain, PlaceRetriever()
        domain = self.make_domain(options, tiers, kind=kind, retriever=retriever)
        source = POCKET_ORCHESTRATE.source(options.sizes, seed=options.seed)
        self.set_up(source, domain, options)


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> OrchestrateEnvironment:
    """Make `dataenvgym/Orchestrate-v0`: by default, with pocket orchestration (validation).

    Args:
        options: those of `OrchestrateEnvironment`; without `tiers`, those of the pocket task.
    """
    task = PocketOrchestrateTask(split="validation")
    assert isinstance(task.domain, OrchestrateDomain)
    return task.domain.make_environment(
        task.instances if instances is None else instances, **options
    )
