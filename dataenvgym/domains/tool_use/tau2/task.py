"""The tasks of tau2-bench.

The split `test` is tau2's. The tasks of its split `train` are divided between our `train` and our
`validation`. If a domain lacks these two, its tasks are divided among all three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic import PositiveInt

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import CountErrors, ToolLimits, ToolUseEnvironment
from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.domains.tool_use.tau2.environment import MAX_STEPS, Tau2Environment
from dataenvgym.domains.tool_use.tau2.package import Tau2Package
from dataenvgym.domains.tool_use.tau2.problem import Tau2Problem, to_instance
from dataenvgym.domains.tool_use.tau2.world import Tau2World
from dataenvgym.errors import InvalidInstanceError, check_one_of
from dataenvgym.events import warn_run
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, Places, RowOptions, TaskOptions
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.rows import HubDataset, SourceRow, read_rows
from dataenvgym.tasks.source import Source, Split


@dataclass(frozen=True)
class Tau2Options(TaskOptions, RowOptions, ToolLimits):
    """Options of `Tau2Task`.

    Attributes:
        domain: one of the installed package: retail, airline, telecom, mock, ...
        domain_options: arguments of the domain's `get_environment`, such as the `retrieval_variant`
            of banking_knowledge.
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
    name: str | None = None
    tasks: str | Path | HubDataset | None = None
    task_set: str = "base"
    nl_assertions: Literal["judge", "leave_out"] = "judge"
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)
    max_steps: Annotated[int, Ge(2), Le(2 * Tau2Environment.max_turns)] = MAX_STEPS
    max_errors: PositiveInt = 10
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


class Tau2Source(RowSource):
    """The tasks of one domain; a place is a split of tau2, or a file with tasks of its form."""

    has_one_source = True

    def __init__(
        self, options: Tau2Options, package: Tau2Package, domain: Tau2Domain, *, name: str
    ) -> None:
        self._package = package
        self._splits = package.splits() if options.tasks is None else None
        whole: Places = options.task_set if options.tasks is None else options.tasks
        if options.task_set != "base":
            check_one_of(self._splits or ("base",), task_set=options.task_set)
        if whole == "base" and {"train", "test"} <= (self._splits or {}).keys():
            places: Places = {"train": "train", "validation": "train", "test": "test"}
        else:
            places = whole
        has_judge = "judge" in (options.others or {})
        read = partial(
            to_instance,
            world=domain.world,  # type: ignore[arg-type]
            name=name,
            guidelines={tools: package.guidelines(tools=tools) for tools in (True, False)},
            judges=has_judge or (None if options.nl_assertions == "leave_out" else False),
        )
        super().__init__(
            places,
            read,
            options,
            name=name,
            overlap_key=domain.overlap_key,
            rows=self._tasks_in,
            text_of=domain.text_of,
        )
        self._whole = whole if isinstance(whole, HubDataset) else Path(str(whole)).expanduser()

    def whole(self) -> Source:
        whole: Any = super().whole()
        whole.places = {"validation": self._whole}
        return whole  # type: ignore[no-any-return]

    def _tasks_in(self, place: Path | HubDataset) -> Iterator[SourceRow]:
        if self._splits is None:
            found = list(read_rows(place))
            rows = [r for r in found if _domain_of(r.values) in (None, self._package.domain)]
            if len(rows) < len(found):
                others = {str(_domain_of(row.values)) for row in found} - {self._package.domain}
                warn_run(
                    f"{self._name}: {len(found) - len(rows)} tasks of {place} are left out; they "
                    f"are of other domains: {', '.join(sorted(others))}"
                )
            if not rows:
                raise InvalidInstanceError(f"{place} has no tasks of {self._package.domain!r}")
        else:
            ids = self._splits.get(str(place))
            rows = [row for row in self._package.rows() if ids is None or row.id in ids]
            if missing := sorted({*(ids or ())} - {row.id for row in rows}):
                warn_run(
                    f"{self._name}: {len(missing)} tasks of tau2 are in its split {str(place)!r} "
                    f"and not in its files, the first one is {missing[0]!r}"
                )
        yield from rows


def _domain_of(row: Mapping[str, Any]) -> object:
    """The domain that the user's instructions in a task name, if any."""
    scenario = row.get("user_scenario")
    told = scenario.get("instructions") if isinstance(scenario, dict) else None
    return told.get("domain") if isinstance(told, dict) else None


class Tau2Task(Task):
    """tau2-bench: customers of a domain, with your copy of Sierra's package.

    Customers of one domain, played by the speaker "user", with tau2's tools and scores.

        Tau2Task("retail", others={"user": ..., "judge": ...})

    Raises:
        ConfigurationError: see `Tau2Package`.
    """

    @takes(Tau2Options)
    def __init__(self, options: Tau2Options) -> None:
        package = Tau2Package(options.domain, options.domain_options)
        world = Tau2World(options.domain, package.environment)
        self.name = options.name or f"tau2_{options.domain}"
        has_judge = "judge" in (options.others or {})
        domain = Tau2Domain(world, options, max_steps=options.max_steps, judge_users=has_judge)
        source = Tau2Source(options, package, domain, name=self.name)
        self.set_up(source, domain, options)
