"""Problems of tool use: those of a shipped world, or from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, Unpack

from dataenvgym.domains.tool_use.audit import audit as audit_world
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import USER_SAMPLING, CountErrors
from dataenvgym.domains.tool_use.mcp.address import McpServer
from dataenvgym.domains.tool_use.mcp.world import McpWorld
from dataenvgym.domains.tool_use.problem import to_instance
from dataenvgym.domains.tool_use.worlds import find_world, problems_of
from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions
from dataenvgym.tasks.prompt_template import INSTRUCTION
from dataenvgym.tasks.row_source import Places, RowSource
from dataenvgym.tasks.source import Split
from dataenvgym.tasks.worlds.world import World

HALVES: Mapping[Split, float] = {"train": 0.4, "validation": 0.3, "test": 0.3}


class ToolUseTask(Task):
    """Problems of one world.

        ToolUseTask("shop")
        ToolUseTask("my_module.MyWorld", sources="problems.jsonl")

    Args:
        world: its name, or its class as `my_module.MyWorld`, or a `World`.
        sources: files of problems (see `loaders`); None: the problems shipped with the world.
        tools: "own", or "mcp": those of a server; `world` is then only a name.
        mcp: the server (see `McpServer`).
        name: of the task; None uses the world's.
        fractions, limit, seed: see `RowSource`, which divides the problems among the splits.
        max_turns, max_errors, count_errors, system_prompt, template, user_sampling: see
            `ToolUseDomain`. Users played by models are judged if `others` has a judge.
        audit: whether to refuse problems that fail a check of the audit (see `audit`).
        sampling: how the student draws its replies.
        options: those of `Task`; `student` is "pocket-tools-v1" by default.
    """

    def __init__(
        self,
        world: str | World[Any] = "shop",
        sources: Places | None = None,
        *,
        tools: Literal["own", "mcp"] = "own",
        mcp: McpServer | None = None,
        name: str | None = None,
        fractions: Mapping[Split, float] = HALVES,
        limit: int | None = None,
        seed: int = 0,
        max_turns: int = 30,
        max_errors: int = 5,
        count_errors: CountErrors = "in_a_row",
        system_prompt: str = "",
        template: str = INSTRUCTION,
        user_sampling: SamplingParameters = USER_SAMPLING,
        audit: bool = False,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        options.setdefault("student", "pocket-tools-v1")
        world = _world(world, tools, mcp)
        name = world.name if name is None else name
        domain = ToolUseDomain(
            world,
            max_turns=max_turns,
            max_errors=max_errors,
            count_errors=count_errors,
            system_prompt=system_prompt,
            template=template,
            user_sampling=user_sampling,
            judge_users="judge" in (options.get("others") or {}),
        )
        source = RowSource(
            problems_of(world.name) if sources is None else sources,
            partial(to_instance, task=name, world=world.name),
            name=name,
            overlap_key=domain.overlap_key,
            text_of=domain.text_of,
            complaints=partial(_complaints, domain, audit),
            fractions=fractions,
            limit=limit,
            seed=seed,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **options)


def _complaints(
    domain: ToolUseDomain, audit: bool, instances: Sequence[TaskInstance]
) -> Sequence[str | None]:
    complaints: list[str | None] = []
    for instance in instances:
        try:
            _ = domain.prepared(instance).gold_state
            complaints.append(None)
        except DataEnvGymError as error:
            complaints.append(str(error).removeprefix(f"instance {instance.id!r}: "))
    if not audit or any(complaints):
        return complaints
    found: dict[str, str] = {}
    for each in audit_world(domain.world, instances).violations:
        if each.check != "verifier":  # a split may be too small for that one
            problem = each.problem or instances[0].id
            found.setdefault(problem, f"check {each.check!r} of the audit: {each.detail}")
    return [found.get(instance.id) for instance in instances]


def _world(world: str | World[Any], tools: str, mcp: McpServer | None) -> World[Any]:
    if tools not in ("own", "mcp"):
        raise ConfigurationError(f"tools is {tools!r}, expected 'own' or 'mcp'")
    if tools == "own":
        if mcp is not None:
            raise ConfigurationError("mcp names a server, and tools is 'own': set tools to 'mcp'")
        return find_world(world) if isinstance(world, str) else world
    if not isinstance(mcp, McpServer) or not isinstance(world, str):
        raise ConfigurationError(
            f"tools is 'mcp', mcp is {mcp!r} and world is {world!r}; expected a server and a name: "
            "task=mcp task.mcp.url=..., or ToolUseTask('mcp', ..., mcp=McpServer(url=...))"
        )
    return McpWorld(mcp, world)
