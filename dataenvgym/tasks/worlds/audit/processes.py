"""Repeats the calls of an audit in two other processes, and compares the outcomes.

Both differ from the first one in the seed of `hash` (and so in the order of sets), the time zone,
the process id and the addresses of objects. They also find what a tool does outside of its state:
it reads an environment variable, writes a file, connects, or starts a program.
"""

from __future__ import annotations

import importlib
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import reduce
from hashlib import sha256
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import EvaluationError
from dataenvgym.events import warn_run
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds.audit.tools import ToolsAudit
from dataenvgym.tasks.worlds.world import World

_OTHERS = (("1", "Pacific/Kiritimati"), ("2", "America/Adak"))  # seeds of hash, and time zones
_LONGEST = 600.0  # seconds
_EFFECTS = {"socket.connect", "socket.bind", "socket.sendto", "subprocess.Popen", "sqlite3.connect"}
_EFFECTS |= {"os.chdir", "os.chmod", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.link"}
_EFFECTS |= {"os.mkdir", "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir"}
_EFFECTS |= {"os.symlink", "os.system", "os.truncate", "os.unsetenv", "os.utime"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def compare_processes(tools: ToolsAudit) -> None:
    """Note differences and effects; warn if another process cannot make the world."""
    kind, plays = type(tools.world), tools.played
    request = {
        "path": [os.path.abspath(folder) for folder in sys.path],
        "module": kind.__module__,
        "file": getattr(sys.modules.get(kind.__module__), "__file__", None),
        "name": kind.__qualname__,
        "plays": [
            [each.changes, [[call.name, call.arguments, by] for call, by in each.calls]]
            for each in plays
        ],
    }
    try:
        answers = [exact_json.loads(each) for each in _answers(exact_json.dumps(request))]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        warn_run(
            f"the audit did not repeat its calls in another process, which did not make the world "
            f"{tools.world.name!r}: {error}. Define its class at the top of a module, so that "
            "`import` finds it and it needs no arguments"
        )
        return
    tools.done.tried["calls in another process"] = sum(len(each.calls) for each in plays)
    for effects, outcomes in answers:
        for name, what in effects:
            tools.note("outside", f"tool {name} {what}")
        for here, (results, state) in zip(plays, outcomes, strict=True):
            names = [call.name for call, _ in here.calls]
            ours = list(map(_digest, here.results))
            differs = [name for name, a, b in zip(names, ours, results, strict=True) if a != b]
            if differs:
                tools.note("same twice", f"tool {differs[0]} has other results in another process")
            elif here.state != state:
                called = ", ".join(dict.fromkeys(names))
                tools.note("same twice", f"another process ends in another state after {called}")


def _answers(request: bytes) -> Iterator[bytes]:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "TZ": zone,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        for seed, zone in _OTHERS
    ]
    for process in running:
        try:
            out, err = process.communicate(request, timeout=_LONGEST)
        except BaseException:
            for each in running:
                each.kill()
            raise
        if process.returncode:
            raise ValueError((err.decode(errors="replace").strip().splitlines() or ["?"])[-1])
        yield out


def _digest(result: str | None) -> str | None:
    return None if result is None else sha256(result.encode()).hexdigest()


# --- in the other process -------------------------------------------------------------------------


def _answer(request: Any) -> Any:
    """The effects of the calls, and of each play the results and the final state."""
    sys.path[:] = request["path"]
    if request["module"] == "__main__":
        names = runpy.run_path(request["file"], run_name="__dataenvgym_audit__")
        kind = names[request["name"]]
    else:
        module = importlib.import_module(request["module"])
        kind = reduce(getattr, request["name"].split("."), module)
    world: World[Any] = kind()
    plays = request["plays"]
    outcomes = [_play(world, changes, calls, []) for changes, calls in plays]
    effects: list[tuple[str, str]] = []
    with _noted(effects) as calling:
        for changes, calls in plays:  # again: now all imports are made
            _play(world, changes, calls, calling)
    return list(dict.fromkeys(effects)), outcomes


def _play(
    world: World[Any], changes: Any, calls: Sequence[Any], calling: list[str]
) -> tuple[list[str | None], str]:
    """The results and the final state; `calling` has the name of the tool during its call."""
    world = world.at(world.state.patched(changes).fork())
    results: list[str | None] = []
    for name, arguments, by in calls:
        calling.append(name)
        try:
            result = world.call(ToolCall(name=name, arguments=arguments), by)
        except EvaluationError:
            results.append(None)
        else:
            results.append(_digest(None if result.error is not None else result.content))
        calling.clear()
    return results, world.state.digest()


@contextmanager
def _noted(effects: list[tuple[str, str]]) -> Iterator[list[str]]:
    """Note the effects of the tool whose name is in the list that this yields."""
    calling: list[str] = []

    def hear(event: str, arguments: Any) -> None:
        if not calling:
            return
        if event in _EFFECTS:
            effects.append((calling[0], f"does {event}"))
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            effects.append((calling[0], f"writes the file {arguments[0]}"))

    read = os._Environ.__getitem__

    def get(variables: Any, name: Any) -> Any:
        if calling:
            effects.append((calling[0], f"reads the environment variable {name}"))
        return read(variables, name)

    sys.addaudithook(hear)  # until the process ends
    os._Environ.__getitem__ = get  # type: ignore[method-assign]
    yield calling


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        answer = _answer(exact_json.loads(sys.stdin.buffer.read()))
    sys.__stdout__.buffer.write(exact_json.dumps(answer))  # type: ignore[union-attr]
