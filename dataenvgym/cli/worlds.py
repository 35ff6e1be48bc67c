"""`dataenvgym worlds`: lists the worlds of tool use, and audits their problems."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from dataenvgym.cli.console import open_console
from dataenvgym.errors import ConfigurationError, EvaluationError, did_you_mean
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.tool_use.audit import Audit, audit
from dataenvgym.tasks.tool_use.loaders import load_problems
from dataenvgym.tasks.tool_use.world import World
from dataenvgym.tasks.tool_use.worlds import WORLDS, find_world, problems_of

_ACTIONS = ("audit", "list")
_TRIED = {
    "changed": "changed arguments",
    "refused": "changed arguments that a tool refused",
    "random": "random calls",
}
_MOST_SHOWN = 50


def worlds(arguments: Namespace) -> None:
    """Audit worlds, or list them.

    Raises:
        EvaluationError: if an audit finds violations.
    """
    if arguments.action not in _ACTIONS:
        raise ConfigurationError(
            f"there is no action {arguments.action!r}."
            f"{did_you_mean(arguments.action, _ACTIONS)} The actions are: {', '.join(_ACTIONS)}."
        )
    names = arguments.worlds or list(WORLDS)
    if arguments.tasks is not None and len(arguments.worlds) != 1:
        raise ConfigurationError("--tasks is the file of one world: name that world")
    found = _with_problems(names, arguments.tasks)
    if arguments.action == "list":
        _list(found)
    else:
        _audit(found, arguments.seed)


Found = Iterator[tuple[World[Any], Sequence[TaskInstance]]]


def _with_problems(names: Sequence[str], tasks: str | None) -> Found:
    for name in names:
        world = find_world(name)
        path = problems_of(world.name) if tasks is None else Path(tasks)
        yield world, load_problems(path, world.name)


def _list(found: Found) -> None:
    table = _table(("world",), ("tools", "of them write", "problems", "skills"))
    for world, problems in found:
        methods = world.methods.values()
        numbers = (
            len(methods),
            sum(method.writes for method in methods),
            len(problems),
            len({problem.skill for problem in problems}),
        )
        table.add_row(world.name, *map(str, numbers))
    open_console().print(table)


def _audit(found: Found, seed: int) -> None:
    audits: list[Audit] = []
    table = _table(("world",), ("tools", "problems", *_TRIED, "mutations", "violations"))
    for world, problems in found:
        done = audit(world, problems, seed=seed)
        audits.append(done)
        tried = (done.tried[what] for what in ("problems", *_TRIED.values(), "mutations"))
        numbers = (len(world.methods), *tried, len(done.violations))
        table.add_row(world.name, *(f"{number:,}" for number in numbers))
    console = open_console()
    console.print(table)
    violations = [(done.world, each) for done in audits for each in done.violations]
    if not violations:
        return
    shown = _table(("world", "problem", "check", "finding"), ())
    for name, each in violations[:_MOST_SHOWN]:
        shown.add_row(*map(Text, (name, each.problem, each.check, each.detail)))
    console.print(shown)
    if len(violations) > _MOST_SHOWN:
        console.print(f"... and {len(violations) - _MOST_SHOWN} more")
    raise EvaluationError(f"{len(violations)} violation{'s' * (len(violations) != 1)}")


def _table(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in texts:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table
