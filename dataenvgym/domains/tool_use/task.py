"""Problems of tool use: those of a shipped world, or from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

from dataenvgym.domains.tool_use.audit import audit as audit_world
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import ToolLimits, ToolUseEnvironment, ToolUseOptions
from dataenvgym.domains.tool_use.mcp.world import McpServer, McpWorld
from dataenvgym.domains.tool_use.problem import to_instance
from dataenvgym.domains.tool_use.worlds import find_world, problems_of
from dataenvgym.errors import DataEnvGymError
from dataenvgym.options import taken_from, takes
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, Places, RowOptions, TaskOptions
from dataenvgym.tasks.source import Split
from dataenvgym.tasks.worlds.world import World


@dataclass(frozen=True)
class WorldOptions(TaskOptions, RowOptions, ToolUseOptions):
    """Options of `ToolUseTask`.

    Attributes:
        world: its name, its class as `my_module.MyWorld`, the folder of a synthesized one, or a
            `World`; any name, with a server.
        sources: files of problems (see `loaders`); None: the problems shipped with the world.
        mcp: a server, whose tools the world has (see `McpServer`).
        name: of the task; None uses the world's.
        audit: whether to refuse problems that fail a check of the audit (see `audit`).
    """

    world: str | World[Any] = "shop"
    sources: Places | None = None
    _: KW_ONLY
    mcp: McpServer | None = None
    name: str | None = None
    audit: bool = False
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)
    student: str = "pocket-tools-v1"


class ToolUseTask(Task):
    """Problems of one world.

        ToolUseTask("shop")
        ToolUseTask("my_module.MyWorld", sources="problems.jsonl")

    Users played by models are judged if `others` has a judge.
    """

    @takes(WorldOptions)
    def __init__(self, options: WorldOptions) -> None:
        world: Any = options.world
        if options.mcp is not None:
            server: Any = options.mcp
            world = McpWorld(McpServer(**server) if isinstance(server, Mapping) else server, world)
        elif isinstance(world, str):
            world = find_world(world)
        self.name = options.name or world.name
        domain = ToolUseDomain(world, options, judge_users="judge" in (options.others or {}))
        sources = options.sources
        if sources is None:
            sources = problems_of(str(getattr(world, "folder", world.name)))
        self.set_up_rows(
            domain,
            replace(options, sources=sources),
            partial(to_instance, task=self.name, world=world.name),
            text_of=domain.text_of,
            gold_errors=partial(_gold_errors, domain, options.audit),
        )


def _gold_errors(
    domain: ToolUseDomain, audit: bool, instances: Sequence[TaskInstance]
) -> Sequence[str | None]:
    found: dict[str, str] = {}
    for instance in instances:
        try:
            _ = domain.prepared(instance).gold_state
        except DataEnvGymError as error:
            found[instance.id] = str(error).removeprefix(f"instance {instance.id!r}: ")
    for each in audit_world(domain.world, instances).violations if audit and not found else ():
        if each.check != "verifier":  # a split may be too small for that one
            problem = each.problem or instances[0].id
            found.setdefault(problem, f"check {each.check!r} of the audit: {each.detail}")
    return [found.get(instance.id) for instance in instances]


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> ToolUseEnvironment:
    """Make `dataenvgym/ToolUse-v0`: by default, with the shop (validation).

    Args:
        options: those of `ToolLimits` and `ToolUseEnvironment`.
    """
    domain = ToolUseDomain(find_world("shop"))
    options = {"system_prompt": domain.prompt_template.system} | options
    limits = taken_from(options, ToolLimits)
    return ToolUseEnvironment(
        ToolUseTask("shop").instances if instances is None else instances,
        limits,
        prepare=domain.prepared,
        **options,
    )
