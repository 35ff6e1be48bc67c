"""Pocket text world: things in rooms, for a pocket student.

The student walks from room to room, sees what is there, takes a thing and hides it. Where a request
names two rooms, it must look: the thing is in one of them. Six skills take two to five actions:

    Bring the kite from the barn or the mill to the attic.
    Action: walk barn
    You see the drum.
    Action: walk mill
    You see the kite.
    Action: take kite
    ...

`pocket-social-v1` knows the words, and nothing of this world: it begins at 0. Training, validation
and test never share operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from dataenvgym.domains.textworld.domain import TextWorldDomain
from dataenvgym.domains.textworld.environment import PlayOptions
from dataenvgym.domains.textworld.house import canonical
from dataenvgym.domains.textworld.worlds import Problem, Seen, Step, World, impossible
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Message,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.operand_family import OperandFamily, OperandProblem, Operands, OperandSkill
from dataenvgym.tasks.options import PocketOptions, PromptOptions
from dataenvgym.tasks.pocket import Exercise

ROOMS = (
    "attic", "barn", "cellar", "garden", "kitchen", "library", "mill", "office", "pantry", "shed",
    "stable", "tower",
)  # fmt: skip
THINGS = (
    "bag", "bell", "bike", "boat", "book", "chair", "clock", "coat", "cup", "desk", "doll", "drum",
    "fork", "harp", "hat", "kite", "lamp", "mirror", "ring", "rug", "sled", "sofa", "tent", "vase",
)  # fmt: skip
HAND = "hand"


class RoomsProblem(Problem):
    """Things to be moved; the data are `{"request": ..., "things": {...}, "goal": {...}}`.

    Attributes:
        request: what the student reads.
        things: the room of each thing, or "hand".
        goal: the room where a thing must be, or "hand".
        order: the rooms in which the reference policy looks.
        kind: its skill.
    """

    request: str = Field(min_length=1)
    things: dict[str, str]
    goal: dict[str, str] = Field(min_length=1)
    order: tuple[str, ...]
    kind: str = "rooms"

    @property
    def skill(self) -> str:
        return self.kind

    @property
    def instruction(self) -> str:
        return self.request

    def world(self) -> RoomsWorld:
        return RoomsWorld(dict(self.things), self.goal)

    def solution(self) -> Iterator[Step]:
        """Hide what is held, if that is asked; then fetch the others, one after another."""
        world = self.world()
        # what must lie somewhere comes before what is held at the end
        for name, room in sorted(self.goal.items(), key=lambda each: each[1] == HAND):
            steps = []
            if world.things[name] != HAND:
                for each in self.order if name not in world.seen else ():
                    steps += [f"walk {each}"] if each != world.at else []
                    if world.things[name] == each:
                        break
                steps.append(f"take {name}")
            if room != HAND:
                steps += [f"walk {room}", f"hide {name}"]
            for action in steps:
                yield Step("", action)
                world.act(action)


class RoomsWorld(World):
    """Rooms in play; done when the goal is met."""

    def __init__(self, things: dict[str, str], goal: Mapping[str, str]) -> None:
        self.things = things
        self.goal = goal
        self.at: str | None = None

    @property
    def seen(self) -> list[str]:
        """The things in this room."""
        return [name for name, room in self.things.items() if room == self.at]

    @property
    def actions(self) -> tuple[str, ...]:
        held = next((name for name, room in self.things.items() if room == HAND), None)
        found = [f"walk {room}" for room in ROOMS if room != self.at]
        if self.at is not None:
            found += [f"take {name}" for name in self.seen] if held is None else [f"hide {held}"]
        return (*found, "look")

    def act(self, action: str) -> Seen:
        action = canonical(action)
        if action not in self.actions:
            return Seen(impossible(action), is_valid=False)
        verb, _, name = action.partition(" ")
        text = f"You {action.replace(' ', ' the ')}."
        if verb == "walk":
            self.at = name
        elif verb in ("take", "hide"):
            self.things[name] = HAND if verb == "take" else str(self.at)
        if verb in ("walk", "look"):
            text = f"You see {' and '.join(f'the {each}' for each in self.seen) or 'no more'}."
        done = self.goal.items() <= self.things.items()
        return Seen(text, done=done, reward=float(done))


@dataclass(frozen=True)
class RoomsSkill(OperandSkill):
    """A kind of request.

    `{a}` and `{b}` are things, `{x}` and `{y}` the rooms where `{a}` may be, `{z}` where it goes.
    If there is a `{b}`, the student holds it at the start and hides it in `{x}`.
    """

    def draw(self, rng: np.random.Generator) -> Operands:
        things = iter(rng.choice(THINGS, 2, replace=False).tolist())
        rooms = iter(rng.choice(ROOMS, 3, replace=False).tolist())
        return {name: next(things if name in "ab" else rooms) for name in self.operands}


_SKILLS = (
    RoomsSkill("get", "one room", "take", (
        "Take the {a} from the {x}.", "Your {a} is in the {x}.",
        "You want the {a}. Walk to the {x}.",
    )),
    RoomsSkill("store", "one room", "hide", (
        "Hide your {b} in the {x}.", "You have the {b}. Keep it in the {x}.",
        "The {x} needs the {b} that you hold.",
    )),
    RoomsSkill("swap", "one room", "swap", (
        "Swap your {b} and the {a} in the {x}.", "Hide the {b} in the {x}, and take the {a}.",
        "In the {x}, give the {b} away and take the {a}.",
    )),
    RoomsSkill("search", "two rooms", "look", (
        "Find the {a} in the {x} or the {y}.", "The {a} is in the {x} or in the {y}.",
        "You want the {a}. Walk to the {x} or the {y}.",
    )),
    RoomsSkill("carry", "two rooms", "keep", (
        "Keep the {a} from the {x} in the {z}.", "The {a} in the {x} should be in the {z}.",
        "The {z} needs the {a} from the {x}.",
    )),
    RoomsSkill("fetch", "two rooms", "need", (
        "The {z} needs the {a} from the {x} or the {y}.",
        "Find the {a} in the {x} or the {y}, and keep it in the {z}.",
        "The {a} in the {x} or the {y} should be in the {z}.",
    )),
)  # fmt: skip
SKILLS: Mapping[str, RoomsSkill] = {skill.name: skill for skill in _SKILLS}


@dataclass(frozen=True)
class Errand(OperandProblem[RoomsSkill]):
    """A request without wording; where things are follows from its operands."""

    @property
    def output(self) -> str:
        return [step.reply for step in self.problem("errand").solution()][-1]

    def problem(self, request: str) -> RoomsProblem:
        """The problem with that request."""
        given = {name: str(value) for name, value in self.operands.items()}
        a, b, z = (given.get(name) for name in "abz")
        order = tuple(given[name] for name in "xy" if name in given)
        rng = derive_rng(0, "pocket-textworld", *given.values())
        others = (each for each in rng.permutation(THINGS).tolist() if each not in (a, b))
        things = {next(others): room for room in order if rng.integers(2) or len(order) > 1}
        goal = {}
        if a:
            things[a] = order[int(rng.integers(len(order)))]
            goal[a] = z or HAND
        if b:
            things[b] = HAND
            goal[b] = order[0]
        return RoomsProblem(
            request=request, things=things, goal=goal, order=order, kind=self.skill.name
        )


class PocketTextworld(OperandFamily[Errand]):
    """The family; see `OperandFamily`."""

    name = "pocket_textworld"
    skills = SKILLS
    pools = {"a": THINGS, "b": THINGS, "x": ROOMS, "y": ROOMS, "z": ROOMS}
    split_key = "pocket-textworld"
    is_chat = True

    def problem(self, skill: str, operands: Operands) -> Errand:
        return Errand(SKILLS[skill], operands)

    def steps(self, problem: Errand) -> Conversation:
        played = problem.problem("errand")
        world, said = played.world(), []
        for step in played.solution():
            said.append(Message(role="assistant", content=step.reply))
            said.append(Message(role="user", content=world.act(step.action).text))
        return tuple(said[:-2])

    def holds(self, exercise: Exercise, output: str) -> bool:
        first = exercise.steps[0].content if exercise.steps else exercise.output
        return output.strip() == first

    def fields(self, problem: Errand, question: str, rng: np.random.Generator) -> Mapping[str, Any]:
        data = problem.problem(question).model_dump(mode="json")
        return {**super().fields(problem, question, rng), "answer": None, "data": data}


POCKET_TEXTWORLD = PocketTextworld()


class PocketTextworldDomain(TextWorldDomain):
    """Errands that it can solve by itself, so that it can judge records on them."""

    family = POCKET_TEXTWORLD

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The errand of the family that a record begins with, or None."""
        asked = record.prompt if isinstance(record, SupervisedDatum) else record.messages
        request = next(message.content for message in asked if message.role == "user")
        question = self.prompt_template.instruction_in(request)
        return self.family.instance(question, id=record.provenance.id or "record")

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether the actions of a chat solve its errand; None if it is not of the family."""
        if not isinstance(record, ChatDatum) or (problem := self.problem_of_record(record)) is None:
            return None
        replies = (each.content for each in record.messages if each.role == "assistant")
        done = self.conversation(problem, replies)
        return done is not None and done.was_correct

    def overlap_key(self, text: str) -> str:
        """Two errands with the same operands are the same; without any, the same words."""
        return " ".join(sorted(self.family.operands_in(text))) or super().overlap_key(text)


@dataclass(frozen=True, kw_only=True)
class PocketTextworldOptions(PocketOptions, PromptOptions, PlayOptions):
    """Options of `PocketTextworldTask`.

    Attributes:
        max_turns: the most messages of the student; five actions are enough.
        sampling: how the student answers; an action takes ten tokens.
    """

    max_turns: int = 6
    sampling: SamplingParameters = SamplingParameters(max_tokens=16)
    student: str = "pocket-social-v1"


class PocketTextworldTask(Task):
    """Pocket text world: things to find and carry in rooms of text; nothing to download."""

    name = "pocket_textworld"

    @takes(PocketTextworldOptions)
    def __init__(self, options: PocketTextworldOptions) -> None:
        source = POCKET_TEXTWORLD.source(options.sizes, seed=options.seed)
        domain = PocketTextworldDomain(RoomsProblem, options, prompt_template=options.prompt)
        self.set_up(source, domain, options)
