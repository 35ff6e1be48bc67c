"""Reasons to doubt the numbers of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dataenvgym.runs.texts import counts
from dataenvgym.studies.results import (
    RunMeasures,
    StrategyResult,
    StrategyRuns,
    TaskResult,
)


def stronger_than(ceiling: StrategyResult, task: TaskResult) -> list[StrategyResult]:
    """The strategies that gained more than the ceiling, the best first."""
    if (most := _gain(ceiling, task)) is None:
        return []
    gains = [(_gain(one, task), one) for one in task.strategies if one is not ceiling]
    above = [(gain, one) for gain, one in gains if gain is not None and gain > most]
    return [one for _, one in sorted(above, key=lambda pair: -pair[0])]


def _gain(one: StrategyResult, task: TaskResult) -> float | None:
    """The mean gain in test score; in validation score without a test split."""
    has_test = task.floor is not None and task.floor.test_score is not None
    return one.measures["test_gain" if has_test else "val_gain"].mean


def ceiling_title(ceiling: StrategyResult, task: TaskResult) -> str:
    """The ceiling's title: "ceiling", or "not a ceiling" if a strategy gained more."""
    return "not a ceiling" if stronger_than(ceiling, task) else "ceiling"


def study_warnings(
    runs: Mapping[str, Sequence[StrategyRuns]], results: Sequence[TaskResult]
) -> list[str]:
    """One line for each doubt."""
    found = []
    for task in results:
        strategies = [one for one in runs[task.task] if one.role == "strategy"]
        doubts = [*_identical(strategies), *_the_same(strategies), *_of_results(task)]
        for one in runs[task.task]:
            texts = ((seed, run.warnings) for seed, run in one.runs.items())
            for text, seeds in _seeds_by_text(texts).items() if one.role != "floor" else ():
                noun = "seed" if len(seeds) == 1 else "seeds"
                doubts.append(f"{one.name}, {noun} {', '.join(map(str, seeds))}: {text}")
        where = f"{task.task}: " if len(results) > 1 else ""
        found += [where + doubt for doubt in doubts]
    return found


def _seeds_by_text(texts: Iterable[tuple[int, Iterable[str]]]) -> dict[str, list[int]]:
    seeds: dict[str, list[int]] = {}
    for seed, of_seed in sorted(texts):
        for text in of_seed:
            seeds.setdefault(text, []).append(seed)
    return seeds


def _identical(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    for one in strategies:
        hashes = ((s, [r.records_hash] if r.records_hash else []) for s, r in one.runs.items())
        for seeds in _seeds_by_text(hashes).values():
            if len(seeds) > 1:
                yield (
                    f"{one.name}: seeds {', '.join(map(str, seeds))} trained on identical records, "
                    "so they are not independent runs, and n, intervals and p overstate the "
                    "evidence. Does the agent use its `seed`?"
                )


def _the_same(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    """Strategies that differ in name only: the same records and scores at every shared seed.

    Equal records alone do not count: replay or the trainer may differ.
    """

    def outcome(run: RunMeasures) -> tuple[object, ...]:
        return run.records_hash, run.result.val_scores, run.test_after_rewards

    groups: list[list[StrategyRuns]] = []
    for one in strategies:
        for group in groups:
            shared = [(run, one.runs[s]) for s, run in group[0].runs.items() if s in one.runs]
            if shared and all(a.records_hash and outcome(a) == outcome(b) for a, b in shared):
                group.append(one)
                break
        else:
            groups.append([one])
    for group in groups:
        if len(group) > 1:
            yield (
                f"{', '.join(one.name for one in group)} have identical records and scores at "
                "every seed: the options in which they differ had no effect here."
            )


def _of_results(task: TaskResult) -> Iterator[str]:
    """Ceilings that are none, and students whose errors, which do not count in scores, differ."""
    for ceiling in task.strategies:
        if ceiling.role == "ceiling" and (above := stronger_than(ceiling, task)):
            shown = ", ".join(f"{one.name} {_gain(one, task):+.3f}" for one in above)
            yield (
                f"{ceiling.name} is not a ceiling: it gained {_gain(ceiling, task):+.3f}, and more "
                f"was gained by {shown}."
            )
    errors = {one.name: one.errors for one in task.strategies if one.seeds}
    if task.floor is not None:
        errors = {"no teaching": task.floor.errors, **errors}
    if len({sum(found.values()) for found in errors.values()}) > 1:
        shown = "; ".join(f"{name} {counts(found)}" for name, found in errors.items())
        yield (
            "some students have more errors than others, and instances with an error do not count "
            f"in scores. Errors in a run: {shown}."
        )
