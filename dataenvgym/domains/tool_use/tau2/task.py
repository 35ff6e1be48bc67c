"""The tasks of tau2-bench."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import CountErrors, ToolUseEnvironment
from dataenvgym.domains.tool_use.problem import Prepared, ToolUseProblem
from dataenvgym.domains.tool_use.task import HALVES
from dataenvgym.domains.tool_use.tau2.environment import MAX_STEPS, Tau2Environment
from dataenvgym.domains.tool_use.tau2.package import load_package
from dataenvgym.domains.tool_use.tau2.problem import Tau2Prepared, Tau2Problem
from dataenvgym.domains.tool_use.tau2.source import Tau2Source
from dataenvgym.domains.tool_use.tau2.world import Tau2World
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions
from dataenvgym.tasks.source import Split

USER_SAMPLING = SamplingParameters(max_tokens=1024)


class Tau2Domain(ToolUseDomain):
    """Problems of one domain of tau2.

    Args:
        world: the domain.
        max_steps: see `Tau2Environment`.
        options: those of `ToolUseDomain`, apart from `max_turns`.
    """

    problem_class: ClassVar[type[ToolUseProblem]] = Tau2Problem
    prepared_class: ClassVar[type[Prepared]] = Tau2Prepared
    environment_class: ClassVar[type[ToolUseEnvironment]] = Tau2Environment

    def __init__(self, world: Tau2World, *, max_steps: int = MAX_STEPS, **options: Any) -> None:
        super().__init__(world, **options)
        self._environment = partial(self._environment, max_steps=max_steps)
        self.make_environment()  # raises here if a number is invalid

    @property
    def told(self) -> str:
        """The policy and the tools; the databases are too large to include."""
        tools = "\n".join(tool.model_dump_json() for tool in self.world.tools())
        return f"{self.prompt_template.system}\n\nTools:\n{tools}"


class Tau2Task(Task):
    """Customers of one domain, played by the speaker "user", with tau2's tools and scores.

        Tau2Task("retail", others={"user": ..., "judge": ...})

    Args:
        domain: retail, airline, telecom or mock.
        data_dir: tau2's data folder; None uses `TAU2_DATA_DIR`.
        name: of the task; None is `tau2_` and the domain.
        task_set: tau2's split to use: base, or telecom's full or small.
        nl_assertions: tasks with assertions in natural language need the speaker "judge". If there
            is none, "judge" raises an error that names them, and "leave_out" leaves them out.
        fractions, limit, seed: see `Tau2Source`.
        max_steps, max_errors, count_errors: when a conversation ends with reward 0.
        system_prompt, template, user_sampling: see `ToolUseDomain`.
        sampling: how the student draws its replies.
        options: those of `Task`.

    Raises:
        ConfigurationError: see `load_package`.
    """

    def __init__(
        self,
        domain: str = "retail",
        *,
        data_dir: str | Path | None = None,
        name: str | None = None,
        task_set: str = "base",
        nl_assertions: Literal["judge", "leave_out"] = "judge",
        fractions: Mapping[Split, float] = HALVES,
        limit: int | None = None,
        seed: int = 0,
        max_steps: int = MAX_STEPS,
        max_errors: int = 10,
        count_errors: CountErrors = "total",
        system_prompt: str = "",
        template: str = "{instruction}",
        user_sampling: SamplingParameters = USER_SAMPLING,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        if nl_assertions not in ("judge", "leave_out"):
            raise ConfigurationError(
                f"nl_assertions is {nl_assertions!r}, expected 'judge' or 'leave_out'"
            )
        package = load_package(domain, data_dir)
        world = Tau2World(domain, package.environment)
        name = f"tau2_{domain}" if name is None else name
        has_judge = "judge" in (options.get("others") or {})
        source = Tau2Source(
            package,
            world,
            name=name,
            task_set=task_set,
            judges=has_judge or (None if nl_assertions == "leave_out" else False),
            fractions=fractions,
            limit=limit,
            seed=seed,
        )
        conversations = Tau2Domain(
            world,
            max_steps=max_steps,
            max_errors=max_errors,
            count_errors=count_errors,
            system_prompt=system_prompt,
            template=template,
            user_sampling=user_sampling,
            judge_users=has_judge,
        )
        super().__init__(source, conversations, name=name, sampling=sampling, **options)
