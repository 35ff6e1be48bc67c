"""A domain of tau2 as a world: its state is tau2's own environment, both databases included."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from pydantic import Field

from dataenvgym.domains.tool_use.tau2.task_file import Action, InitialState
from dataenvgym.errors import EvaluationError, shorten
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.tasks.worlds.state import State
from dataenvgym.tasks.worlds.time_limit import within
from dataenvgym.tasks.worlds.world import CallResult, Seat, World

SEATS: tuple[Seat, ...] = ("assistant", "user")


class Made(NamedTuple):
    """A call that was made, successful or not."""

    by: Seat
    call: ToolCall


class Tau2State(State):
    """An environment of tau2, and the calls made in it.

    A state is not changed after it was forked: each call that may write makes a state of its own.

    Attributes:
        environment: with the databases; equal states have equal hashes of both, as tau2 computes
            them.
        made: the calls of both seats.
        user_tools: the names of the user's tools; None means all.
    """

    environment: Any = Field(exclude=True)
    made: tuple[Made, ...] = Field(default=(), exclude=True)
    user_tools: tuple[str, ...] | None = None

    def fork(self) -> Self:
        return self.model_copy(update={"environment": copy.deepcopy(self.environment)})

    def patched(self, changes: Mapping[str, Any]) -> Self:
        """The state at the beginning of a task.

        Args:
            changes: `initial_state` and `user_tools`, in the form of tau2's tasks.

        Raises:
            KeyError: for another name.
            ValueError: if the environment refuses it.
        """
        state = self.fork()
        if not changes:
            return state
        if unknown := changes.keys() - {"initial_state", "user_tools"}:
            raise KeyError(*unknown)
        if changes.get("user_tools") is not None:
            state.user_tools = tuple(changes["user_tools"])
        initial = InitialState.model_validate(changes.get("initial_state") or {})
        try:
            state._begin(initial)
        except Exception as error:  # the environment's own code may raise anything
            raise ValueError(f"field initial_state: {type(error).__name__}: {error}") from error
        return state

    def _begin(self, initial: InitialState) -> None:
        self.environment.set_state(
            initialization_data=initial.initialization_data,
            initialization_actions=initial.initialization_actions,
            message_history=[],
        )
        _share(self.environment)
        past = initial.message_history or ()
        for message in past:
            for call in message.tool_calls or ():
                by: Seat = "user" if message.role == "user" else "assistant"
                made = Made(by, ToolCall(name=call.name, arguments=call.arguments))
                response(self.environment, made)
                self.made += (made,)

    def after(self, actions: Sequence[Action]) -> Self:
        """The state after gold calls. A call that fails is ignored, as in tau2.

        The stores of the two seats are synchronized after each call, as in a conversation; tau2
        does not do that here.
        """
        state = self.fork()
        for action in actions:
            try:
                state.environment.make_tool_call(
                    action.name, requestor=action.requestor, **copy.deepcopy(action.arguments)
                )
                state.environment.sync_tools()
            except Exception:  # noqa: BLE001  a gold call may fail, as tau2 itself has it
                continue
        return state

    @property
    def hashes(self) -> tuple[str | None, str | None]:
        """tau2's hashes of the assistant's and the user's database."""
        return self.environment.get_db_hash(), self.environment.get_user_db_hash()

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.hashes).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tau2State) and self.hashes == other.hashes

    __hash__ = None  # type: ignore[assignment]


class Tau2World(World[Tau2State]):
    """A domain's tools over its databases.

    Calls are answered as in tau2, errors included. But a call that fails leaves the databases
    unchanged, even if tau2's tool had begun to change them.

    Args:
        name: of the domain.
        environment: of tau2.
    """

    def __init__(self, name: str, environment: Any) -> None:
        self.name = name
        self.policy = environment.get_policy()
        _share(environment)
        self._environment = environment
        self._tools = {seat: _tools(environment, seat) for seat in SEATS}
        self.checks = {
            f"{seat}.{method}": partial(_check, seat=seat, method=method)
            for seat in SEATS
            for kit in [type(_toolkit(environment, seat))]
            for method in dir(kit)
            if not method.startswith("_") and callable(getattr(kit, method))
        }
        super().__init__()

    def initial(self) -> Tau2State:
        return Tau2State(environment=copy.deepcopy(self._environment))

    def tools(self, by: Seat = "assistant") -> tuple[Tool, ...]:
        tools, names = self._tools[by], self.state.user_tools
        if by == "assistant" or names is None:
            return tools
        return tuple(tool for tool in tools if tool.name in names)

    def writes(self, name: str, by: Seat) -> bool:
        """Whether that tool may change the databases; False for an unknown tool."""
        kit = _toolkit(self.state.environment, by)
        return kit is not None and kit.has_tool(name) and bool(kit.tool_mutates_state(name))

    def call(self, call: ToolCall, by: Seat = "assistant") -> CallResult:
        before = self.state
        state = before.fork() if self.writes(call.name, by) else before.model_copy()
        made = Made(by, call)
        state.made += (made,)
        try:
            found = within(self.time_limit, partial(response, state.environment, made))
        except Exception as error:
            raise EvaluationError(
                f"tool {call.name} of tau2's {self.name} raised {type(error).__name__}: "
                f"{shorten(str(error), 100)}"
            ) from error
        if found.error:
            self.state = before.model_copy(update={"made": state.made})
            return CallResult(found.content, found.content.removeprefix("Error: "))
        self.state = state
        return CallResult(found.content)


def response(environment: Any, made: Made) -> Any:
    """tau2's answer to a call: its `content`, and whether it is an `error`."""
    return environment.get_response(
        SimpleNamespace(
            id="",
            name=made.call.name,
            arguments=copy.deepcopy(made.call.arguments),
            requestor=made.by,
        )
    )


def past_messages(initial: InitialState) -> list[Message]:
    """The history of a task, as its assistant saw it: without the user's calls."""
    messages = []
    for past in initial.message_history or ():
        if past.requestor == "user" or (past.role == "user" and past.tool_calls):
            continue
        calls = [ToolCall(name=c.name, arguments=c.arguments) for c in past.tool_calls or ()]
        messages.append(
            Message(role=past.role, content=past.content or "", tool_calls=tuple(calls))
        )
    return messages


def _check(world: Tau2World, /, *, seat: Seat, method: str, **arguments: Any) -> Any:
    environment = copy.deepcopy(world.state.environment)
    return environment.run_env_function_call(
        SimpleNamespace(env_type=seat, func_name=method, arguments=arguments)
    )


def _toolkit(environment: Any, seat: Seat) -> Any:
    return environment.user_tools if seat == "user" else environment.tools


def _tools(environment: Any, seat: Seat) -> tuple[Tool, ...]:
    if _toolkit(environment, seat) is None:
        return ()
    found = environment.get_user_tools() if seat == "user" else environment.get_tools()
    schemas = sorted((tool.openai_schema for tool in found), key=lambda s: s["function"]["name"])
    return tuple(Tool.model_validate(schema) for schema in schemas)


def _share(environment: Any) -> None:
    for seat in SEATS:
        toolkit = _toolkit(environment, seat)
        if toolkit is not None and toolkit.db is not None:
            share_rows(toolkit.db)


# --- database rows that forks share ---------------------------------------------------------------


class SharedRows(dict[Any, Any]):
    """A dict whose deep copies share its values until they are read.

    Code that reads the dict's memory directly, such as pydantic's serializer, sees the right
    values, and must not change them.
    """

    def __init__(self, rows: Any = ()) -> None:
        super().__init__(rows)
        self._own: set[Any] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedRows:
        self._own.clear()  # from now on both share these values
        twin = SharedRows(dict.items(self))
        memo[id(self)] = twin
        return twin

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if key not in self._own:
            value = copy.deepcopy(value)
            self[key] = value
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._own.add(key)

    def __iter__(self) -> Iterator[Any]:  # makes dict(rows) and {**rows} read each item
        return super().__iter__()

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def pop(self, key: Any, *default: Any) -> Any:
        if key in self:
            self[key]
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self), None)
        return key, self.pop(key)

    get: Any = Mapping.get  # this and the following go through `__getitem__`
    values: Any = Mapping.values
    items: Any = Mapping.items
    setdefault: Any = MutableMapping.setdefault
    update: Any = MutableMapping.update


def share_rows(database: Any) -> None:
    """Let deep copies of a database share the rows of its tables."""
    for name, value in vars(database).items():
        if type(value) is dict:
            database.__dict__[name] = SharedRows(value)
