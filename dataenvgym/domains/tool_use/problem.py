"""A problem of tool use (the content of `TaskInstance.data`, as JSON), and its world."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from dataenvgym.domains.tool_use.fact_matching import says
from dataenvgym.domains.tool_use.users import ScriptedUser, User
from dataenvgym.errors import InvalidInstanceError, did_you_mean, first_fault
from dataenvgym.records import (
    Conversation,
    Json,
    Model,
    TaskInstance,
    Text,
    Tool,
    ToolCall,
    check_ids,
)
from dataenvgym.records.conversations import check_chat
from dataenvgym.tasks.rows import SourceRow, parsed, read_rows
from dataenvgym.tasks.worlds.state import State, Table
from dataenvgym.tasks.worlds.world import CallResult, Seat, World, unknown_tool

Component = Literal["state", "assertions", "said", "calls"]
"""A part of the score: see `components`."""


class Assertion(Model):
    """A check of the world, and its expected result at the end."""

    check: Text = Field(min_length=1)
    arguments: dict[str, Json] = {}
    expected: bool = True


class ToolUseProblem(Model):
    """The beginning of a conversation, and its expected end.

    Attributes:
        world: the name of the world.
        state: changes to the world's initial state: field -> value, or id -> row of a table, where
            None deletes the row.
        tools: the names of the tools that the student has; None: all of the world.
        earlier: turns of user and assistant before the request, such as worked examples; calls in
            them are not made.
        user: the user who speaks to the student; None if no user answers it.
        gold: the assistant's calls that solve the problem, in order.
        user_gold: the user's calls that solve it; they come after the assistant's.
        basis: the components whose product is the reward.
        assertions: checks of the final state, for the component `assertions`.
        may_differ: the parts of the state that only the assertions judge: fields, and rows such as
            `orders.order_1`. All else must equal the state after the gold calls. None: all parts.
        said: the facts that the student must tell the user, for the component `said`.
        not_said: other facts that it must not tell, so that a list of all possible answers fails.
        said_by: who decides whether they were told: "text" compares words (see
            `fact_matching`); the speaker "judge" also accepts other words.
    """

    world: Text = Field(min_length=1)
    state: dict[str, Json] = {}
    tools: tuple[Text, ...] | None = None
    earlier: Conversation = ()
    user: User | None = None
    gold: tuple[ToolCall, ...] = ()
    user_gold: tuple[ToolCall, ...] = ()
    basis: tuple[Component, ...] = Field(default=("state",), min_length=1)
    assertions: tuple[Assertion, ...] = ()
    may_differ: tuple[Text, ...] | None = None
    said: tuple[Text, ...] = ()
    not_said: tuple[Text, ...] = ()
    said_by: Literal["text", "judge"] = "text"

    @field_validator("earlier")
    @classmethod
    def _earlier_turns_are_answered(cls, earlier: Conversation) -> Conversation:
        if earlier:
            check_chat(earlier)
        return earlier

    @model_validator(mode="after")
    def _basis_has_its_data(self) -> Self:
        self.check_basis({"assertions": self.assertions, "said": self.said, "calls": self.gold})
        hidden = [call.name for call in self.gold if not self.offers(call.name)]
        wordless = [words for words in (*self.said, *self.not_said) if not says(words, words)]
        both = [no for no in self.not_said if any(says(words, no) for words in self.said)]
        for found, what in (
            (hidden, "gold calls {!r}, which is not in `tools`"),
            (wordless, "said or not_said has {!r}, expected a word or a number"),
            (both, "not_said has {!r}, which is in `said`"),
        ):
            if found:
                raise ValueError(what.format(found[0]))
        return self

    def check_basis(self, given: Mapping[str, Collection[Any]]) -> None:
        """Raise ValueError if the basis names a component for which nothing is given."""
        for name in self.basis:
            if not given.get(name, (name,)):
                raise ValueError(f"basis names {name!r}, and the problem has nothing for it")

    def offers(self, tool: str) -> bool:
        """Whether the student has that tool, if the world has it."""
        return self.tools is None or tool in self.tools

    def solved(self, world: World[Any]) -> Any:
        """The state of that world after the gold calls.

        Raises:
            InvalidInstanceError: if a gold call fails.
        """
        world = world.at(world.state.fork())
        plans: tuple[tuple[str, Seat], ...] = (("gold", "assistant"), ("user_gold", "user"))
        for field, by in plans:
            for number, call in enumerate(getattr(self, field)):
                result = world.call(call, by)
                if result.error is not None:
                    raise InvalidInstanceError(
                        f"field {field}.{number}: the call of {call.name} fails: {result.error}"
                    )
        return world.state

    @property
    def asks_judge(self) -> bool:
        """Whether its score needs the speaker "judge"."""
        return "said" in self.basis and self.said_by == "judge"


def faults_in(problem: ToolUseProblem, world: World[Any]) -> Iterator[str]:
    """Why the world cannot pose a problem: the field, and a tool, check or row that is not there.

    The first one counts; later ones may follow from it.
    """
    if problem.world != world.name:
        yield (
            f"field world: it is {problem.world!r}, and the task's world is {world.name!r}: choose "
            "the problem's world (task.world), and give each world a file of its own"
        )
    is_opaque = not (world.shows_state and isinstance(world.state, State))
    compares = "state" in problem.basis and not world.shows_state
    if compares or (is_opaque and (problem.state or problem.may_differ is not None)):
        yield (
            f"field basis, state or may_differ: the state of world {world.name!r} is known only to "
            "its server or simulator, and cannot be set or compared: leave `state` and "
            "`may_differ` out, and take basis from assertions, said and calls"
        )
    try:
        if problem.state:
            world.state.patched(problem.state)
    except KeyError as error:
        yield f"field state: the world's state has no {error}"
    except ValueError as error:
        yield first_fault(error, "state") if isinstance(error, ValidationError) else str(error)
    known, of_user = ({tool.name for tool in world.tools(by)} for by in ("assistant", "user"))
    script = problem.user.calls if isinstance(problem.user, ScriptedUser) else ()
    fields = type(world.state).model_fields
    tables = [name for name in fields if isinstance(getattr(world.state, name), Table)]
    parts = [part.partition(".") for part in problem.may_differ or ()]
    for field, names, there in (
        ("may_differ", [name for name, _, row in parts if not row], fields),
        ("may_differ", [name for name, _, row in parts if row], tables),
        ("tools", problem.tools or (), known),
        ("gold", [call.name for call in problem.gold], known),
        ("user_gold", [call.name for call in problem.user_gold], of_user),
        ("user.calls", [call.name for call in script], of_user),
        ("assertions", [each.check for each in problem.assertions], world.checks),
    ):
        for name in names:
            if name not in there:
                yield f"field {field}: the world has no {name!r} for it.{did_you_mean(name, there)}"
    try:
        where = "assertions"
        for each in problem.assertions:
            where = f"assertions, {each.check}"
            inspect.signature(world.checks[each.check]).bind(world, **each.arguments)
        where = "user.calls"
        for call in script:
            world.methods[call.name].arguments.read(call.arguments)
    except (TypeError, ValueError) as error:
        yield f"field {where}: {error}"


@dataclass(frozen=True)
class Prepared:
    """A problem that its world can pose.

    Attributes:
        world: before any calls; `world.at(state.fork())` gives each conversation its own.
    """

    problem: ToolUseProblem
    world: World[Any]

    @property
    def state(self) -> Any:
        """The first state of the conversation; not to be changed."""
        return self.world.state

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The assistant's tools."""
        return tuple(tool for tool in self.world.tools() if self.problem.offers(tool.name))

    def call(self, world: World[Any], call: ToolCall) -> CallResult:
        """Run a student's call in a world of this problem; other tools than its own fail."""
        if self.problem.offers(call.name):
            return world.call(call)
        return unknown_tool(call.name, self.tools)

    @cached_property
    def gold_state(self) -> Any:
        """The state after the gold calls; not to be changed.

        For a world that does not show its state, it is the first state, and no calls are made.

        Raises:
            InvalidInstanceError: if a gold call fails.
        """
        return self.problem.solved(self.world) if self.world.shows_state else self.state


# --- files of problems ----------------------------------------------------------------------------


_OWN = ("instruction", "skill", "category", "answer")


def to_instance(row: SourceRow, *, task: str, world: str) -> TaskInstance:
    """The problem in a row; if the row names no world, `world` is used.

    Raises:
        InvalidInstanceError: naming the file, the problem and the field.
    """
    id = str(row.values.get("id", row.id))
    where = f"{row.where} (problem {id!r})"
    own = {name: row.values[name] for name in _OWN if name in row.values}
    data = {name: value for name, value in row.values.items() if name not in ("id", *_OWN)}
    problem = parsed(ToolUseProblem, {"world": world, **data}, where)
    if problem.user is None and not own.get("instruction", "-"):
        raise InvalidInstanceError(
            f"{where}: field instruction: it is empty, and there is no user who speaks first"
        )
    kept = problem.model_dump(mode="json", exclude_unset=True)
    return parsed(TaskInstance, {"id": id, "task": task, "data": kept, **own}, where)


def load_problems(path: Path, world: str) -> tuple[TaskInstance, ...]:
    """All problems of a file; those that name no world use `world`.

    Raises:
        ConfigurationError: if the file does not exist.
        InvalidInstanceError: naming the file, the problem and the field.
    """
    instances = tuple(to_instance(row, task=world, world=world) for row in read_rows(path))
    check_ids(instances, str(path))
    return instances
