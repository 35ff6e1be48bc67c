"""`dataenvgym worlds` lists the worlds of tool use, audits their problems, and synthesizes worlds.

`dataenvgym serve-world` serves a world's tools to any MCP client.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.cli.console import Terminal
from dataenvgym.domains.tool_use.audit import Audit, audit
from dataenvgym.domains.tool_use.candidates import unstated
from dataenvgym.domains.tool_use.mcp.world import require_mcp
from dataenvgym.domains.tool_use.problem import load_problems
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds import WORLDS, find_world, problems_of
from dataenvgym.errors import ConfigurationError, EvaluationError, check_one_of
from dataenvgym.records import TaskInstance
from dataenvgym.runs.documents import Document, Table, show
from dataenvgym.runs.texts import several
from dataenvgym.tasks.worlds.world import World

Found = Iterator[tuple[World[Any], Sequence[TaskInstance]]]
_TRIED = (
    "problems", "changed arguments", "changed arguments that a tool refused", "random calls",
    "extra writes", "extreme calls", "constant replies", "calls in another process", "mutations",
)  # fmt: skip
_MOST_SHOWN = 50
_POLICY = "task.others.policy"  # where a model is named as policy=MODEL


def worlds(arguments: Namespace) -> None:
    """Audit worlds, list them, or synthesize one.

    Raises:
        EvaluationError: if an audit finds violations, or a synthesis has no result.
    """
    if arguments.action == "synthesize":
        _synthesize(arguments)
        return
    if arguments.theme is not None or arguments.n is not None:
        raise ConfigurationError("--theme and -n belong to `dataenvgym worlds synthesize`")
    names = arguments.overrides or list(WORLDS)
    if arguments.tasks is not None and len(arguments.overrides) != 1:
        raise ConfigurationError("--tasks is the file of one world: name that world")
    tasks = arguments.tasks
    found = (
        (
            each,
            load_problems(
                Path(tasks or problems_of(str(getattr(each, "folder", each.name)))), each.name
            ),
        )
        for each in map(find_world, names)
    )
    if arguments.action == "list":
        _list(found)
    else:
        _audit(found, arguments.seed)


def _synthesize(arguments: Namespace) -> None:
    from dataenvgym.domains.tool_use.synthesis import synthesize
    from dataenvgym.interfaces import TeacherInterface
    from dataenvgym.runs.config.building import build_task
    from dataenvgym.runs.config.composition import compose
    from dataenvgym.runs.config.instantiation import build_section, check_protocol

    folders = [each for each in arguments.overrides if "=" not in each]
    overrides = [
        re.sub(r"^(\+*)policy\b", rf"\1{_POLICY}", e) for e in arguments.overrides if "=" in e
    ]
    wrong = [e for e in overrides if not re.match(rf"\+*(teacher\b|{_POLICY}\b)", e)]
    if len(folders) != 1 or not (arguments.theme or "").strip() or arguments.tasks or wrong:
        raise ConfigurationError(
            f"got the folders {folders}, the theme {arguments.theme!r} and {wrong or 'no others'}, "
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
    check_protocol(teacher, TeacherInterface, "teacher")
    report = synthesize(
        folders[0],
        arguments.theme,
        teacher,
        tasks=20 if arguments.n is None else arguments.n,
        seed=arguments.seed,
        policy=policy,
    )
    accepted = f"{folders[0]}: {report.accepted} of {report.candidates} candidates are accepted"
    rows = [(each.problem, each.check, each.detail) for each in report.rejections]
    show([accepted, *_findings(("problem", "reason"), rows)], Terminal())


def _list(found: Found) -> None:
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
    show([Table(columns, rows)], Terminal())


def _findings(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Document:
    if rows:
        yield Table((*names, "finding"), rows[:_MOST_SHOWN], texts=len(names) + 1)
    if len(rows) > _MOST_SHOWN:
        yield f"... and {len(rows) - _MOST_SHOWN} more"


def _audit(found: Found, seed: int) -> None:
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
    tried = Table(("tried", *(done.world for done in audits)), rows)
    show([tried, *_findings(("world", "problem", "check"), violations)], Terminal())
    if violations:
        raise EvaluationError(several(len(violations), "violation"))


def serve_world(arguments: Namespace) -> None:
    """Serve over stdio until stdin ends, or over HTTP until a signal; stderr shows the address."""
    require_mcp()
    from dataenvgym.domains.tool_use.mcp.server import HttpServer, serve_stdio

    world = find_world(arguments.world)
    if arguments.task is not None:
        world = _at_problem(world, arguments.task, arguments.problems)
    elif arguments.problems is not None:
        raise ConfigurationError("--problems names a file of problems: choose one with --task ID")
    if arguments.transport == "stdio":
        serve_stdio(world)
        return
    server = HttpServer(
        world,
        host=arguments.host,
        port=arguments.port,
        max_sessions=arguments.max_sessions,
        idle_timeout=arguments.idle_timeout,
    )
    print(f"{world.name} is at {server.url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    server.run()


def _at_problem(world: World[Any], wanted: str, problems: str | None) -> World[Any]:
    """The world in the initial state of the problem."""
    task = ToolUseTask(world, problems).whole()
    by_id = {instance.id: instance for instance in task.instances}
    check_one_of(by_id, task=wanted)
    print(f"{wanted}: {by_id[wanted].instruction}", file=sys.stderr)
    return task.domain.prepared(by_id[wanted]).world  # type: ignore[attr-defined,no-any-return]
