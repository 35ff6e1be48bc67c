"""Turns runs into results; compares existing runs like a study's.

Existing runs that differ only in their seed are one strategy. Fairness is checked again on finished
runs, which are then aggregated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataenvgym.config.identity import decisive_values
from dataenvgym.config.resolved import literal
from dataenvgym.config.run_directory import is_hand_made, read_config
from dataenvgym.environments.identity import read_identity
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.episodes.summary import read_summary
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.seeding import derive_rng
from dataenvgym.studies.aggregate import suite_scores
from dataenvgym.studies.checks import (
    Difference,
    allowed,
    check_allowed_keys,
    config_differences,
    over_budget,
    record_budget,
    result_differences,
)
from dataenvgym.studies.measures import RunMeasures, measure_run
from dataenvgym.studies.noise import NoiseModel, read_noise
from dataenvgym.studies.notes import study_warnings
from dataenvgym.studies.plan import CEILING, FLOOR, choose_baseline
from dataenvgym.studies.results import (
    MissingRun,
    StrategyRuns,
    StudyResults,
    task_result,
    without_inference,
)
from dataenvgym.studies.state import Role, read_state
from dataenvgym.studies.statistics import Test, choose_test


@dataclass(frozen=True)
class TaskRuns:
    """The runs on one task.

    Attributes:
        floor: runs without teaching.
        budgets: the record budget of each strategy.
        noise: the task's noise model, if there is one.
    """

    task: str
    strategies: Sequence[StrategyRuns]
    floor: Sequence[RunMeasures] = ()
    budgets: Mapping[str, float] = field(default_factory=dict)
    noise: NoiseModel | None = None


def sum_up(
    tasks: Sequence[TaskRuns],
    *,
    name: str,
    command: str,
    baseline: str,
    test: Test | None,
    allow_unequal: Sequence[str],
    differences: Sequence[Difference] = (),
    notes: Sequence[str] = (),
    raced: bool = False,
) -> StudyResults:
    """Aggregate runs if they may be compared.

    Args:
        test: None lets the number of seeds decide.
        differences: between the configurations.
        raced: a race chose which runs there are, so there are no intervals and p-values.

    Raises:
        ConfigurationError: if runs differ where they must agree.
    """
    found = [*differences]
    for task in tasks:
        # seed by seed, because a task may have other instances for another seed
        for seed in sorted({seed for one in task.strategies for seed in one.runs}):
            of_seed = [one for one in task.strategies if seed in one.runs]
            found += result_differences({one.name: one.runs[seed] for one in of_seed})
            taught = {one.name: one.runs[seed] for one in of_seed if one.role == "strategy"}
            found += over_budget(taught, task.budgets)
    unequal = allowed(found, allow_unequal)
    seeds = max((len(one.runs) for task in tasks for one in task.strategies), default=0)
    chosen = test or choose_test(seeds)
    summed = tuple(
        task_result(
            task.task,
            task.strategies,
            baseline=baseline,
            test=chosen,
            floor_runs=task.floor,
            noise=None if task.noise is None else task.noise.variances.get("test_gain"),
        )
        for task in tasks
    )
    warnings = study_warnings(tasks, summed)
    if raced:
        summed = tuple(map(without_inference, summed))
    return StudyResults(
        name=name,
        command=command,
        baseline=baseline,
        test=chosen,
        tasks=summed,
        suite=None if raced else suite_scores(summed, chosen, derive_rng(0, "bootstrap")),
        unequal=tuple(str(difference) for difference in unequal),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def compare_runs(
    directories: Sequence[str | Path],
    *,
    baseline: str | None = None,
    test: Test | None = None,
    allow_unequal: Sequence[str] = (),
    noise_dir: str | Path = "noise",
    name: str = "comparison",
    command: str = "",
) -> StudyResults:
    """Compare finished runs; each group of runs that differ only in their seed is a strategy.

    Args:
        directories: run directories.
        baseline, test, allow_unequal, noise_dir: as for `run_study`.

    Raises:
        ConfigurationError: if the runs cannot be compared, or that would not be fair.
        RunDirectoryError: if one of them is not a finished run.
    """
    if not directories:
        raise ConfigurationError("there is nothing to compare: name two run directories or more")
    paths = [Path(directory) for directory in directories]
    states = {path.name: read_summary(path).status for path in paths}
    if open_ := [f"{name} ({state})" for name, state in states.items() if state != "finished"]:
        raise RunDirectoryError(
            f"{len(open_)} of {len(states)} runs are not finished: {', '.join(open_)}. Finish "
            "them, or leave them out"
        )
    runs = []
    for path in paths:
        config = described_config(path) if is_hand_made(path) else read_config(path)
        iterations = int(config.episode.iterations)
        measures = measure_run(path, iterations=iterations)
        values = {**decisive_values(config), "episode.iterations": iterations}
        runs.append(_Run(path, read_summary(path).task, config, values, measures))
    check_allowed_keys(allow_unequal, [run.config for run in runs])
    tasks: dict[str, list[_Group]] = {}
    for run in runs:
        groups = tasks.setdefault(run.task, [])
        group = next((g for g in groups if not _differing(g.runs[0], run)), None)
        if group is None:
            groups.append(group := _Group([]))
        if twin := next((one for one in group.runs if one.seed == run.seed), None):
            raise ConfigurationError(
                f"{twin.directory} and {run.directory} are the same strategy and seed: leave one "
                "of them out"
            )
        group.runs.append(run)
    for groups in tasks.values():
        _name(groups)
    taught = {g.name: None for groups in tasks.values() for g in groups if g.role == "strategy"}
    if not taught:
        raise ConfigurationError("there is nothing to compare: all runs are floors or ceilings")
    for run in runs:
        if run.agent == CEILING and not run.measures.result.records:
            raise ConfigurationError(
                f"{run.directory} is a ceiling that trained on no records, so it has no result: "
                "leave it out, or run it again once its task has a train split"
            )
    studies = dict.fromkeys(path.absolute().parent.parent for path in paths)
    races = [study for study in studies if (state := read_state(study)) and state.race]
    models = {task: read_noise(task, noise_dir) for task in tasks}
    found = sum_up(
        [replace(_task_runs(task, groups), noise=models[task]) for task, groups in tasks.items()],
        name=name,
        command=command,
        baseline=choose_baseline(list(taught), baseline),
        test=test,
        allow_unequal=allow_unequal,
        differences=[d for groups in tasks.values() for d in _config_differences(groups)],
        raced=bool(races),
        notes=[
            f"{task}: the noise may differ: {changed}."
            for task, groups in tasks.items()
            if (model := models[task]) and (changed := model.differs(groups[0].runs[0].config))
        ],
    )
    warnings = map(raced_warning, races)
    return found.model_copy(update={"warnings": (*found.warnings, *warnings)})


def raced_warning(study: Path) -> str:
    """Why there are no intervals for runs of this race."""
    return (
        f"these are runs of the race {study}, which chose by their results how many there are: "
        f"p-values and intervals would be wrong and are left out; {study / 'table.md'} has its own"
    )


@dataclass(frozen=True)
class _Run:
    directory: Path
    task: str
    config: DictConfig
    values: dict[str, Any]
    measures: RunMeasures

    @property
    def seed(self) -> int:
        return int(self.config.seed)

    @property
    def agent(self) -> str:
        return str(self.config.agent.get("name") or self.config.agent._target_)


@dataclass
class _Group:
    """Runs that differ only in their seed."""

    runs: list[_Run]
    name: str = ""

    @property
    def role(self) -> Role:
        bounds: dict[str, Role] = {FLOOR: "floor", CEILING: "ceiling"}
        return bounds.get(self.runs[0].agent, "strategy")


def _differing(one: _Run, other: _Run) -> list[str]:
    """The keys in which they differ, except keys that follow the seed in both."""
    keys = [k for k in sorted({*one.values, *other.values})
            if one.values.get(k) != other.values.get(k)]  # fmt: skip
    return [
        key
        for key in keys
        if key.rpartition(".")[2] != "seed"
        or any(run.values.get(key) != run.seed for run in (one, other))
    ]


def _name(groups: list[_Group]) -> None:
    """Name each group by its agent; if an agent has several groups, also by their differences."""
    for group in groups:
        group.name = group.runs[0].agent
    for name in {group.name for group in groups}:
        same = [group for group in groups if group.name == name]
        if len(same) == 1:
            continue
        keys = sorted({k for g in same[1:] for k in _differing(same[0].runs[0], g.runs[0])})
        for group in same:
            values = group.runs[0].values
            shown = ", ".join(f"{k.rpartition('.')[2]}={values.get(k)}" for k in keys[:3])
            more = f", {len(keys) - 3} more" if len(keys) > 3 else ""
            group.name = f"{name}, {shown}{more}"
        if len({group.name for group in same}) < len(same):
            for i, group in enumerate(same):
                group.name = f"{group.name} ({i + 1})"


def _task_runs(task: str, groups: Sequence[_Group]) -> TaskRuns:
    groups = sorted(groups, key=lambda g: g.role == "ceiling")
    seeds = sorted({run.seed for g in groups if g.role != "floor" for run in g.runs})
    return TaskRuns(
        task=task,
        strategies=[
            StrategyRuns(
                name=group.name,
                role="ceiling" if group.role == "ceiling" else "strategy",
                runs={run.seed: run.measures for run in group.runs},
                missing=[MissingRun(seed=s, reason="no run of it was named")
                         for s in seeds if s not in {run.seed for run in group.runs}],
            )
            for group in groups
            if group.role != "floor"
        ],
        floor=[run.measures for g in groups if g.role == "floor" for run in g.runs],
        budgets={g.name: record_budget(g.runs[0].config) for g in groups if g.role == "strategy"},
    )  # fmt: skip


def _config_differences(groups: Sequence[_Group]) -> list[Difference]:
    runs = [(group, run) for group in groups for run in group.runs]
    # a run made in Python has no configuration: then compare all runs by their descriptions
    described = any(is_hand_made(run.directory) for _, run in runs)
    return config_differences(
        (g.role, g.name, run.seed, described_config(run.directory) if described else run.config)
        for g, run in sorted(runs, key=lambda pair: pair[1].seed)
    )


def described_config(directory: Path) -> DictConfig:
    """Describe a finished run without a configuration: task, student, agent and environment.

    `agent.records_per_iteration` is the most records that the agent wrote in one iteration.

    Raises:
        RunDirectoryError: without a summary, or if a file is damaged.
    """
    summary = read_summary(directory)
    identity = read_identity(directory) or {}
    options = asdict(TeachingOptions())
    written = [one.n_records + sum(one.dropped.values()) for one in summary.iterations[1:]]
    content: dict[str, Any] = {
        "task": {
            "name": summary.task,
            "instances": identity.get("instances"),
            "pressure": identity.get("pressure"),
        },
        "student": {},
        "predictor": identity.get("predictor", {}),
        "trainer": {},
        "agent": {"name": summary.agent, "records_per_iteration": max(written, default=0)},
        "environment": {
            "id": identity.get("environment"),
            **{name: identity.get(name, default) for name, default in options.items()},
        },
        "episode": {"iterations": len(summary.iterations) - 1},
        "seed": summary.seed,
    }
    config: DictConfig = OmegaConf.create(literal(content))
    return config
