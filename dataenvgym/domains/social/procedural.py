"""Generated scenes: small negotiations, trades, favors and secrets, drawn by skill.

`ProceduralScenes` is their family; `ProceduralDomain` knows the gold replies, and judges records.

`task=pocket_social` poses them in one line each, `task=social task.scenes=procedural` with the
usual introduction. The outcome is scored by rule, and the other characters are scripted
(`scripted_partners`).

Training, validation and test never share operands: things, places, people and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from dataenvgym.domains.social.actions import ALL_KINDS, ActionKind
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PlayOptions
from dataenvgym.domains.social.problem import MODEL
from dataenvgym.domains.social.procedural_problem import (
    MOVES,
    TURN_LIMIT,
    ProceduralProblem,
    followed_in,
)
from dataenvgym.domains.social.procedural_skills import POOLS, SKILLS, STUDENT, ProceduralSkill
from dataenvgym.domains.social.prompts import Lines, introduction
from dataenvgym.domains.social.scene import Rules
from dataenvgym.domains.social.strategies import Strategies, written
from dataenvgym.errors import DataEnvGymError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    LabeledAnswer,
    Message,
    Provenance,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.domain import Domain, each_answer
from dataenvgym.tasks.operand_family import OperandFamily, Operands
from dataenvgym.tasks.pocket import Exercise
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.record_conversion import chat_record

_LONG = re.compile(r"(?:^|\n\n)([^\n]+)\n\nYour goal: ([^\n]+)(?:\n|$)")
_NAMES = tuple(
    f"{name} {name}" for names in dict.fromkeys(POOLS.values()) for name in (*names, STUDENT)
)


class ProceduralScenes(OperandFamily[ProceduralProblem]):
    """The family; see `OperandFamily`.

    Args:
        name: of its task.
        terse: whether its scenes are posed in one line.
        is_scripted: whether the other characters are scripted, or played by the speaker "partner".
        kinds: the allowed actions.
    """

    pools = POOLS
    split_key = "procedural scenes"

    def __init__(
        self,
        name: str,
        *,
        terse: bool,
        is_scripted: bool = True,
        kinds: tuple[ActionKind, ...] = ALL_KINDS,
    ) -> None:
        self.name = name
        self.kinds = kinds
        self.terse = terse
        self.is_scripted = is_scripted
        self.wordings = (*map(written, ("...", *MOVES)), *_NAMES)

    @property
    def skills(self) -> Mapping[str, ProceduralSkill]:
        return SKILLS

    def problem(self, skill: str, operands: Operands) -> ProceduralProblem:
        return ProceduralProblem(SKILLS[skill], operands, self.terse, self.kinds)

    def fields(
        self, problem: ProceduralProblem, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        data = problem.problem(question)
        if not self.is_scripted:
            data = data.model_copy(update={"partner": MODEL})
        return {
            "category": problem.skill.category,
            "data": data.model_dump(mode="json", exclude_defaults=True),
        }

    def steps(self, problem: ProceduralProblem) -> Conversation:
        """The messages before the student's last one, beginning with others' opening words."""
        return problem.lesson[:-1]

    def practice(self, skill: str, rng: np.random.Generator, *, symbols: bool) -> Exercise:
        """A gold exercise, or one that shows a bad habit, or that follows or writes strategies.

        Habits are practiced only in plain words, so they do not affect skills in symbols.
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
            known = problem.skill.strategies
            plan = (known[int(rng.integers(len(known)))] for _ in count())
            state = followed_in(problem, plan, advised=True)
            said = (
                problem.spoken(state)
                if drawn < _GOLD + _FOLLOWS
                else problem.after_opening(Strategies().conversation(state, problem.seat))
            )
        *steps, last = said
        return Exercise(skill, phrasing, problem.worded(phrasing), last.content, tuple(steps))

    def conversation(self, exercise: Exercise, template: PromptTemplate = PLAIN) -> Conversation:
        opening, steps = exercise.question, exercise.steps
        if found := None if self.terse else self.find(opening):
            problem = found[0].problem(opening)
            opening = introduction(problem.cast, problem.seat, self.kinds)
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


_GOLD, _FOLLOWS = 0.6, 0.25  # of the pretraining rows; in the others, strategies are written
_HABIT = 0.25  # of the rows in symbols of a skill with a habit; in plain words instead
_IN_WORDS = 0.7  # of the rows with strategies of skills in symbols


class ProceduralDomain(SocialDomain):
    """Scenes of a family that it can play by itself, so that it can judge records on them.

    Args:
        family: of the scenes and exercises.
        rules, options: see `SocialDomain`.
    """

    def __init__(
        self,
        family: ProceduralScenes,
        rules: Rules | None = None,
        options: PlayOptions = PlayOptions(),
    ):
        super().__init__(rules or Rules(turn_limit=TURN_LIMIT), options)
        self.family = family

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """The messages that earn the whole goal score."""
        found = self.family.find(instance.instruction)
        yield from super().gold_replies(instance) if found is None else found[0].replies

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """All that the student said."""
        said = [said_in(m.content) for m in completed.transcript if m.role == "assistant"]
        return "\n".join(said) or None

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The scene of the family that a conversation begins with, or None."""
        return self._problem_in(record.prompt, id=record.provenance.id or "record")

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether it reaches the goal, after the messages before it; None if that is unknown."""
        problem = self._problem_in(answer.prompt)
        replies = [m.content for m in answer.prompt if m.role == "assistant"]
        held = problem and self.conversation(problem, (*replies, answer.text))
        return held.was_correct if held else None

    def overlap_key(self, text: str) -> str:
        """Two scenes on the same operands are the same; without any, the same words."""
        if text.startswith(("[", "(")):  # an event in a scene
            return super().overlap_key(text)
        found = self.family.operands_in(self._question_in(text))
        return " ".join(sorted(found)) or super().overlap_key(text)

    def _held(self, opening: str, lines: Lines) -> CompletedTaskInstance | None:
        """The scene with the student's messages; what the others do in it is true.

        A scene that is not of the family, or that asks a model, is taken as it was written.
        """
        problem = self.family.instance(self._question_in(opening))
        replies = [text for role, text in lines if role == "assistant"]
        try:
            held = problem and self.conversation(problem, replies)
        except DataEnvGymError:  # a judge is asked
            held = None
        return held or super()._held(opening, lines)

    def _problem_in(self, prompt: Conversation, *, id: str = "record") -> TaskInstance | None:
        asked = next((m.content for m in prompt if m.role == "user"), "")
        return self.family.instance(self._question_in(asked), id=id)

    def _question_in(self, text: str) -> str:
        """The question in a user message, without the events of the scene."""
        opening = self.prompt_template.instruction_in(text)
        if found := _LONG.search(opening):
            return f"{found[1]} {found[2]}"
        return opening.split("\n\n")[0]
