"""A world: methods that a student calls as tools, and the state that they read and write.

    class Lamp(State):
        is_on: bool = False

    class Room(World[Lamp]):
        '''A room with a lamp.'''

        name = "room"

        def initial(self):
            return Lamp()

        @tool(writes=True)
        def switch(self, on: bool) -> str:
            '''Switch the lamp.

            Args:
                on: whether it is on afterwards.
            '''
            self.state.is_on = on
            return "done"

        @check
        def is_dark(self) -> bool:
            return not self.state.is_on

A call that fails changes nothing. A tool refuses with `raise ToolError("...")`, which the student
reads. Any other exception is an error in the world, not the student's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

from pydantic import ValidationError
from pydantic_core import to_json

from dataenvgym.errors import ConfigurationError, EvaluationError, did_you_mean, escaped, shorten
from dataenvgym.records import Tool, ToolCall
from dataenvgym.tasks.worlds.schemas import Arguments, tool_of
from dataenvgym.tasks.worlds.state import State, WorldState
from dataenvgym.tasks.worlds.time_limit import within

StateT = TypeVar("StateT", bound=WorldState)
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Seat = Literal["assistant", "user"]
_MARK, _CHECK = "_dataenvgym_tool", "_dataenvgym_check"
_MOST_SHOWN, _MOST_REFUSED = 100, 500  # characters of a message
MOST_IN_RESULT = 100_000
"""Characters of a tool's result; the rest is cut, and the caller is told."""


class ToolError(Exception):
    """Raised by a tool that refuses; the caller reads the message, at most 500 characters of it."""


@dataclass(frozen=True)
class CallResult:
    """The result of a call.

    Attributes:
        content: for the caller.
        error: why the call failed, or None; the state is then unchanged.
    """

    content: str
    error: str | None = None


@dataclass(frozen=True)
class ToolMethod:
    """A method marked as a tool.

    Attributes:
        writes: whether it may change the state.
        by: who may call it.
    """

    tool: Tool
    arguments: Arguments
    run: Callable[..., Any]
    writes: bool
    by: tuple[Seat, ...]


@overload
def tool(method: FunctionT, /) -> FunctionT: ...
@overload
def tool(
    *, writes: bool = False, by: Seat | tuple[Seat, ...] = "assistant"
) -> Callable[[FunctionT], FunctionT]: ...
def tool(
    method: Callable[..., Any] | None = None,
    /,
    *,
    writes: bool = False,
    by: Seat | tuple[Seat, ...] = "assistant",
) -> Any:
    """Mark a method of a world as a tool; models see its name, types and docstring.

    Args:
        writes: whether it may change the state.
        by: who may call it: the assistant, the user, or both.
    """

    def mark(function: FunctionT) -> FunctionT:
        seats = (by,) if isinstance(by, str) else tuple(by)
        setattr(function, _MARK, (writes, seats))
        return function

    return mark if method is None else mark(method)


def check(method: FunctionT) -> FunctionT:
    """Mark a method of a world as an assertion over its state; it returns a bool."""
    setattr(method, _CHECK, True)
    return method


class World(ABC, Generic[StateT]):
    """Tools over a state. One object is one conversation's world.

    The state is a `State`, or any other `WorldState`, such as a simulator that can be copied. A
    simulator that cannot be copied sets `shows_state = False`, and overrides `call`, `at` and
    `close`.

    Attributes:
        name: of the world.
        policy: the rules for the assistant, in plain words.
        time_limit: seconds that one call may take.
        shows_state: whether `state` is the whole world, so that two worlds can be compared.
        methods: the tools by name.
        checks: the assertions over the state by name.
    """

    name: str
    policy: str = ""
    time_limit: ClassVar[float] = 10.0
    shows_state: ClassVar[bool] = True
    methods: Mapping[str, ToolMethod]
    checks: Mapping[str, Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
        found = {name: getattr(cls, name) for name in names if not name.startswith("__")}
        methods: dict[str, ToolMethod] = {}
        for name, function in found.items():
            if hasattr(function, _MARK):
                writes, seats = getattr(function, _MARK)
                arguments = Arguments(function)
                described = tool_of(name, function, arguments)
                methods[name] = ToolMethod(described, arguments, function, writes, seats)
        cls.methods = methods
        cls.checks = {name: f for name, f in found.items() if hasattr(f, _CHECK)}

    def __init__(self) -> None:
        state = self.initial()
        self.state: StateT = state.settled() if isinstance(state, State) else state

    @abstractmethod
    def initial(self) -> StateT:
        """The state that tasks start from, before their own changes; always the same."""

    def at(self, state: StateT) -> Self:
        """A copy of the world on another state, which it may change."""
        world = object.__new__(type(self))
        world.__dict__.update(self.__dict__)
        world.state = state
        return world

    def close(self) -> None:
        """Release the conversation's resources, such as a connection."""

    def tools(self, by: Seat = "assistant") -> tuple[Tool, ...]:
        """The tools of that seat, in the order of the class."""
        return tuple(m.tool for m in self.methods.values() if by in m.by)

    def call(self, call: ToolCall, by: Seat = "assistant") -> CallResult:
        """Run one call. If it fails, the state is unchanged.

        Raises:
            EvaluationError: if the tool's code raises anything but ToolError, runs too long,
                returns something that is not JSON, changes the state although it should only read,
                or replaces it by an object that is not a state.
        """
        method = self.methods.get(call.name)
        if method is None or by not in method.by:
            return unknown_tool(call.name, self.tools(by))
        try:
            arguments = method.arguments.read(call.arguments)
        except ValueError as error:
            return _failed(f"{call.name}: {error}")
        before = self.state
        self.state = before.fork()
        try:
            value = within(self.time_limit, method.run, self, **arguments)
            content = value if isinstance(value, str) else to_json(value).decode()
            if not content.isascii():
                content.encode()  # a lone surrogate is refused
            if not isinstance(self.state, type(before)):
                left, wanted = type(self.state).__name__, type(before).__name__
                raise EvaluationError(f"it left {left} as the state, expected {wanted}")
            if not method.writes and self.state != before:
                raise EvaluationError("it changed the state: mark it with @tool(writes=True)")
        except ToolError as error:
            self.state = before
            return _failed(escaped(shorten(str(error), _MOST_REFUSED)))
        except BaseException as error:
            self.state = before
            if not isinstance(error, Exception | SystemExit):
                raise
            raise EvaluationError(
                f"tool {call.name} of world {self.name!r} failed: {_explained(error)}"
                f"{_place(error, type(self).__module__)}"
            ) from error
        if not method.writes:
            self.state = before
        return CallResult(limited(content))

    def holds(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether an assertion over the state holds.

        Raises:
            ConfigurationError: if there is no such assertion.
            EvaluationError: if it raises, changes the state, or does not return a bool.
        """
        if name not in self.checks:
            raise ConfigurationError(
                f"world {self.name!r} has no check {name!r}.{did_you_mean(name, self.checks)} "
                f"It has: {', '.join(self.checks) or 'none'}."
            )
        before = self.state
        self.state = before.fork()
        try:
            value = within(self.time_limit, self.checks[name], self, **arguments)
            changed = self.state != before
        except (Exception, SystemExit) as error:
            raise EvaluationError(
                f"check {name} of world {self.name!r} raised {type(error).__name__}: "
                f"{shorten(str(error), _MOST_SHOWN)}"
            ) from error
        finally:
            self.state = before
        if changed or not isinstance(value, bool):
            did = "changed the state" if changed else f"returned {value!r}"
            raise EvaluationError(
                f"check {name} of world {self.name!r} {did}, expected True or False"
            )
        return value


def unknown_tool(name: str, tools: Iterable[Tool]) -> CallResult:
    """The result of a call of a tool that is not among these."""
    known = ", ".join(tool.name for tool in tools)
    return _failed(f"there is no tool {shorten(name, _MOST_SHOWN)!r}; the tools are: {known}")


def limited(result: str) -> str:
    """The result of a tool, cut after `MOST_IN_RESULT` characters; the caller reads that."""
    if len(result) <= MOST_IN_RESULT:
        return result
    return (
        f"{result[:MOST_IN_RESULT]}\n[cut: these are {MOST_IN_RESULT:,} of {len(result):,} "
        "characters; ask for less]"
    )


def _failed(reason: str) -> CallResult:
    return CallResult(f"Error: {reason}", reason)


def _explained(error: BaseException) -> str:
    """Describe an error in a tool; if it set a field of a row, say how to change rows."""
    if isinstance(error, EvaluationError):
        return shorten(str(error), _MOST_SHOWN)
    if isinstance(error, ValidationError) and error.errors()[0]["type"] == "frozen_instance":
        field = error.errors()[0]["loc"][0]
        return f"a row cannot change in place: write table[id] = row.changed({field}=...)"
    return f"{type(error).__name__}: {shorten(str(error), _MOST_SHOWN)}"


def _place(error: BaseException, module: str) -> str:
    """The last line of the world's module that the error came through, such as " (shop.py:31)"."""
    lines = (
        f" ({Path(frame.f_code.co_filename).name}:{line})"
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") == module
    )
    *_, last = ("", *lines)
    return last
