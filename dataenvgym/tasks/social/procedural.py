"""Scenes without end: small negotiations, trades, favors and secrets, drawn by skill.

`task=pocket_social` puts them in one line each, and `task=social task.scenes=procedural` with the
usual introduction. The outcome is scored by rule, and the others are scripted (`villagers`).

Training, validation and test never share operands: things, places, people and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from dataenvgym.records import ChatDatum, Conversation, Message, Provenance, SupervisedDatum
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.lessons import chat_record
from dataenvgym.tasks.operand_family import OperandFamily, Operands
from dataenvgym.tasks.pocket import Exercise
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.social.moves import MOVES
from dataenvgym.tasks.social.problem import MODEL
from dataenvgym.tasks.social.procedural_problem import ProceduralProblem, followed_in
from dataenvgym.tasks.social.procedural_skills import POOLS, SKILLS, STUDENT, ProceduralSkill
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.turns import Rules
from dataenvgym.tasks.social.views import introduction
from dataenvgym.tasks.source import Split

_NAMES = tuple(
    f"{name} {name}" for names in dict.fromkeys(POOLS.values()) for name in (*names, STUDENT)
)


class ProceduralScenes(OperandFamily[ProceduralProblem]):
    """The family; see `OperandFamily`.

    Args:
        name: of its task.
        terse: whether its scenes are put in one line.
        is_scripted: whether the others in its instances are, or the speaker "partner".
    """

    pools = POOLS
    split_key = "procedural scenes"

    def __init__(self, name: str, *, terse: bool, is_scripted: bool = True) -> None:
        self.name = name
        self.terse = terse
        self.is_scripted = is_scripted
        self.wordings = (*map(Strategies().write, ("...", *MOVES)), *_NAMES)

    @property
    def skills(self) -> Mapping[str, ProceduralSkill]:
        return SKILLS

    def problem(self, skill: str, operands: Operands) -> ProceduralProblem:
        return ProceduralProblem(SKILLS[skill], operands)

    def draw_instance(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        problem = self.pose(skill, split, rng)
        question = problem.worded(self._any_phrasing(skill, rng))
        return question, partial(self.instance_fields, problem, question)

    def instance_fields(self, problem: ProceduralProblem, question: str) -> Mapping[str, Any]:
        """The fields of the instance of a question, beside it."""
        data = problem.problem(question, terse=self.terse)
        if not self.is_scripted:
            data = data.model_copy(update={"partner": MODEL})
        return {
            "category": problem.skill.category,
            "data": data.model_dump(mode="json", exclude_defaults=True),
        }

    def steps(self, problem: ProceduralProblem) -> Conversation:
        """What is said before the student's last message; others' opening words come first."""
        return problem.lesson[:-1]

    def practice(self, skill: str, rng: np.random.Generator, *, symbols: bool) -> Exercise:
        """A gold exercise, or one with a bad habit, or in which strategies are followed or written.

        Habits are practiced in plain words alone, and so do not spoil what is known in symbols.
        """
        has_habit, drawn = bool(SKILLS[skill].habit), rng.random()
        if drawn < _GOLD and not (symbols and has_habit and drawn < _HABIT):
            return self.draw(skill, "train", rng, symbols=symbols)
        problem = self.pose(skill, "train", rng)
        phrasing: str | None = self._any_phrasing(skill, rng)
        if drawn < _GOLD:
            said = problem.spoken(problem.followed(problem.skill.habit))
        else:
            phrasing = phrasing if not symbols or rng.random() < _IN_WORDS else None
            said = _advised(problem, rng, writes=drawn >= _GOLD + _FOLLOWS)
        *steps, last = said
        return Exercise(skill, phrasing, problem.worded(phrasing), last.content, tuple(steps))

    def conversation(self, exercise: Exercise, template: PromptTemplate = PLAIN) -> Conversation:
        opening = self._opening(exercise)
        steps = exercise.steps
        if steps and steps[0].role == "user":
            opening, steps = f"{opening}\n\n{steps[0].content}", steps[1:]
        last = Message(role="assistant", content=exercise.output)
        return (*template.conversation(opening), *steps, last)

    def record(
        self, exercise: Exercise, domain: Domain, provenance: Provenance
    ) -> SupervisedDatum | ChatDatum:
        conversation = self.conversation(exercise, domain.prompt_template)
        fields = prompt_fields(conversation[:-1])
        if fields is not None and sum(m.role == "assistant" for m in conversation) == 1:
            return SupervisedDatum(**fields, output=exercise.output, provenance=provenance)
        record = chat_record(conversation, provenance)
        assert record is not None, exercise
        return record

    def _opening(self, exercise: Exercise) -> str:
        """What the student reads before anybody has said anything."""
        found = None if self.terse else self.find(exercise.question)
        if found is None:
            return exercise.question
        problem = found[0].problem(exercise.question, terse=False)
        return introduction(problem.cast, problem.seat, Rules().kinds)


_GOLD, _FOLLOWS = 0.6, 0.25  # of the pretraining rows; in the others, strategies are written
_HABIT = 0.25  # of the rows in symbols of a skill with a habit; in plain words instead
_IN_WORDS = 0.7  # of the rows with strategies of skills in symbols


def _advised(problem: ProceduralProblem, rng: np.random.Generator, *, writes: bool) -> Conversation:
    """A scene in which strategies drawn at random are followed, from others' opening words on.

    Args:
        writes: whether the student is the strategist, and not the one who follows.
    """
    known = problem.skill.strategies
    drawn = (known[int(rng.integers(len(known)))] for _ in count())
    state = followed_in(problem, drawn, advised=True)
    if not writes:
        return problem.spoken(state)
    return problem.after_opening(Strategies().conversation(state, problem.seat))
