"""`dataenvgym worlds` lists the worlds of tool use, audits their problems, and synthesizes worlds.

`dataenvgym serve-world` serves a world's tools to any MCP client.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from dataenvgym.domains.tool_use.audit import Audit, audit
from dataenvgym.domains.tool_use.candidates import unstated
from dataenvgym.domains.tool_use.mcp.world import require_mcp
from dataenvgym.domains.tool_use.problem import load_problems
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds import WORLDS, find_world, problems_of
from dataenvgym.errors import ConfigurationError, EvaluationError, check_one_of
from dataenvgym.records import TaskInstance
from dataenvgym.runs.documents import Document, Table
from dataenvgym.runs.texts import several
from dataenvgym.tasks.worlds.world import World

Found = Iterator[tuple[World[Any], Sequence[TaskInstance]]]
_TRIED = (
    "problems", "changed arguments", "changed arguments that a tool refused", "random calls",
    "extra writes", "extreme calls", "constant replies", "calls in another process", "mutations",
)  # fmt: skip
_MOST_SHOWN = 50
_POLICY = "task.others.policy"  # where a model is named as policy=MODEL


def worlds(
    action: Literal["audit", "list", "synthesize"],
    world: list[str],
    *,
    tasks: str | None = None,
    seed: NonNegativeInt = 0,
    theme: str | None = None,
    n: PositiveInt | None = None,
) -> Document:
    r"""List the worlds of tool use, audit or synthesize worlds with their problems.

    Examples:
      dataenvgym worlds list
      dataenvgym worlds audit                 all that come with the package
      dataenvgym worlds audit my_module.MyWorld --tasks problems.jsonl
      dataenvgym worlds synthesize library teacher=openai teacher.model=NAME \
          --theme "a library"

    An audit checks for each problem that the gold calls earn the full reward in
    two runs; that doing nothing, changing one argument, and random calls earn 0;
    and that a broken verifier is noticed. It exits with 1 if a check fails.

    Args:
        action: what to do
        world: a name, your class my_module.MyWorld, or a synthesized folder (default:
            all that ship); for synthesize, a new folder, the options of a teacher, and
            policy=MODEL for tasks that this model can solve in 8 tries
        tasks: a file of problems (default: the world's own)
        seed: of the random calls
        theme: what a synthesized world is about
        n: tasks that the teacher writes (default: 20)

    Raises:
        EvaluationError: if an audit finds violations, or a synthesis has no result.
    """
    if action == "synthesize":
        return _synthesize(world, theme, tasks, n, seed)
    if theme is not None or n is not None:
        raise ConfigurationError("--theme and -n belong to `dataenvgym worlds synthesize`")
    names = world or list(WORLDS)
    if tasks is not None and len(world) != 1:
        raise ConfigurationError("--tasks is the file of one world: name that world")
    found = (
        (
            each,
            load_problems(
                Path(tasks or problems_of(str(getattr(each, "folder", each.name)))), each.name
            ),
        )
        for each in map(find_world, names)
    )
    return _list(found) if action == "list" else _audit(found, seed)


def _synthesize(
    typed: list[str], theme: str | None, tasks: str | None, n: int | None, seed: int
) -> Document:
    from dataenvgym.domains.tool_use.synthesis import synthesize
    from dataenvgym.interfaces import TeacherInterface, expect
    from dataenvgym.runs.config.building import build_task
    from dataenvgym.runs.config.composition import compose
    from dataenvgym.runs.config.instantiation import build_section

    folders = [each for each in typed if "=" not in each]
    overrides = [re.sub(r"^(\+*)policy\b", rf"\1{_POLICY}", e) for e in typed if "=" in e]
    wrong = [e for e in overrides if not re.match(rf"\+*(teacher\b|{_POLICY}\b)", e)]
    if len(folders) != 1 or theme is None or not theme.strip() or tasks or wrong:
        raise ConfigurationError(
            f"got the folders {folders}, the theme {theme!r} and {wrong or 'no others'}, "
            "expected one of each, a teacher and perhaps a reference policy: dataenvgym worlds "
            'synthesize FOLDER teacher=openai teacher.model=NAME --theme "a shop"'
        )
    try:
        config = compose(["task=shop", *overrides])
        if config.teacher.get("_target_") is None:
            raise ConfigurationError("a synthesis needs a teacher: add teacher=openai or another")
        steps = Path(folders[0]) / "steps"
        policy = build_task(config, steps).others.get("policy")
        teacher = build_section(config, "teacher", directory=steps)
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace(_POLICY, "policy")) from None
    if policy is None and any(_POLICY in each for each in overrides):
        raise ConfigurationError("policy names several models or none, expected one: openai/NAME")
    expect(teacher, TeacherInterface, "teacher")
    report = synthesize(
        folders[0],
        theme,
        teacher,
        tasks=20 if n is None else n,
        seed=seed,
        policy=policy,
    )
    yield f"{folders[0]}: {report.accepted} of {report.candidates} candidates are accepted"
    rows = [(each.problem, each.check, each.detail) for each in report.rejections]
    yield from _findings(("problem", "reason"), rows)


def _list(found: Found) -> Document:
    rows = [
        (
            world.name,
            len(world.methods),
            sum(method.writes for method in world.methods.values()),
            len(problems),
            len({problem.skill for problem in problems}),
        )
        for world, problems in found
    ]
    columns = ("world", "tools", "of them write", "problems", "skills")
    return [Table(columns, rows)]


def _findings(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Document:
    if rows:
        yield Table((*names, "finding"), rows[:_MOST_SHOWN], texts=len(names) + 1)
    if len(rows) > _MOST_SHOWN:
        yield f"... and {len(rows) - _MOST_SHOWN} more"


def _audit(found: Found, seed: int) -> Document:
    audits: list[Audit] = []
    tools: list[int] = []
    for world, problems in found:
        audits.append(audit(world, problems, seed=seed))
        audits[-1].violations += filter(None, (unstated(world, each) for each in problems))
        tools.append(len(world.methods))
    counts = {"tools": tools, **{what: [done.tried[what] for done in audits] for what in _TRIED}}
    counts["violations"] = [len(done.violations) for done in audits]
    rows = [[what, *(f"{number:,}" for number in numbers)] for what, numbers in counts.items()]
    violations = [
        (done.world, each.problem, each.check, each.detail)
        for done in audits
        for each in done.violations
    ]
    yield Table(("tried", *(done.world for done in audits)), rows)
    yield from _findings(("world", "problem", "check"), violations)
    if violations:
        raise EvaluationError(several(len(violations), "violation"))


def serve_world(
    world: str,
    *,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: NonNegativeInt = 8000,
    task: str | None = None,
    problems: str | None = None,
    max_sessions: PositiveInt = 4096,
    idle_timeout: PositiveFloat = 1800,
) -> None:
    """Serve a world's tools to MCP clients, each session with its own state.

    Examples:
      dataenvgym serve-world shop
      dataenvgym serve-world shop --transport http --port 8000
      dataenvgym serve-world my_module.MyWorld --problems pay.jsonl --task pay-1

    Every session begins in the same state and changes only its own copy.
    Problems, gold calls and scores are never served.
    Needs the package mcp: pip install 'dataenvgym[mcp]'

    Args:
        world: a name (see `dataenvgym worlds list`), or your class my_module.MyWorld
        transport: of MCP
        host: of http
        port: of http; 0 takes a free one
        task: begin in the state of this problem
        problems: the file with that problem (default: the world's own)
        max_sessions: the most sessions open at once
        idle_timeout: seconds without a request that end a session
    """
    require_mcp()
    from dataenvgym.domains.tool_use.mcp.server import HttpServer, serve_stdio

    served = find_world(world)
    if task is not None:
        served = _at_problem(served, task, problems)
    elif problems is not None:
        raise ConfigurationError("--problems names a file of problems: choose one with --task ID")
    if transport == "stdio":
        serve_stdio(served)
        return
    server = HttpServer(
        served,
        host=host,
        port=port,
        max_sessions=max_sessions,
        idle_timeout=idle_timeout,
    )
    print(f"{served.name} is at {server.url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    server.run()


def _at_problem(world: World[Any], wanted: str, problems: str | None) -> World[Any]:
    """The world in the initial state of the problem."""
    task = ToolUseTask(world, problems).whole()
    by_id = {instance.id: instance for instance in task.instances}
    check_one_of(by_id, task=wanted)
    print(f"{wanted}: {by_id[wanted].instruction}", file=sys.stderr)
    return task.domain.prepared(by_id[wanted]).world  # type: ignore[attr-defined,no-any-return]
