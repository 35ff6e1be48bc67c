"""Notes for readers of a study's tables, and warnings: reasons to doubt its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from dataenvgym.episodes.texts import one_line, several
from dataenvgym.studies.racing import FUTILE, Race
from dataenvgym.studies.results import StrategyResult, StrategyRuns, StudyResults, TaskResult
from dataenvgym.studies.statistics import LEVEL

if TYPE_CHECKING:
    from dataenvgym.studies.aggregate import SuiteScores
    from dataenvgym.studies.comparison import TaskRuns
    from dataenvgym.studies.measures import RunMeasures


def study_notes(results: StudyResults) -> list[str]:
    """Notes for readers of the tables, one or two sentences each."""
    strategies = [one for task in results.tasks for one in task.strategies]
    has_intervals = any(one.measures["area"].low is not None for one in strategies)
    notes = [
        "Scores are gains over the base student at the iteration that validation chose; the test "
        "split is scored only there. Area: mean over iterations 1 to N of the gain in validation "
        "score." + (" ±: 95% t interval of the mean over seeds." if has_intervals else ""),
        "n: seeds. noise: the noise floor of the test gain; without any true gain, other seeds and "
        "test problems make a larger one in 5% of studies."
        + (" ± only covers the choice of seeds." if has_intervals else ""),
    ]
    if results.race is not None:
        has_ceilings = any(one.role == "ceiling" for one in strategies)
        notes = [*_race_notes(results.race, len(results.tasks), has_ceilings), *notes]
    notes += _within_noise(results)
    if names := {n for task in results.tasks for one in task.strategies for n in one.score_gains}:
        notes.append(
            f"{', '.join(sorted(names))}: gain of that score on the validation split, at the same "
            "iteration."
        )
    if any(one.forgetting for task in results.tasks for s in task.strategies for one in s.seeds):
        notes.append(
            "forgotten: share of the validation problems, by reward, that an earlier student "
            "solved and the last one does not; changes by chance count too."
        )
    if any(one.comparisons for task in results.tasks for one in task.strategies):
        name = "exact sign-flip test" if results.test == "sign_flip" else "paired t test"
        notes.append(
            f"Compared with {results.baseline} on the same seeds; p: {name}, two-sided; Holm: "
            "adjusted for all strategies compared in the column. *: significant (.05 or less); no "
            "star: not significant, that is, these seeds do not tell the two apart."
        )
    if results.suite is not None:
        notes += _suite_notes(results.suite)
    for task in results.tasks:
        notes += _floor_notes(task, several_tasks=len(results.tasks) > 1)
    asked = any(one.measures["requests"].mean for task in results.tasks for one in task.strategies)
    if not asked:
        notes.append(
            "No requests to a teacher were counted, so costs are not shown (your own teacher is "
            "not counted)."
        )
    if results.unequal:
        notes.append("NOT EQUAL, and allowed: " + "; ".join(results.unequal) + ".")
    missing = [
        f"* missing: {task.task}, {one.name}, seed {lost.seed}: {one_line(lost.reason, 160)}"
        for task in results.tasks
        for one in task.strategies
        for lost in one.missing
    ]
    return [*notes, *_smallest_p(results), *missing, *results.notes]


def _race_notes(race: Race, n_tasks: int, has_ceilings: bool) -> Iterator[str]:
    score = "the area"
    if n_tasks > 1:
        score = "the mean over tasks of the area"
        if has_ceilings:
            score += ", divided by that of the ceiling at the first seed"
    yield (
        f"Race: the score is {score}. A strategy stops once it is below another one "
        f"(familywise error {LEVEL:g} over all pairs, at any time), or not decided, if the seeds "
        f"left decide with a probability below {FUTILE:g}. Not decided does not mean equal. "
        "e: the evidence for a difference. More seeds under the same name continue the race."
    )
    yield (
        f"{race.share:.0%} of the strategies' planned episodes are in the race. Strategies stop "
        "after different seeds and because of their results, so the other tables have means only: "
        "t intervals and p-values would be wrong."
    )
    if race.left_out:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in race.left_out.items())
        yield f"Not in the score of the race: {reasons}."


def _within_noise(results: StudyResults) -> Iterator[str]:
    """Name test gains within their noise floor, and such differences if there is one seed.

    With more seeds, the test of a difference says it.
    """
    for task in results.tasks:
        gains, differences = [], []
        for one in task.strategies:
            test = one.comparisons.get("test_gain")
            if _is_noise(one.measures["test_gain"].mean, one.noise_floor):
                gains.append(f"{one.name} {one.measures['test_gain'].mean:+.3f}")
            if test and len(test.seeds) == 1 and _is_noise(test.difference.mean, test.noise_floor):
                differences.append(f"{one.name} {test.difference.mean:+.3f}")
        where = f"{task.task}: " if len(results.tasks) > 1 else ""
        if gains:
            yield f"{where}Within the noise floor, so perhaps no gain: {', '.join(gains)}."
        if differences:
            yield (
                f"{where}Within the noise floor, so perhaps no difference to {results.baseline}: "
                f"{', '.join(differences)}."
            )


def _is_noise(value: float | None, floor: float | None) -> bool:
    return value is not None and floor is not None and abs(value) <= floor


def _suite_notes(suite: SuiteScores) -> Iterator[str]:
    yield (
        f"Suite of {several(len(suite.by_task), 'task')}: the score of a run is its area divided "
        "by the mean area of its task's ceiling. Mean: over tasks at each seed, then over seeds. "
        "IQM: interquartile mean over runs and tasks. "
        "P(> ...): probability that a run has a higher score than one of the baseline, mean over "
        "tasks. Intervals: stratified bootstrap over the seeds of each task; the tasks and their "
        "ceilings are taken as given. results.json has all figures for each task, also the pairs, "
        "and performance profiles."
    )
    if suite.pairs:
        yield (
            f"Pairs: paired test of the means at each seed; Holm: adjusted for all "
            f"{several(len(suite.pairs), 'pair')}. The pairs without a star are not told apart."
        )
    if suite.rank_agreement is not None:
        yield (
            "Ranking by every other seed against ranking by the rest of the seeds: Kendall's tau "
            f"{suite.rank_agreement:.2f} (1: the same order)."
        )
    if len(suite.by_task) < 4:
        yield "With fewer than 4 tasks, the intervals of the IQM are too narrow."
    if suite.left_out:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in suite.left_out.items())
        yield f"Not in the suite's scores: {reasons}."
    found = {one.strategy for of_task in suite.by_task.values() for one in of_task}
    if lacking := sorted(found - {one.strategy for one in suite.overall}):
        yield f"Without a finished run on some task, so without an IQM: {', '.join(lacking)}."


def _floor_notes(task: TaskResult, *, several_tasks: bool) -> list[str]:
    if task.floor is None:
        return []
    where = f"{task.task}: the" if several_tasks else "The"
    scores = f"validation {task.floor.val_score:.3f}"
    if task.floor.test_score is not None:
        scores += f", test {task.floor.test_score:.3f}"
    if task.floor.deterministic:
        how = f"the same in all {task.floor.n_runs} runs, so it needs one run only"
    else:
        how = f"the mean of {task.floor.n_runs} runs, which differ: gains vary with them, too"
    notes = [f"{where} base student (floor) scores {scores}; {how}."]
    for one in task.strategies:
        if one.role == "ceiling" and one.seeds:
            records = one.measures["records"].mean or 0.0
            what = "Gold data (not a ceiling)" if stronger_than(one, task) else "Ceiling"
            notes.append(
                f"{what}: the task's train split with its gold answers ({records:.0f} records), "
                "without a record budget. It is not compared with the strategies."
            )
    return notes


def _smallest_p(results: StudyResults) -> Iterator[str]:
    """Say which p value the number of seeds can reach at best."""
    for task in results.tasks if results.test == "sign_flip" else ():
        compared = [one.comparisons["val_gain"] for one in task.strategies if one.comparisons]
        m = len(compared)
        for n in (len(one.seeds) for one in compared):
            least = 2.0 / 2**n
            if n and least * m > 0.05:
                yield (
                    f"With {several(n, 'pair')} no sign-flip p is below {least:.3g}, or "
                    f"{min(1.0, least * m):.3g} after Holm for {several(m, 'comparison')}: only "
                    "more seeds can give a significant difference (.05 or less)."
                )
                return


# --- warnings ---


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
        one = of_runs.strategies
        doubts = (_identical(one), _the_same(one), _no_ceilings(result), _more_errors(result))
        found += [place + text for text in chain(*doubts)]
    for place, of_runs in zip(where, runs, strict=True):
        found += [place + text for text in _of_runs(of_runs.strategies)]
    return found


def _identical(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    for one in strategies:
        hashes = {seed: [run.records_hash] for seed, run in one.runs.items() if run.records_hash}
        for seeds in _by_text(hashes).values() if one.role == "strategy" else ():
            if len(seeds) > 1:
                yield (
                    f"{one.name}: seeds {', '.join(map(str, seeds))} trained on identical records, "
                    "so they are not independent runs, and n, intervals and p overstate the "
                    "evidence. Does the agent use its `seed`?"
                )


def _by_text(texts: Mapping[int, Sequence[str]]) -> dict[str, list[int]]:
    """The seeds that have each text."""
    seeds: dict[str, list[int]] = {}
    for seed, of_seed in sorted(texts.items()):
        for text in of_seed:
            seeds.setdefault(text, []).append(seed)
    return seeds


def _the_same(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    """Strategies that differ in name only: the same records and scores at every shared seed.

    Equal records alone do not count: replay or the trainer may differ.
    """

    def outcome(run: RunMeasures) -> tuple[object, ...]:
        return run.records_hash, run.result.val_scores, run.test_after_rewards

    def are_equal(one: StrategyRuns, other: StrategyRuns) -> bool:
        shared = [(one.runs[s], other.runs[s]) for s in one.runs if s in other.runs]
        return bool(shared) and all(
            a.records_hash is not None and outcome(a) == outcome(b) for a, b in shared
        )

    groups: list[list[StrategyRuns]] = []
    for one in strategies:
        if one.role != "strategy":
            continue
        group = next((g for g in groups if are_equal(g[0], one)), None)
        if group is None:
            groups.append(group := [])
        group.append(one)
    for group in groups:
        if len(group) > 1:
            yield (
                f"{', '.join(one.name for one in group)} have identical records and scores at "
                "every seed: the options in which they differ had no effect here."
            )


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


def errors_text(errors: Mapping[str, float]) -> str:
    """`2.5 environment, 1 user`, or `0`."""
    return ", ".join(f"{n:.1f} {name}".replace(".0 ", " ") for name, n in errors.items()) or "0"


def _more_errors(task: TaskResult) -> Iterator[str]:
    """Errors do not count in scores: a student that causes them where it fails scores too high."""
    floor = {} if task.floor is None else {"no teaching": task.floor.errors}
    errors = floor | {one.name: one.errors for one in task.strategies if one.seeds}
    totals = {sum(found.values()) for found in errors.values()}
    if len(totals) > 1:
        shown = "; ".join(f"{name} {errors_text(found)}" for name, found in errors.items())
        yield (
            "some students have more errors than others, and instances with an error do not count "
            f"in scores. Errors in a run: {shown}."
        )


def _of_runs(strategies: Sequence[StrategyRuns]) -> Iterator[str]:
    """The warnings of the runs themselves, each text once per strategy."""
    for one in strategies:
        texts = {seed: run.warnings for seed, run in one.runs.items()}
        for text, seeds in _by_text(texts).items():
            noun = "seed" if len(seeds) == 1 else "seeds"
            yield f"{one.name}, {noun} {', '.join(map(str, seeds))}: {text}"


def _measure(ceiling: StrategyResult) -> str:
    return "val_gain" if ceiling.measures["test_gain"].mean is None else "test_gain"


def _gain(one: StrategyResult, measure: str) -> str:
    return f"{one.measures[measure].mean:+.3f}"
