"""The checks on the tools of a world: every call is watched, and each tool is tried on its own."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from random import Random
from time import perf_counter
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dataenvgym.errors import EvaluationError, shorten
from dataenvgym.records import Tool, ToolCall
from dataenvgym.tasks.worlds import time_limit
from dataenvgym.tasks.worlds.audit import Audit, Violation
from dataenvgym.tasks.worlds.audit.legal_values import LegalValues
from dataenvgym.tasks.worlds.world import MOST_IN_RESULT, Seat, World

SLOWEST = 0.1
"""Seconds of the fastest call of a tool, at most."""
_LEGAL, _UNKNOWN = 6, 3  # calls that try each tool
_WATCHED = 50  # calls of each tool that are watched for clocks and chance
_NO_SUCH_ID = "no_such_thing_0"
_DEEPEST = 6
_SHOWN = 160
Made = tuple[ToolCall, Seat]


@dataclass(frozen=True)
class Played:
    """Calls from a first state, and their outcome.

    Attributes:
        changes: to the world's first state, as in a problem.
        results: of each call, or None if it failed.
        state: the digest of the final state.
    """

    changes: Mapping[str, Any]
    calls: Sequence[Made]
    results: Sequence[str | None]
    state: str


@dataclass
class ToolsAudit:
    """Watches the calls of an audit, and notes what no tool may do.

    Attributes:
        played: what another process has to repeat.
        seconds: the fastest call of each tool.
        watched: how many calls of each tool were watched for clocks and chance.
    """

    done: Audit
    world: World[Any]
    played: list[Played] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    watched: Counter[str] = field(default_factory=Counter)

    def call(self, world: World[Any], call: ToolCall, by: Seat = "assistant") -> str | None:
        """The result, or None if the tool refuses; if its code fails, that is noted."""
        watched = asked() if self.watched[call.name] < _WATCHED else nullcontext(set[str]())
        self.watched[call.name] += 1
        began = perf_counter()
        try:
            with watched as impure:
                result = world.call(call, by)
        except EvaluationError as error:
            self.note("tools", str(error))
            return None
        finally:
            took = perf_counter() - began
            self.seconds[call.name] = min(took, self.seconds.get(call.name, took))
        for name in sorted(impure):
            self.note("same twice", f"tool {call.name} asks {name}; use self.state.now and new_id")
        if len(result.content) > MOST_IN_RESULT:
            self.note("tools", f"a result of tool {call.name} is cut: {result.content[-80:]}")
        return None if result.error is not None else result.content

    def try_each(self, values: LegalValues, rng: Random) -> None:
        """Call each tool with legal arguments, and with ids that do not exist."""
        if self.world.initial().settled() != self.world.initial().settled():
            self.note("same twice", "initial() returns another state each time")
        for by in ("assistant", "user"):
            for tool in self.world.tools(by):
                self._try(tool, by, values, rng)

    def _try(self, tool: Tool, by: Seat, values: LegalValues, rng: Random) -> None:
        calls = [values.draw(tool, rng) for _ in range(_LEGAL)]
        calls += [_with_unknown_ids(tool, values.draw(tool, rng)) for _ in range(_UNKNOWN)]
        start, outside = self.world.state.digest(), _outside(self.world)
        faults = len(self.done.violations)
        plays: list[tuple[World[Any], list[str | None], str]] = []
        for _ in range(2):
            world = self.world.at(self.world.state.fork())
            results = []
            for call in calls:
                results.append(self.call(world, call, by))
                if len(self.done.violations) > faults:  # one is enough
                    return
            plays.append((world, results, world.state.digest()))
        (one, results, state), (two, *again) = plays
        self.played.append(Played({}, [(call, by) for call in calls], results, state))
        if [results, state] != again:
            self.note(
                "same twice", f"calls of tool {tool.name} have other results or another state"
            )
        elif one.state != two.state:
            self.note("same twice", f"tool {tool.name} leaves a state that differs from itself")
        if self.world.state.digest() != start:
            self.note("outside", f"tool {tool.name} changes a row in place: rows are shared")
        now = _outside(two)
        for place in sorted(name for name in now | outside if now.get(name) != outside.get(name)):
            self.note("outside", f"tool {tool.name} changes {place}: keep all in self.state")

    def note_slow(self) -> None:
        """Note tools whose fastest call was slow."""
        for name, seconds in self.seconds.items():
            if seconds > SLOWEST:
                self.note(
                    "tools", f"tool {name} takes {seconds:.2g} s, expected {SLOWEST:g} s at most"
                )

    def note(self, check: str, detail: str, problem: str = "") -> None:
        """Note a violation, by default of the world."""
        self.done.violations.append(Violation(check, problem, shorten(detail, _SHOWN)))


def _with_unknown_ids(tool: Tool, call: ToolCall) -> ToolCall:
    """The call with each plain text, and each in a list, replaced by an id that does not exist."""
    properties: Any = tool.parameters.get("properties", {})
    arguments: dict[str, Any] = dict(call.arguments)
    for name, value in arguments.items():
        several = isinstance(value, list)
        schema = properties[name].get("items", {}) if several else properties[name]
        is_text = isinstance(value[0] if several and value else value, str)
        if is_text and not schema.keys() & {"enum", "const", "format", "pattern", "$ref"}:
            arguments[name] = [_NO_SUCH_ID] if several else _NO_SUCH_ID
    return call.model_copy(update={"arguments": arguments})


# --- what tools could change besides the state ----------------------------------------------------


def _outside(world: World[Any]) -> dict[str, Any]:
    """Copies of all values that a tool's code can reach easily, without the state, by place."""
    kind = type(world)
    found: dict[str, Any] = {
        "the environment's variables": dict(os.environ),
        "the current folder": os.getcwd(),
        "the global random generator": random.getstate(),
    }
    for name, value in vars(world).items():
        if name != "state" and not isinstance(getattr(kind, name, None), cached_property):
            found[f"the world's attribute {name}"] = _copied(value)
    own = [each for each in kind.__mro__ if issubclass(each, World) and each is not World]
    for cls in own:
        for name, value in _values_of(cls):
            found[f"the class's {name}"] = _copied(value)
    for module in {sys.modules.get(cls.__module__) for cls in own} - {None}:
        for name, value in _values_of(module):
            if not isinstance(value, type | ModuleType):
                found[f"the module's {name}"] = _copied(value)
    return found


def _values_of(place: Any) -> Iterator[tuple[str, Any]]:
    hidden = ("_abc_impl", "methods", "checks")
    return ((k, v) for k, v in vars(place).items() if k[:2] != "__" and k not in hidden)


def _copied(value: Any, depth: int = 0) -> Any:
    """A copy of plain values that can be compared; of other objects, their attributes."""
    deeper = depth + 1
    if depth > _DEEPEST or isinstance(value, type | ModuleType | World):
        return None
    if value is None or isinstance(value, str | int | float | bytes):
        return value
    if isinstance(value, Mapping):
        return [(_copied(k, deeper), _copied(v, deeper)) for k, v in value.items()]
    if isinstance(value, Random):
        return value.getstate()
    if isinstance(value, MethodType):
        return _copied(value.__func__, depth)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return _copied([value.__defaults__, cells, vars(value)], deeper)
    if isinstance(value, list | tuple | set | frozenset | bytearray) or hasattr(value, "popleft"):
        return [_copied(each, deeper) for each in value]
    try:
        return _copied(vars(value), deeper)
    except TypeError:
        return repr(value)  # such as count(3)


# --- clocks, chance and the machine, which differ between replays ---------------------------------

_ASKED = {
    "time": "time time_ns localtime gmtime ctime asctime strftime perf_counter perf_counter_ns "
    "monotonic monotonic_ns process_time process_time_ns thread_time thread_time_ns clock_gettime "
    "clock_gettime_ns",
    "posix": "urandom getrandom getpid getppid times stat lstat fstat listdir scandir getcwd uname "
    "getloadavg",
    "_thread": "get_ident get_native_id",
    "_uuid": "generate_time_safe",
}
_IMPURE = {f"{module}.{name}" for module, names in _ASKED.items() for name in names.split()}
_NOT_TOOLS = frozenset(
    {time_limit.__name__, "_strptime", "logging", "importlib._bootstrap_external"}
)
_SEED = random.Random.__init__.__code__
_IMPORT = sys.modules["_frozen_importlib"]._find_and_load.__code__


@contextmanager
def asked() -> Iterator[set[str]]:
    """Names of the varying facts that this thread reads in the block, such as "datetime.now".

    Clocks, chance, and the machine's processes and files. Only Python calls are seen, and not those
    of an import, which a process makes once; the block runs more slowly.
    """
    found: set[str] = set()
    imports = 0

    def watch(frame: Any, event: str, function: Any) -> None:
        nonlocal imports
        if frame.f_code is _IMPORT:
            imports += (event == "call") - (event == "return")
        elif imports:
            return
        elif event == "call" and frame.f_code is _SEED and frame.f_locals["x"] is None:
            found.add("random.Random() without a seed")
        elif event == "c_call" and frame.f_globals.get("__name__") not in _NOT_TOOLS:
            found.update(filter(None, [_impure(function)]))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(before)


def _impure(function: Any) -> str | None:
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, date):
        return f"{owner.__name__}.{name}" if name in ("now", "today", "utcnow") else None
    if owner is random._inst or type(owner).__module__ == "numpy.random.mtrand":
        return "the global random generator"
    place = f"{owner.__name__}.{name}" if isinstance(owner, ModuleType) else ""
    return place.replace("posix.", "os.").lstrip("_") if place in _IMPURE else None
