"""Scenes without end: small negotiations, trades, favors and secrets, drawn by skill.

`task=pocket_social` puts them in one line each, and `task=social task.scenes=procedural` with the
usual introduction. The outcome is scored by rule, and the others are scripted (`villagers`).

Training, validation and test never share operands: `split_of` assigns the sorted operands of a
scene to exactly one split, whatever the skill or the phrasing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain, count, repeat
from typing import Any

import numpy as np

from dataenvgym.records import ChatDatum, Conversation, Message, Provenance, SupervisedDatum
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.lessons import chat_record
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.social.actions import InvalidActionText, read_action
from dataenvgym.tasks.social.moves import MOVES, move
from dataenvgym.tasks.social.problem import MODEL, SocialProblem
from dataenvgym.tasks.social.procedural_skills import (
    PEOPLE,
    PLACES,
    POOLS,
    SKILLS,
    STUDENT,
    THINGS,
    Operands,
    ProceduralSkill,
)
from dataenvgym.tasks.social.profiles import Character, Goal, Relationship, Scene
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.turns import Rules
from dataenvgym.tasks.social.views import conversation_of, introduction, speaker_lines
from dataenvgym.tasks.social.villagers import scripted_partner
from dataenvgym.tasks.source import Split

TURN_LIMIT = 12
_STRANGER = ["Ben"]
_NO_GOAL = "Live your life."
_KINDS = {"thing": THINGS, "place": PLACES, "person": PEOPLE}
_OPERAND = re.compile(
    r"\b(?:" + "|".join(f"(?P<{k}>{'|'.join(names)})" for k, names in _KINDS.items()) + r"|[1-9])\b"
)
_NAMES = tuple(f"{name} {name}" for names in _KINDS.values() for name in (*names, STUDENT))
_LAST_SENTENCE = re.compile(r"(.+[.]) ([^.]+[.])")


@dataclass(frozen=True)
class ProceduralProblem:
    """A skill and what its scene is about; the operands are sorted by name."""

    skill: ProceduralSkill
    operands: Operands

    @property
    def answer(self) -> str:
        return self.output

    @property
    def output(self) -> str:
        """The student's last message."""
        return self.lesson[-1].content

    @property
    def seat(self) -> int:
        """The student's."""
        return int(self.skill.opens)

    @property
    def replies(self) -> tuple[str, ...]:
        """What the student says that earns the whole goal score, message by message."""
        return tuple(message.content for message in self.lesson if message.role == "assistant")

    @cached_property
    def lesson(self) -> Conversation:
        """The gold conversation, from others' opening words to the student's last message."""
        return self.spoken(self.followed(self.skill.gold))

    def followed(self, plan: Sequence[str]) -> SceneState:
        """The scene after the student followed strategies in turn; the last one goes on."""
        return _followed(self, chain(plan, repeat(plan[-1])))

    def spoken(self, state: SceneState) -> Conversation:
        """What was said, from others' opening words to the student's last message."""
        lines = speaker_lines(state.cast, self.seat, state.events)
        return self.after_opening(conversation_of(self.opening, lines))

    @cached_property
    def plain(self) -> SocialProblem:
        """The scene in the first phrasing: what happens does not depend on it."""
        return self.problem(self.opening)

    @property
    def opening(self) -> str:
        """The question in the first phrasing."""
        return self.worded(self.skill.phrasings[0])

    def after_opening(self, conversation: Conversation) -> Conversation:
        """What follows on `opening`, up to the student's last message."""
        first, *others, _ = conversation
        told = first.content.removeprefix(self.opening).strip()
        return (*([Message(role="user", content=told)] if told else []), *others)

    def worded(self, phrasing: str | None) -> str:
        return (
            self.skill.in_symbols(self.operands)
            if phrasing is None
            else phrasing.format_map(self.operands)
        )

    def problem(self, question: str, *, terse: bool = True) -> SocialProblem:
        """The scene as a question in plain words puts it."""
        parts = _LAST_SENTENCE.fullmatch(question)
        scenario, goal = parts.groups() if parts else (question, _NO_GOAL)
        rules = self.skill.rules(self.operands)
        knows_them = rules.get("relationship", Relationship.STRANGER) != Relationship.STRANGER
        named = [str(self.operands[name]) for name in "pq" if name in self.operands]
        others = named if knows_them else _STRANGER
        seats = 1 + len(others)
        goals = [Goal(text=_NO_GOAL)] * seats
        goals[self.seat] = Goal(text=goal)
        people = [Character(id=name.lower(), first_name=name, age=30) for name in others]
        people.insert(self.seat, Character(id=STUDENT.lower(), first_name=STUDENT, age=30))
        scene = Scene(
            id="-".join([self.skill.name, *(str(v) for v in self.operands.values())]),
            source="procedural",
            scenario=scenario,
            goals=tuple(goals),
            terse=terse,
            **rules,
        )
        return SocialProblem(
            scene=scene, characters=tuple(people), seat=self.seat, partner=self.skill.partner
        )


def begun(problem: SocialProblem) -> SceneState:
    """The scene when it is the student's turn for the first time."""
    return _until_turn(problem, SceneState.begin(problem.cast, Rules(turn_limit=TURN_LIMIT)))


def after_turn(problem: SocialProblem, state: SceneState, text: str) -> SceneState:
    """The scene after a message of the student's, when it is its turn again, or over for it."""
    try:
        state = state.after({problem.seat: read_action(text)})
    except InvalidActionText as error:
        state = state.after({}, {problem.seat: f"invalid action: {error}"})
    return _until_turn(problem, state)


def _until_turn(problem: SocialProblem, state: SceneState) -> SceneState:
    partner = scripted_partner(problem.partner, problem.seed)
    while state.acting and problem.seat in state.present and problem.seat not in state.acting:
        state = state.after({seat: partner.act(state, seat) for seat in state.acting})
    return state


class ProceduralScenes(PocketFamily[ProceduralProblem]):
    """The family; see `PocketFamily`.

    Args:
        name: of its task.
        terse: whether its scenes are put in one line.
        is_scripted: whether the others in its instances are, or the speaker "partner".
    """

    def __init__(self, name: str, *, terse: bool, is_scripted: bool = True) -> None:
        self.name = name
        self.terse = terse
        self.is_scripted = is_scripted
        self.wordings = (*map(Strategies().write, ("...", *MOVES)), *_NAMES)

    @property
    def skills(self) -> Mapping[str, ProceduralSkill]:
        return SKILLS

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> ProceduralProblem:
        while split_of(operands := SKILLS[skill].draw(rng)) != split:
            pass
        return ProceduralProblem(SKILLS[skill], operands)

    def find(self, question: str) -> tuple[ProceduralProblem, str] | None:
        found = _shapes().get(_OPERAND.sub(_kind, question))
        if found is None:
            return None
        skill, phrasing = found
        names = re.findall(r"{(\w)}", phrasing)
        values = [int(v) if v.isdigit() else v for v in operands_in(question)]
        operands = dict(sorted(zip(names, values, strict=True)))
        return ProceduralProblem(skill, operands), phrasing

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

    def holds(self, exercise: Exercise, output: str) -> bool:
        return not exercise.steps and output.strip() == exercise.output

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
    state = _followed(problem, drawn, advised=True)
    if not writes:
        return problem.spoken(state)
    return problem.after_opening(Strategies().conversation(state, problem.seat))


def _followed(
    problem: ProceduralProblem, plan: Iterator[str], *, advised: bool = False
) -> SceneState:
    """The scene after the student followed strategies, which it may have been advised in words."""
    state, seat = begun(problem.plain), problem.seat
    while seat in state.acting:
        strategy = next(plan)
        if advised:
            state = Strategies().advised(state, seat, strategy)
        state = after_turn(problem.plain, state, move(strategy, problem.operands, state, seat))
    return state


def split_of(operands: Operands) -> Split:
    """The one split that scenes on these operands, in any order, belong to."""
    return split_by_hash(f"procedural scenes {' '.join(sorted(map(str, operands.values())))}")


# --- what a question asks for, read from its text alone ------------------------------------------


def operands_in(text: str) -> tuple[str, ...]:
    """The things, places, people and digits in a text, in their order."""
    return tuple(found[0] for found in _OPERAND.finditer(text))


def _kind(found: re.Match[str]) -> str:
    return f"{{{found.lastgroup or 'digit'}}}"


@cache
def _shapes() -> dict[str, tuple[ProceduralSkill, str]]:
    kinds = {name: pool[0] for name, pool in POOLS.items()}
    return {
        _OPERAND.sub(_kind, phrasing.format(**kinds, k=1, m=1)): (skill, phrasing)
        for skill in SKILLS.values()
        for phrasing in skill.phrasings
    }
