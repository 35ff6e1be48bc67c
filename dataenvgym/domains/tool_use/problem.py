"""A problem of tool use (the content of `TaskInstance.data`, as JSON), and its world."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
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
        for name, there in (
            ("assertions", self.assertions),
            ("said", self.said),
            ("calls", self.gold),
        ):
            if name in self.basis and not there:
                field = "gold" if name == "calls" else name
                raise ValueError(f"basis names {name!r}, and field {field!r} is empty")
        for number, call in enumerate(self.gold):
            if not self.offers(call.name):
                raise ValueError(f"gold.{number} calls {call.name!r}, which is not in `tools`")
        for number, words in enumerate(self.said):
            if not says(words, words):
                raise ValueError(f"said.{number} is {words!r}, expected a word or a number")
        for number, other in enumerate(self.not_said):
            if not says(other, other) or any(says(words, other) for words in self.said):
                raise ValueError(
                    f"not_said.{number} is {other!r}, expected a word or a number that is not in "
                    "`said`"
                )
        return self

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


def check_fits(problem: ToolUseProblem, world: World[Any]) -> None:
    """Refuse a problem that its world cannot pose.

    Raises:
        ValueError: naming the field, and a tool, check or row that does not exist.
    """
    if problem.world != world.name:
        raise ValueError(
            f"field world: it is {problem.world!r}, and the task's world is {world.name!r}: choose "
            "the problem's world (task.world), and give each world a file of its own"
        )
    opaque = not (world.shows_state and isinstance(world.state, State))
    compared = {
        "basis": "state" in problem.basis and not world.shows_state,
        "state": bool(problem.state) and opaque,
        "may_differ": problem.may_differ is not None and opaque,
    }
    if field := next(filter(compared.get, compared), None):
        raise ValueError(
            f"field {field}: the state of world {world.name!r} is known only to its server or "
            "simulator, and cannot be set or compared: leave `state` and `may_differ` out, and "
            "take basis from assertions, said and calls"
        )
    try:
        if problem.state:
            world.state.patched(problem.state)
    except KeyError as error:
        raise ValueError(f"field state: the world's state has no {error}") from None
    except ValidationError as error:
        raise ValueError(first_fault(error, "state")) from None
    for number, part in enumerate(problem.may_differ or ()):
        name, dot, _ = part.partition(".")
        fields = type(world.state).model_fields
        _check_known(f"may_differ.{number}", "field", name, fields)
        if dot and not isinstance(getattr(world.state, name), Table):
            raise ValueError(f"field may_differ.{number}: {name} is not a table, got {part!r}")
    known = {tool.name for tool in world.tools()}
    of_user = {tool.name for tool in world.tools("user")}
    script = problem.user.calls if isinstance(problem.user, ScriptedUser) else ()
    for number, name in enumerate(problem.tools or ()):
        _check_known(f"tools.{number}", "tool", name, known)
    for number, call in enumerate(problem.gold):
        _check_known(f"gold.{number}.name", "tool", call.name, known)
    for field, calls in (("user_gold", problem.user_gold), ("user.calls", script)):
        for number, call in enumerate(calls):
            _check_known(f"{field}.{number}.name", "tool of the user", call.name, of_user)
    for number, call in enumerate(script):
        try:
            world.methods[call.name].arguments.read(call.arguments)
        except ValueError as error:
            raise ValueError(f"field user.calls.{number}.arguments: {error}") from None
    for number, assertion in enumerate(problem.assertions):
        _check_known(f"assertions.{number}.check", "check", assertion.check, world.checks)
        try:
            inspect.signature(world.checks[assertion.check]).bind(world, **assertion.arguments)
        except TypeError as error:
            raise ValueError(f"field assertions.{number}.arguments: {error}") from None


def _check_known(field: str, kind: str, name: str, known: Mapping[str, Any] | set[str]) -> None:
    if name not in known:
        raise ValueError(
            f"field {field}: the world has no {kind} {name!r}.{did_you_mean(name, known)}"
        )


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
_KNOWN = ("id", *_OWN, *ToolUseProblem.model_fields)


def to_instance(row: SourceRow, *, task: str, world: str) -> TaskInstance:
    """The problem in a row; if the row names no world, `world` is used.

    Raises:
        InvalidInstanceError: naming the file, the problem and the field.
    """
    id = str(row.values.get("id", row.id))
    where = f"{row.where} (problem {id!r})"
    for name in row.values:
        if name not in _KNOWN:
            raise InvalidInstanceError(
                f"{where}: there is no field {name!r}.{did_you_mean(name, _KNOWN)} "
                f"The fields are: {', '.join(_KNOWN)}."
            )
    own: dict[str, Any] = {name: row.values[name] for name in _OWN if name in row.values}
    data = {name: row.values[name] for name in row.values if name not in ("id", *_OWN)}
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
