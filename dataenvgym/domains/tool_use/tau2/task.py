"""The tasks of tau2-bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import CountErrors, ToolLimits, ToolUseEnvironment
from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.domains.tool_use.tau2.environment import MAX_STEPS, Tau2Environment
from dataenvgym.domains.tool_use.tau2.package import load_package
from dataenvgym.domains.tool_use.tau2.problem import Tau2Problem
from dataenvgym.domains.tool_use.tau2.source import Tau2Source
from dataenvgym.domains.tool_use.tau2.world import Tau2World
from dataenvgym.errors import check_one_of
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, RowOptions, TaskOptions
from dataenvgym.tasks.rows import HubDataset
from dataenvgym.tasks.source import Split


@dataclass(frozen=True)
class Tau2Options(TaskOptions, RowOptions, ToolLimits):
    """Options of `Tau2Task`.

    Attributes:
        domain: one of the installed package: retail, airline, telecom, mock, ...
        domain_options: arguments of the domain's `get_environment`, such as the `retrieval_variant`
            of banking_knowledge.
        data_dir: tau2's data folder; None uses `TAU2_DATA_DIR`.
        name: of the task; None is `tau2_` and the domain.
        tasks: a file with tasks of the domain in tau2's form, or a data set such as ToolScale;
            None: those of the package.
        task_set: tau2's split to use: base, or telecom's full or small.
        nl_assertions: tasks with assertions in natural language need the speaker "judge". If there
            is none, "judge" raises an error that names them, and "leave_out" leaves them out.
        fractions: shares of tau2's train split without test, or of all.
        max_steps: tau2's limit of messages and rounds of tool results; beyond it the reward is 0.
        max_errors: how many failed calls end the conversation with reward 0.
    """

    domain: str = "retail"
    _: KW_ONLY
    domain_options: Mapping[str, Any] | None = None
    data_dir: str | Path | None = None
    name: str | None = None
    tasks: str | Path | HubDataset | None = None
    task_set: str = "base"
    nl_assertions: Literal["judge", "leave_out"] = "judge"
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)
    max_steps: int = MAX_STEPS
    max_errors: int = 10
    count_errors: CountErrors = "total"
    user_sampling: SamplingParameters = SamplingParameters(max_tokens=1024)


class Tau2Domain(ToolUseDomain):
    """Problems of one domain of tau2."""

    problem_class: ClassVar[type[ToolUseProblem]] = Tau2Problem
    environment_class: ClassVar[type[ToolUseEnvironment]] = Tau2Environment

    @property
    def teacher_context(self) -> str:
        """The policy and the tools; the databases are too large to include."""
        tools = "\n".join(tool.model_dump_json() for tool in self.world.tools())
        return f"{self.prompt_template.system}\n\nTools:\n{tools}"


class Tau2Task(Task):
    """Customers of one domain, played by the speaker "user", with tau2's tools and scores.

        Tau2Task("retail", others={"user": ..., "judge": ...})

    Raises:
        ConfigurationError: see `load_package`.
    """

    @takes(Tau2Options)
    def __init__(self, options: Tau2Options) -> None:
        check_one_of(("judge", "leave_out"), nl_assertions=options.nl_assertions)
        package = load_package(options.domain, options.data_dir, options.domain_options)
        world = Tau2World(options.domain, package.environment)
        name = f"tau2_{options.domain}" if options.name is None else options.name
        has_judge = "judge" in (options.others or {})
        source = Tau2Source(
            package,
            world,
            options,
            name=name,
            task_set=options.task_set,
            judges=has_judge or (None if options.nl_assertions == "leave_out" else False),
            tasks=Path(options.tasks) if isinstance(options.tasks, str) else options.tasks,
        )
        domain = Tau2Domain(world, options, max_steps=options.max_steps, judge_users=has_judge)
        self.set_up(source, domain, options, name=name)
