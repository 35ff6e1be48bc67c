"""Notes for readers of a study's tables, and warnings: reasons to doubt its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dataenvgym.runs.episodes.texts import one_line, several
from dataenvgym.studies.aggregate import SuiteScores
from dataenvgym.studies.results import (
    RunMeasures,
    StrategyResult,
    StrategyRuns,
    StudyResults,
    TaskResult,
)
from dataenvgym.studies.statistics import LEVEL


def study_notes(results: StudyResults) -> list[str]:
    """Notes for readers of the tables, one or two sentences each."""
    tests = {"sign_flip": "exact sign-flip test", "t": "paired t test"}
    notes = [
        "Scores are gains over the base student at the iteration that validation chose. ±: 95% t "
        "interval over seeds. noise: what chance makes in 5% of studies. docs/studies.md explains "
        "all columns."
    ]
    if results.race is not None:
        notes.append(
            f"Race: {results.race.share:.0%} of the strategies' planned episodes are in it. A "
            f"strategy stops once it is below another one (familywise error {LEVEL:g}, at any "
            "time), or not decided, which does not mean equal. As results decide on the runs, the "
            "other tables have means only."
        )
        notes += _left_out("the score of the race", results.race.left_out)
    if any(one.comparisons for task in results.tasks for one in task.strategies):
        notes.append(
            f"Compared with {results.baseline} on the same seeds by the {tests[results.test]}, "
            "two-sided, after Holm for all strategies compared. *: significant (.05 or less); no "
            "star: these seeds do not tell the two apart."
        )
        notes += _smallest_p(results)
    if results.suite is not None:
        notes += _suite_notes(results.suite)
    for task in results.tasks:
        notes += _bound_notes(task)
    if results.unequal:
        notes.append("NOT EQUAL, and allowed: " + "; ".join(results.unequal) + ".")
    notes += [
        f"* missing: {task.task}, {one.name}, seed {lost.seed}: {one_line(lost.reason, 160)}"
        for task in results.tasks
        for one in task.strategies
        for lost in one.missing
    ]
    return [*notes, *results.notes]


def _smallest_p(results: StudyResults) -> Iterator[str]:
    """Say which p value the number of seeds can reach at best."""
    for task in results.tasks if results.test == "sign_flip" else ():
        compared = [one.comparisons["val_gain"] for one in task.strategies if one.comparisons]
        m = len(compared)
        for n in (len(one.seeds) for one in compared):
            if n and (least := 2.0 / 2**n) * m > LEVEL:
                yield (
                    f"With {several(n, 'pair')} no sign-flip p is below {least:.3g}, or "
                    f"{min(1.0, least * m):.3g} after Holm for {several(m, 'comparison')}: only "
                    "more seeds can give a significant difference (.05 or less)."
                )
                return


def _left_out(where: str, tasks: Mapping[str, str]) -> Iterator[str]:
    for task, reason in tasks.items():
        yield f"Not in {where}: {task}: {reason}."


def _suite_notes(suite: SuiteScores) -> Iterator[str]:
    yield (
        f"Suite of {several(len(suite.by_task), 'task')}: the score of a run is its area divided "
        "by that of its task's ceiling. IQM: interquartile mean over runs and tasks, with a "
        "bootstrap over the seeds of each task. results.json has all figures for each task."
    )
    if suite.rank_agreement is not None:
        tau = suite.rank_agreement
        yield f"Kendall's tau of the rankings by two halves of the seeds: {tau:.2f}."
    yield from _left_out("the suite's scores", suite.left_out)
    found = {one.strategy for of_task in suite.by_task.values() for one in of_task}
    if lacking := sorted(found - {one.strategy for one in suite.overall}):
        yield f"Without a finished run on some task, so without an IQM: {', '.join(lacking)}."


def _bound_notes(task: TaskResult) -> Iterator[str]:
    if (floor := task.floor) is None:
        return
    test = "" if floor.test_score is None else f", test {floor.test_score:.3f}"
    same = "the same in all" if floor.deterministic else "the mean of different scores in"
    yield (
        f"{task.task}: the base student (floor) scores validation {floor.val_score:.3f}{test}; "
        f"{same} {floor.n_runs} runs."
    )
    for one in task.strategies:
        if one.role == "ceiling" and one.seeds:
            yield (
                f"{task.task}: {one.name} ({ceiling_title(one, task)}) is taught the train split's "
                f"gold answers ({one.measures['records'].mean:.0f} records), without a record "
                "budget. It is not compared with the strategies."
            )


# --- warnings ---


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


def errors_text(errors: Mapping[str, float]) -> str:
    """`2.5 environment, 1 user`, or `0`."""
    return ", ".join(f"{round(n, 1):g} {name}" for name, n in errors.items()) or "0"


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
        shown = "; ".join(f"{name} {errors_text(found)}" for name, found in errors.items())
        yield (
            "some students have more errors than others, and instances with an error do not count "
            f"in scores. Errors in a run: {shown}."
        )
