"""Generated scenes: small negotiations, trades, favors and secrets, drawn by skill.

`ProceduralScenes` is their family; `ProceduralDomain` knows the gold replies, and judges records.

`task=pocket_social` poses them in one line each, `task=social task.scenes=procedural` with the
usual introduction. The outcome is scored by rule, and the other characters are scripted
(`scripted_partners`).

Its scripted partners always act the same, so the response to a message is known beforehand. The
pocket student knows the strategies in `MOVES`; the words that follow one (`move`) depend on the
operands and on the events so far.

Training, validation and test never share operands: things, places, people and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from typing import Any

import numpy as np

from dataenvgym.domains.social.actions import ALL_KINDS, ActionKind, read_action, write_action
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PlayOptions
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.procedural_skills import POOLS, SKILLS, STUDENT, ProceduralSkill
from dataenvgym.domains.social.profiles import Character, Goal, Hint, Relationship, Scene
from dataenvgym.domains.social.prompts import Lines, conversation_of, introduction, speaker_lines
from dataenvgym.domains.social.scene import Rules, SceneState, bargains_of
from dataenvgym.domains.social.scripted_partners import scripted_partner
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
from dataenvgym.tasks.operand_family import OperandFamily, OperandProblem, Operands
from dataenvgym.tasks.pocket import Exercise
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields
from dataenvgym.tasks.record_conversion import chat_record

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
