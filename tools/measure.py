"""Measures how thick the package is to read: `make measure`, or `python -m tools.measure`.

First the counts of `tools/ratchet.py` beside their aims; then what a reader follows, traced in the
default episode. Functions of other packages do not count; a hop is a change of the module from one
call to the next.

- a run: the modules that are loaded when a run of the default episode has ended;
- a step: all calls below `TeachingEnvironment.step`, and how many frames deep they are;
- a record: those of them with the step's first record, or its instruction, in an argument, also
  inside of containers and data models;
- an option: the calls with its value in an argument, in a dry run with `environment.replay=7919`,
  and those of them before Hydra parses it.

Last, all options by where they are set: YAML, pages, examples, only tests, or nowhere.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import is_dataclass
from itertools import pairwise
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

from pydantic import BaseModel

from tools.ratchet import BESIDE, RECORDS, ROOMS, ROOT, code_lines, counts, options, read

PACKAGE = ROOT / "dataenvgym"
_REPLAY = "7919"
_LEVELS = 4


class Call(NamedTuple):
    """A call: its module and function, and whether an argument holds the mark."""

    module: str
    function: str
    is_marked: bool


def main() -> None:
    """Print the counts with their aims, then the traces."""
    step, depth, loaded = trace_step()  # before others load modules
    option = trace_option()
    package = read()
    now, records = counts(package), json.loads(RECORDS.read_text())
    lines = sum(map(code_lines, package.values()))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef)
    n_functions = sum(len(m.nodes[kind]) for m in package.values() for kind in definitions)
    for title, is_room in (("code lines", True), ("counts", False)):
        print(f"{title:<50} {'now':>8} {'record':>8} {'aim':>8}")
        for name, count in now.items():
            if (name in (*ROOMS, *BESIDE)) == is_room:
                known = (records[kind].get(name, "") for kind in ("recorded", "aims"))
                print(f"  {name:<48}", *(f"{n:>8,}" if n else "" for n in (count, *known)))
    print("planned:", ", ".join(f"{name} {count:,}" for name, count in records["planned"].items()))
    rows = {
        "package: code lines": lines,
        "package: files": len(package),
        "package: code lines per function": f"{lines / n_functions:.1f}",
        "tests: code lines": sum(map(code_lines, read(ROOT, "tests").values())),
        "core files that name a shipped domain": sum(
            "domains." in module.text
            for path, module in package.items()
            if "domains" not in path.parts
        ),
        "modules that `from dataenvgym import OpenEnded` loads": imported("OpenEnded"),
        "modules that a run loads": loaded,
        "one step": f"{walked(step)}, {depth} frames deep",
        "one record": walked(marked := [call for call in step if call.is_marked]) + hops(marked),
        "one option": walked(marked := [call for call in option if call.is_marked]) + hops(marked),
        "... before Hydra parses it": walked(marked := before_hydra(marked)) + hops(marked),
    }
    for name, value in rows.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        aim = records["aims"].get(name)
        print(f"{name:<55} {shown}" + (f"   aim {aim:,}" if aim else ""))
    _, places = options()
    for place in sorted({*places.values()}):
        names = [name for name, where in places.items() if where == place]
        print(f"options by where they are set, {place}: {len(names)}: {', '.join(names)}")


def walked(calls: Sequence[Call]) -> str:
    """The modules and functions of calls."""
    modules = {call.module for call in calls}
    return f"{len(modules)} modules, {len({call[:2] for call in calls})} functions"


def hops(calls: Sequence[Call]) -> str:
    """How often the module changes from one call to the next."""
    return f", {sum(one.module != other.module for one, other in pairwise(calls))} hops"


def before_hydra(calls: Sequence[Call]) -> list[Call]:
    """The calls up to the one that gives an override to Hydra's parser."""
    ends = (n for n, call in enumerate(calls, 1) if call.function == "_apply")
    return list(calls[: next(ends)])


def holds(value: Any, mark: str, levels: int = _LEVELS) -> bool:
    """Whether a value is the mark or a text with it, also inside of containers and data models."""
    if isinstance(value, str | int):
        return mark in value if isinstance(value, str) else str(value) == mark
    if isinstance(value, dict):
        inner: Any = (*value, *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif isinstance(value, BaseModel) or is_dataclass(value):
        inner = tuple(getattr(value, "__dict__", {}).values())
    else:
        return False
    return levels > 0 and any(holds(each, mark, levels - 1) for each in inner)


@contextmanager
def traced(see: Callable[[FrameType], None]) -> Iterator[None]:
    """Show each call of a function of the package, in this thread and in new ones."""

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = not code.co_name.startswith("<")  # comprehensions, lambdas
        if event == "call" and is_function and code.co_filename.startswith(f"{PACKAGE}/"):
            see(frame)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def call_of(frame: FrameType, mark: str) -> Call:
    """The call that began a frame."""
    code = frame.f_code
    stars = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    arguments = [frame.f_locals.get(name) for name in names]
    return Call(code.co_filename, code.co_qualname, any(holds(a, mark) for a in arguments))


def trace_step() -> tuple[list[Call], int, int]:
    """Trace the training step of a short default episode.

    Returns:
        The calls, marked where they get the first record; how many frames of the package deep such
        a call was at most; and the number of modules that the episode loaded.
    """
    from dataenvgym.environments.teaching import TeachingEnvironment

    calls: list[Call] = []
    depths: list[int] = []
    original = TeachingEnvironment.step

    def step(self: Any, action: Any) -> Any:
        def see(frame: FrameType) -> None:
            calls.append(call_of(frame, action[0].instruction))
            depth, above = 1, frame.f_back
            while above is not None and above.f_code is not step.__code__:
                depth += above.f_code.co_filename.startswith(f"{PACKAGE}/")
                above = above.f_back
            depths.append(depth)

        with traced(see):
            return original(self, action)

    TeachingEnvironment.step = step  # type: ignore[method-assign]
    run("episode.iterations=1", "task.n_validation=20", "task.n_test=20")
    TeachingEnvironment.step = original  # type: ignore[method-assign]
    return calls, max(depths), sum(name.split(".")[0] == "dataenvgym" for name in sys.modules)


def trace_option() -> list[Call]:
    """Trace a dry run in which an option has a value of its own."""
    calls: list[Call] = []
    with traced(lambda frame: calls.append(call_of(frame, _REPLAY))):
        run("--dry", f"environment.replay={_REPLAY}")
    return calls


def run(*arguments: str) -> None:
    """`dataenvgym run` in a temporary folder."""
    from dataenvgym.cli.main import main as command

    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        if command(["run", f"runs_dir={folder}", *arguments]):
            raise SystemExit("the run to trace failed")


def imported(name: str) -> int:
    """The number of the package's modules that one public name loads, in a new process."""
    code = (
        f"from dataenvgym import {name}; import sys;"
        "print(sum(m.partition('.')[0] == 'dataenvgym' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


if __name__ == "__main__":
    main()
