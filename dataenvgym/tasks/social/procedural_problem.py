"""A procedural scene: a skill and its operands, as a scene to be played, and how its student plays.

Its scripted partners are always the same, so that what follows on a message is known beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat

from dataenvgym.records import Conversation, Message
from dataenvgym.tasks.operand_family import OperandProblem
from dataenvgym.tasks.social.actions import InvalidActionText, read_action
from dataenvgym.tasks.social.moves import move
from dataenvgym.tasks.social.problem import SocialProblem
from dataenvgym.tasks.social.procedural_skills import STUDENT, ProceduralSkill
from dataenvgym.tasks.social.profiles import Character, Goal, Relationship, Scene
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.turns import Rules
from dataenvgym.tasks.social.views import conversation_of, speaker_lines
from dataenvgym.tasks.social.villagers import scripted_partner

TURN_LIMIT = 12
_STRANGER = ["Ben"]
_NO_GOAL = "Live your life."
_LAST_SENTENCE = re.compile(r"(.+[.]) ([^.]+[.])")


@dataclass(frozen=True)
class ProceduralProblem(OperandProblem[ProceduralSkill]):
    """A scene to be played, and how it is played well."""

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
        return followed_in(self, chain(plan, repeat(plan[-1])))

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


def _begun(problem: SocialProblem) -> SceneState:
    """The scene when it is the student's turn for the first time."""
    return _until_turn(problem, SceneState.begin(problem.cast, Rules(turn_limit=TURN_LIMIT)))


def _after_turn(problem: SocialProblem, state: SceneState, text: str) -> SceneState:
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


def followed_in(
    problem: ProceduralProblem, plan: Iterator[str], *, advised: bool = False
) -> SceneState:
    """The scene after the student followed strategies, which it may have been advised in words."""
    state, seat = _begun(problem.plain), problem.seat
    while seat in state.acting:
        strategy = next(plan)
        if advised:
            state = Strategies().advised(state, seat, strategy)
        state = _after_turn(problem.plain, state, move(strategy, problem.operands, state, seat))
    return state
