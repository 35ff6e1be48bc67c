"""Turns runs into results: checks fairness again on the finished runs, then aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dataenvgym.studies.fairness import Difference, allowed, over_budget, result_differences
from dataenvgym.studies.measures import RunMeasures
from dataenvgym.studies.notes import study_warnings
from dataenvgym.studies.results import StrategyRuns, StudyResults, task_result
from dataenvgym.studies.statistics import Test, choose_test


@dataclass(frozen=True)
class TaskRuns:
    """The runs on one task.

    Attributes:
        floor: runs without teaching.
        budgets: the record budget of each strategy.
    """

    task: str
    strategies: Sequence[StrategyRuns]
    floor: Sequence[RunMeasures] = ()
    budgets: Mapping[str, float] = field(default_factory=dict)


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
) -> StudyResults:
    """Aggregate runs if they may be compared.

    Args:
        test: None lets the number of seeds decide.
        differences: between the configurations.

    Raises:
        ConfigurationError: if runs differ where they must agree.
    """
    found = [*differences, *(d for task in tasks for d in _differences(task))]
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
        )
        for task in tasks
    )
    return StudyResults(
        name=name,
        command=command,
        baseline=baseline,
        test=chosen,
        tasks=summed,
        unequal=tuple(str(difference) for difference in unequal),
        notes=tuple(notes),
        warnings=tuple(study_warnings(tasks, summed)),
    )


def _differences(task: TaskRuns) -> list[Difference]:
    """Find differences seed by seed, because a task may have other instances for another seed."""
    seeds = sorted({seed for one in task.strategies for seed in one.runs})
    found: list[Difference] = []
    for seed in seeds:
        runs = {one.name: one.runs[seed] for one in task.strategies if seed in one.runs}
        found += result_differences(runs)
        bound = {one.name for one in task.strategies if one.role == "strategy"}
        found += over_budget({n: r for n, r in runs.items() if n in bound}, task.budgets)
    return found
