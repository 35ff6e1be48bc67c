"""`dataenvgym serve-world`: serves a world's tools to any MCP client."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.tasks.tool_use.mcp.address import require_mcp
from dataenvgym.tasks.tool_use.task import ToolUseTask
from dataenvgym.tasks.tool_use.world import World
from dataenvgym.tasks.tool_use.worlds import find_world


def serve_world(arguments: Namespace) -> None:
    """Serve over stdio until stdin ends, or over HTTP until a signal; stderr shows the address."""
    require_mcp()
    from dataenvgym.tasks.tool_use.mcp.serving import HttpServer, serve_stdio

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
    if wanted not in by_id:
        raise ConfigurationError(
            f"world {world.name!r} has no problem {wanted!r}.{did_you_mean(wanted, by_id)} "
            f"There are {len(by_id)}, such as {next(iter(by_id))!r}."
        )
    print(f"{wanted}: {by_id[wanted].instruction}", file=sys.stderr)
    return task.domain.prepared(by_id[wanted]).world  # type: ignore[attr-defined,no-any-return]
