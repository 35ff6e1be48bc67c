"""A problem of tool use: the content of `TaskInstance.data`, as JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from dataenvgym.errors import InvalidInstanceError, did_you_mean
from dataenvgym.records import Json, Model, TaskInstance, Text, ToolCall
from dataenvgym.tasks.tool_use.said import says
from dataenvgym.tasks.tool_use.users import ScriptedUser, User
from dataenvgym.tasks.tool_use.world import World

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
        user: the user who speaks to the student; None if no user answers it.
        gold: the assistant's calls that solve the problem, in order.
        user_gold: the user's calls that solve it; they come after the assistant's.
        basis: the components whose product is the reward.
        assertions: checks of the final state, for the component `assertions`.
        said: the facts that the student must tell the user, for the component `said`.
        said_by: who decides whether they were told: "text" compares words (see `said`); the speaker
            "judge" also accepts other words.
    """

    world: Text = Field(min_length=1)
    state: dict[str, Json] = {}
    user: User | None = None
    gold: tuple[ToolCall, ...] = ()
    user_gold: tuple[ToolCall, ...] = ()
    basis: tuple[Component, ...] = Field(default=("state",), min_length=1)
    assertions: tuple[Assertion, ...] = ()
    said: tuple[Text, ...] = ()
    said_by: Literal["text", "judge"] = "text"

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
        for number, words in enumerate(self.said):
            if not says(words, words):
                raise ValueError(f"said.{number} is {words!r}, expected a word or a number")
        return self

    @property
    def asks_judge(self) -> bool:
        """Whether its score needs the speaker "judge"."""
        return "said" in self.basis and self.said_by == "judge"


ProblemT = TypeVar("ProblemT", bound=ToolUseProblem)


def problem_of(
    instance: TaskInstance,
    kind: type[ProblemT] = ToolUseProblem,  # type: ignore[assignment]
) -> ProblemT:
    """The problem in an instance.

    Raises:
        InvalidInstanceError: naming the instance and the field.
    """
    try:
        return kind.model_validate(instance.data)
    except ValidationError as error:
        raise InvalidInstanceError(f"instance {instance.id!r}: {complaint(error)}") from None


def complaint(error: ValidationError, within: str = "") -> str:
    """The first error in one line, with the field, which is inside the field `within`."""
    first = error.errors(include_url=False)[0]
    field = ".".join(filter(None, (within, *map(str, first["loc"])))) or "(whole problem)"
    found = repr(first["input"])
    shown = found if len(found) <= 100 else found[:100] + "..."
    return f"field {field}: {first['msg']}; found {shown}"


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
    if not world.shows_state and ("state" in problem.basis or problem.state):
        field = "basis" if "state" in problem.basis else "state"
        raise ValueError(
            f"field {field}: the state of world {world.name!r} is behind the tools of its server, "
            "and cannot be set or compared: leave `state` empty, and take basis from assertions, "
            "said and calls"
        )
    try:
        world.state.patched(problem.state)
    except KeyError as error:
        raise ValueError(f"field state: the world's state has no {error}") from None
    except ValidationError as error:
        raise ValueError(complaint(error, "state")) from None
    for field, by in (("gold", "assistant"), ("user_gold", "user")):
        known = {tool.name for tool in world.tools(by)}  # type: ignore[arg-type]
        for number, call in enumerate(getattr(problem, field)):
            _check_known(f"{field}.{number}.name", "tool", call.name, known)
    if isinstance(problem.user, ScriptedUser):
        _check_script(problem.user, world)
    for number, assertion in enumerate(problem.assertions):
        _check_known(f"assertions.{number}.check", "check", assertion.check, world.checks)
        try:
            inspect.signature(world.checks[assertion.check]).bind(world, **assertion.arguments)
        except TypeError as error:
            raise ValueError(f"field assertions.{number}.arguments: {error}") from None


def _check_script(script: ScriptedUser, world: World[Any]) -> None:
    known = {tool.name for tool in world.tools("user")}
    for number, call in enumerate(script.calls):
        _check_known(f"user.calls.{number}.name", "tool of the user", call.name, known)
        try:
            world.methods[call.name].arguments.read(call.arguments)
        except ValueError as error:
            raise ValueError(f"field user.calls.{number}.arguments: {error}") from None


def _check_known(field: str, kind: str, name: str, known: Mapping[str, Any] | set[str]) -> None:
    if name not in known:
        raise ValueError(
            f"field {field}: the world has no {kind} {name!r}.{did_you_mean(name, known)}"
        )
