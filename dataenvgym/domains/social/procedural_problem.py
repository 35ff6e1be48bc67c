"""A procedural scene: a skill and its operands, their scene, and the student's gold messages.

Its scripted partners always act the same, so the response to a message is known beforehand. The
pocket student knows the strategies in `MOVES`; the words that follow one (`move`) depend on the
operands and on the events so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat

from dataenvgym.domains.social.actions import ALL_KINDS, ActionKind, read_action, write_action
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.procedural_skills import STUDENT, ProceduralSkill
from dataenvgym.domains.social.profiles import Character, Goal, Hint, Relationship, Scene
from dataenvgym.domains.social.prompts import conversation_of, speaker_lines
from dataenvgym.domains.social.scene import Rules, SceneState, bargains_of
from dataenvgym.domains.social.scripted_partners import scripted_partner
from dataenvgym.domains.social.strategies import Strategies
from dataenvgym.records import Conversation, Message
from dataenvgym.tasks.operand_family import OperandProblem, Operands

TURN_LIMIT = 12
_STRANGER = ["Ben"]
_NO_GOAL = "Live your life."
_LAST_SENTENCE = re.compile(r"(.+[.]) ([^.]+[.])")


@dataclass(frozen=True)
class ProceduralProblem(OperandProblem[ProceduralSkill]):
    """A scene to be played, and how to play it well.

    Attributes:
        terse: whether it is posed in one line.
        kinds: the allowed actions.
    """

    terse: bool = True
    kinds: tuple[ActionKind, ...] = ALL_KINDS

    @property
    def output(self) -> str:
        """The student's last message."""
        return self.lesson[-1].content

    @property
    def seat(self) -> int:
        """The student's seat."""
        return int(self.skill.opens)

    @property
    def replies(self) -> tuple[str, ...]:
        """The student's messages that earn the whole goal score, in order."""
        return tuple(message.content for message in self.lesson if message.role == "assistant")

    @cached_property
    def lesson(self) -> Conversation:
        """The gold conversation, from others' opening words to the student's last message."""
        return self.spoken(self.followed(self.skill.gold))

    def followed(self, plan: Sequence[str]) -> SceneState:
        """The scene after the student followed strategies in turn; the last one is repeated."""
        return followed_in(self, chain(plan, repeat(plan[-1])))

    def spoken(self, state: SceneState) -> Conversation:
        """The conversation from others' opening words to the student's last message."""
        lines = speaker_lines(state.cast, self.seat, state.events)
        return self.after_opening(conversation_of(self._opening, lines))

    @cached_property
    def plain(self) -> SocialProblem:
        """The scene in the first phrasing; its events do not depend on the phrasing."""
        return self.problem(self._opening)

    @property
    def _opening(self) -> str:
        """The question in the first phrasing."""
        return self.worded(self.skill.phrasings[0])

    def after_opening(self, conversation: Conversation) -> Conversation:
        """The messages after the question, up to the student's last one."""
        first, *others, _ = conversation
        told = first.content.removeprefix(self._opening).strip()
        return (*([Message(role="user", content=told)] if told else []), *others)

    def problem(self, question: str) -> SocialProblem:
        """The scene for a question in plain words."""
        parts = _LAST_SENTENCE.fullmatch(question)
        scenario, goal = parts.groups() if parts else (question, _NO_GOAL)
        rules = self.skill.rules(self.operands)
        knows_them = rules.get("relationship", Relationship.STRANGER) != Relationship.STRANGER
        named = [str(self.operands[name]) for name in "pq" if name in self.operands]
        others = named if knows_them else _STRANGER
        seats = 1 + len(others)
        goals = [Goal(text=_NO_GOAL)] * seats
        hint = Hint(kind="form", text=f"Say it in a message of its own: {self.skill.form}")
        has_form = self.skill.form and not self.terse
        goals[self.seat] = Goal(text=goal, hints=(hint,) if has_form else ())
        people = [Character(id=name.lower(), first_name=name, age=30) for name in others]
        people.insert(self.seat, Character(id=STUDENT.lower(), first_name=STUDENT, age=30))
        scene = Scene(
            id="-".join([self.skill.name, *(str(v) for v in self.operands.values())]),
            source="procedural",
            scenario=scenario,
            goals=tuple(goals),
            terse=self.terse,
            **rules,
        )
        return SocialProblem(
            scene=scene, characters=tuple(people), seat=self.seat, partner=self.skill.partner
        )


def followed_in(
    problem: ProceduralProblem, plan: Iterator[str], *, advised: bool = False
) -> SceneState:
    """The scene after the student followed strategies; they may be part of a conversation."""
    scene, seat = problem.plain, problem.seat
    partner = scripted_partner(scene.partner, scene.seed)
    rules = Rules(turn_limit=TURN_LIMIT, kinds=problem.kinds)
    state = SceneState.begin(scene.cast, rules)
    while state.acting and seat in state.present:
        if seat in state.acting:
            strategy = next(plan)
            if advised:
                state = Strategies().advised(state, seat, strategy)
            acts = {seat: read_action(move(strategy, problem.operands, state, seat))}
        else:
            acts = {other: partner.act(state, other) for other in state.acting}
        state = state.after(acts)
    return state


_LEAVES = "[leave] Goodbye."

MOVES: Mapping[str, str | None] = {
    "name your price": None,
    "name your limit": None,
    "start far off": None,
    "hold": None,
    "give way": None,
    "ask for more": None,
    "compare": None,
    "accept": None,
    "walk away": _LEAVES,
    "offer the best": None,
    "offer the spare": None,
    "ask what they need": "What do you need?",
    "offer what they need": None,
    "offer the other one": None,
    "give": "Take the {b}.",
    "refuse": "No.",
    "share": "Take {half} coins.",
    "keep all": "I keep all coins.",
    "give all": "Take {k} coins.",
    "keep the secret": "That is private.",
    "tell the giver": "It is from {p}.",
    "tell the truth": "I broke the {a}.",
    "whisper": "[speak to {p}] The {a} is in the {x}.",
    "say it aloud": "The {a} is in the {x}.",
}
"""By strategy, its words; None for an act of bargaining."""


def move(strategy: str, operands: Operands, state: SceneState, seat: int) -> str:
    """The next words of the character in a seat, as a message of the student.

    It leaves after a deal or a trade.

    Raises:
        KeyError: for a strategy that is not in `MOVES`.
    """
    bargains = bargains_of(state)
    if bargains.price is not None or bargains.trade is not None:
        return _LEAVES
    words = MOVES[strategy]
    if words is not None:
        return words.format_map({**operands, "half": int(operands.get("k", 0)) // 2})
    accepts = write_action(state.acts.accept())
    if strategy == "accept":
        return accepts
    deal = state.cast.scene.deal
    if deal is None:
        heard = " ".join(event.action.argument for event in state.events if not event.note)
        needs_b = f"need the {operands['b']}." in heard  # a, if it asked for neither
        given = {
            "offer the best": "a",
            "offer the spare": "b",
            "offer what they need": "b" if needs_b else "a",
            "offer the other one": "a" if needs_b else "b",
        }[strategy]
        return write_action(state.acts.swap(str(operands[given]), str(operands["c"])))
    down = -1 if deal.seller == seat else 1  # the direction of a concession
    ours = bargains.prices[seat]
    theirs = [p for other, said in bargains.prices.items() if other != seat for p in said]
    match strategy:
        case "compare":
            return accepts if theirs and theirs[-1] >= float(operands["m"]) else _LEAVES
        case "name your limit":
            price = float(operands["m"])
        case "start far off":
            price = float(operands["k"]) - 2 * down
        case "hold":
            price = ours[-1] if ours else float(operands["k"])
        case "give way":
            price = (ours[-1] if ours else float(operands["k"])) + down
        case "ask for more":
            price = (theirs[-1] if theirs else float(operands["m"])) + 1
        case _:
            price = float(operands["k"])
    return write_action(state.acts.offer(min(max(price, 1), 9), "say"))
