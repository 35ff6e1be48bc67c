"""The warnings of a study: reasons to doubt its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dataenvgym.studies.results import StrategyResult, StrategyRuns, TaskResult

if TYPE_CHECKING:
    from dataenvgym.studies.measures import RunMeasures
    from dataenvgym.studies.summing import TaskRuns


def stronger_than(ceiling: StrategyResult, task: TaskResult) -> list[StrategyResult]:
    """The strategies that gained more than the ceiling, the best first.

    They are compared by the mean gain in test score, or in validation score without a test split.
    """
    measure = _measure(ceiling)
    if (most := ceiling.measures[measure].mean) is None:
        return []
    gains = [(one, one.measures[measure].mean) for one in task.strategies if one is not ceiling]
    above = [(one, gain) for one, gain in gains if gain is not None and gain > most]
    return [one for one, _ in sorted(above, key=lambda pair: -pair[1])]


def ceiling_title(ceiling: StrategyResult, task: TaskResult) -> str:
    """The ceiling's title: "ceiling", or "not a ceiling" if a strategy gained more."""
    return "not a ceiling" if stronger_than(ceiling, task) else "ceiling"


def study_warnings(runs: Sequence[TaskRuns], results: Sequence[TaskResult]) -> list[str]:
    """One line for each doubt."""
    where = [f"{task.task}: " if len(results) > 1 else "" for task in results]
    found: list[str] = []
    for place, of_runs, result in zip(where, runs, results, strict=True):
        found += [place + text for text in _identical(of_runs.strategies)]
        found += [place + text for text in _the_same(of_runs.strategies)]
        found += [place + text for text in _no_ceilings(result)]
    for place, of_runs in zip(where, runs, strict=True):
        found += [place + text for text in _of_runs(of_runs.strategies)]
    return found


def _identical(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    for one in strategies:
        if one.role != "strategy":
            continue
        seeds: dict[str, list[int]] = {}
        for seed, run in sorted(one.runs.items()):
            if run.records_hash is not None:
                seeds.setdefault(run.records_hash, []).append(seed)
        for same in seeds.values():
            if len(same) > 1:
                yield (
                    f"{one.name}: seeds {', '.join(map(str, same))} trained on identical records, "
                    "so they are not independent runs, and n, intervals and p overstate the "
                    "evidence. Does the agent use its `seed`?"
                )


def _the_same(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    """Strategies that differ in name only: the same records and scores at every shared seed."""
    groups: list[list[StrategyRuns]] = []
    for one in strategies:
        if one.role != "strategy":
            continue
        group = next((g for g in groups if _all_equal(g[0], one)), None)
        if group is None:
            groups.append(group := [])
        group.append(one)
    for group in groups:
        if len(group) > 1:
            yield (
                f"{', '.join(one.name for one in group)} have identical records and scores at "
                "every seed: the options in which they differ had no effect here."
            )


def _all_equal(one: StrategyRuns, other: StrategyRuns) -> bool:
    """Equal records alone do not count: replay or the trainer may differ."""
    seeds = one.runs.keys() & other.runs.keys()
    return bool(seeds) and all(
        one.runs[seed].records_hash is not None
        and _outcome(one.runs[seed]) == _outcome(other.runs[seed])
        for seed in seeds
    )


def _outcome(run: RunMeasures) -> tuple[object, ...]:
    return run.records_hash, run.result.val_scores, run.test_after_rewards


def _no_ceilings(task: TaskResult) -> Iterator[str]:
    for ceiling in task.strategies:
        if ceiling.role == "ceiling" and (above := stronger_than(ceiling, task)):
            measure = _measure(ceiling)
            shown = ", ".join(f"{one.name} {_gain(one, measure)}" for one in above)
            yield (
                f"{ceiling.name} is not a ceiling: it gained {_gain(ceiling, measure)} in "
                f"{'test' if measure == 'test_gain' else 'validation'} score, and more was gained "
                f"by {shown}."
            )


def _of_runs(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    """The warnings of the runs themselves, each text once per strategy."""
    for one in strategies:
        seeds: dict[str, list[int]] = {}
        for seed, run in sorted(one.runs.items()):
            for text in run.warnings:
                seeds.setdefault(text, []).append(seed)
        for text, of_seeds in seeds.items():
            noun = "seed" if len(of_seeds) == 1 else "seeds"
            yield f"{one.name}, {noun} {', '.join(map(str, of_seeds))}: {text}"


def _measure(ceiling: StrategyResult) -> str:
    return "val_gain" if ceiling.measures["test_gain"].mean is None else "test_gain"


def _gain(one: StrategyResult, measure: str) -> str:
    return f"{one.measures[measure].mean:+.3f}"
