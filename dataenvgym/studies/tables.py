"""The document of a study: its tables, warnings and notes; and its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dataenvgym.runs.documents import Document, File, Line, Quote, Row, Table, markdown, table
from dataenvgym.runs.texts import change, counts, gain, one_line, score, several
from dataenvgym.storage import write_json, write_text
from dataenvgym.studies.aggregate import Interval, SuiteScores
from dataenvgym.studies.notes import ceiling_title
from dataenvgym.studies.plots import draw_study
from dataenvgym.studies.racing import Race, Standing
from dataenvgym.studies.results import COMPARED, StudyResults, TaskResult
from dataenvgym.studies.statistics import LEVEL
from dataenvgym.tasks.metrics.estimators import Estimate

_NONE = Estimate(n=0)
_OUTCOMES = {"best": "best", "below": "below", "undecided": "not decided", "racing": "racing"}


def study_document(results: StudyResults) -> Document:
    """The tables of a study, its warnings and notes.

    Two tables per task: the results of the strategies, and their difference to the baseline. A
    suite adds three: its scores, the pairs of strategies, and the scores by task. A race has its
    own instead of those with p-values and intervals.
    """
    if results.race is not None:
        yield _race(results.race)
    for task in results.tasks:
        where = f"{task.task}: " if len(results.tasks) > 1 else ""
        yield _scores(task, f"{where}gains")
        if any(one.comparisons for one in task.strategies):
            yield _comparisons(task, f"{where}difference to {results.baseline}")
    if results.suite is not None:
        yield from _suite(results.suite, results.baseline)
    for text in results.warnings:
        yield Line(text, "warning")
    if results.unequal:
        yield Line(f"NOT EQUAL, and allowed: {'; '.join(results.unequal)}.", "warning")
    for task in results.tasks:
        for one in task.strategies:
            for seed, why in one.missing.items():
                text = f"missing: {task.task}, {one.name}, seed {seed}: {one_line(why, 160)}"
                yield Line(text, "warning")
    for text in _notes(results):
        yield Line(text, "note")


def _notes(results: StudyResults) -> Iterator[str]:
    if results.race is not None:
        share = f"{results.race.share:.0%}"
        yield f"Race: {share} of the strategies' planned episodes are in it; means only, no p."
    if any(one.comparisons for task in results.tasks for one in task.strategies):
        test = {"sign_flip": "exact sign-flip test", "t": "paired t test"}[results.test]
        yield f"Two-sided {test} on the same seeds; *: significant after Holm (.05 or less)."
        yield from _smallest_p(results)
    left_out = {} if results.race is None else dict(results.race.left_out)
    left_out |= {} if results.suite is None else results.suite.left_out
    if left_out:
        tasks = "; ".join(f"{task}: {reason}" for task, reason in left_out.items())
        yield f"Not in the score over all tasks: {tasks}."
    floors = []
    for task in results.tasks:
        if (floor := task.floor) is not None:
            test = "" if floor.test_score is None else f", test {floor.test_score:.3f}"
            varies = "" if floor.deterministic else f" (the mean of {floor.n_runs} different runs)"
            floors.append(f"{task.task}: validation {floor.val_score:.3f}{test}{varies}")
    if floors:
        yield f"Scores of the base student: {'; '.join(floors)}."
    yield from results.notes


def _smallest_p(results: StudyResults) -> Iterator[str]:
    """Say which p value the number of seeds can reach at best."""
    for task in results.tasks if results.test == "sign_flip" else ():
        compared = [one.comparisons["val_gain"] for one in task.strategies if one.comparisons]
        m = len(compared)
        for n in (len(one.seeds) for one in compared):
            if n and (least := 2.0 / 2**n) * m > LEVEL:
                yield (
                    f"With {several(n, 'pair')} no p is below {least:.3g}, or "
                    f"{min(1.0, least * m):.3g} after Holm: only more seeds can be significant."
                )
                return


def _scores(task: TaskResult, title: str) -> Table:
    """The gains of each strategy, and of the floor."""
    asked = any(one.measures["requests"].mean for one in task.strategies)
    rows: list[Row] = []
    for one in task.strategies:
        name = one.name + (f" ({ceiling_title(one, task)})" if one.role == "ceiling" else "")
        means = {measure: found.mean for measure, found in one.measures.items()}
        cost = means["cost"]
        rows.append(
            {
                "strategy": name,
                "n": f"{len(one.seeds)}{'*' if one.missing else ''}",
                "test gain": gain(one.measures["test_gain"]),
                "noise": one.noise_floor,
                "valid. gain": gain(one.measures["val_gain"]),
                "area": gain(one.measures["area"]),
                "records": score(means["records"], 0),
                "calls": score(means["requests"], 0) if asked else None,
                "cost": ("?" if cost is None else f"${cost:.2f}") if asked else None,
                **{("named", name): gain(of) for name, of in one.score_gains.items()},
                "forgotten": means.get("forgetting") or None,
                "refused": score(means["n_refused"], 1) if means.get("n_refused") else None,
                "sec.": score(means["seconds"], 0),
                "errors": counts(one.errors) if one.errors else None,
            }
        )
    if task.floor is not None:
        zero = change(0.0)
        test = None if task.floor.test_score is None else zero
        errors = counts(task.floor.errors) if task.floor.errors else None
        rows.append({"strategy": "no teaching (floor)", "n": "", "test gain": test,
                     "valid. gain": zero, "area": zero, "records": 0,
                     "errors": errors})  # fmt: skip
    return table(rows, title)


def _comparisons(task: TaskResult, title: str) -> Table:
    rows: list[Row] = []
    for one in task.strategies:
        if one.comparisons:
            test, val, area = (one.comparisons[measure] for measure in COMPARED)
            rows.append(
                {
                    "strategy": one.name,
                    "n": len(val.seeds),
                    "test": gain(test.difference),
                    "noise": test.noise_floor,
                    "p": _p(test.p),
                    "Holm": _p(test.p_holm, LEVEL),
                    "valid.": gain(val.difference),
                    ("valid.", "Holm"): _p(val.p_holm, LEVEL),
                    "area": gain(area.difference),
                    ("area", "Holm"): _p(area.p_holm, LEVEL),
                }
            )
    return table(rows, title)


def _race(race: Race) -> Table:
    rows = [
        {
            "strategy": one.strategy,
            "seeds": f"{one.seeds} of {race.planned}",
            "score": change(one.mean),
            "outcome": _OUTCOMES[one.state],
            "compared with": one.other,
            "difference": None if one.difference is None else change(one.difference),
            "95%, any time": None if one.low is None else f"{one.low:+.3f} to {one.high:+.3f}",
            "e": None if one.e is None else f"{one.e:.3g}",
        }
        for one in race.standings
    ]
    return table(rows, "race")


def standing_text(one: Standing) -> str:
    """`stopped after 4 seeds: below edge, e = 312`."""
    outcome = _OUTCOMES[one.state]
    if one.other is not None:
        between = " " if one.state == "below" else " compared with "
        outcome += f"{between}{one.other}, e = {one.e:.3g}"
    return f"stopped after {one.seeds} seeds: {outcome}"


def _suite(suite: SuiteScores, base: str) -> Iterator[Table]:
    means = {one.strategy: suite.ranking.get(one.strategy, _NONE) for one in suite.overall}
    title = "suite: scores, from floor (0) to ceiling (1), and ranking by mean"
    ranked = sorted(suite.overall, key=lambda one: -(means[one.strategy].mean or 0.0))
    chance = f"P(> {one_line(base, 20)})"
    rows = [
        {
            "strategy": one.strategy,
            "runs": one.n,
            "mean": gain(means[one.strategy], sign=""),
            "IQM, 95%": _range(one.iqm),
            f"{chance}, 95%": _range(one.improvement.get(base)),
        }
        for one in ranked
    ]
    if rows:
        yield table(rows, title)
    if suite.pairs:
        apart = sum(pair.told_apart for pair in suite.pairs)
        title = f"suite: pairs told apart: {apart} of {len(suite.pairs)} at Holm .05"
        if suite.rank_agreement is not None:
            title += f"; Kendall's tau of two halves of the seeds: {suite.rank_agreement:.2f}"
        pairs = [
            (one.better, one.other, one.difference.n, gain(one.difference), _p(one.p),
             _p(one.p_holm) + "*" * one.told_apart)
            for one in suite.pairs
        ]  # fmt: skip
        yield Table(("better", "other", "n", "difference", "p", "Holm"), pairs, title, texts=2)
    by_task = [
        {"task": task, **{one.strategy: _range(one.iqm) for one in found}}
        for task, found in suite.by_task.items()
    ]
    yield table(by_task, "suite: scores by task")


def _range(found: Interval | None) -> str | None:
    if found is None:
        return None
    known = "" if found.low is None else f" [{score(found.low)}, {score(found.high)}]"
    return score(found.value) + known


def _p(value: float | None, level: float = 0.0) -> str:
    """A p-value, with a star if it is significant at this level."""
    if value is None:
        return "-"
    return ("<0.001" if value < 0.001 else score(value)) + "*" * (value <= level)


# --- files ---


def write_results(results: StudyResults, directory: Path) -> None:
    """Write all of them into `directory`; without a finished run, no plot."""
    write_json(directory / "results.json", results)
    write_text(directory / "study.md", markdown(_whole(results, directory)))


def _whole(results: StudyResults, directory: Path) -> Document:
    yield Line(results.name, "title")
    if any(one.seeds for task in results.tasks for one in task.strategies):
        draw_study(results, directory / "curves.png")
        yield File(directory / "curves.png", "Learning curves and test gains")
    yield from study_document(results)
    if results.command:
        yield Quote("Made by", results.command)
    names = ("strategy", "run", "seed", "validation", "best iteration", "gain", "test", "gain",
             "area", "records", "seconds")  # fmt: skip
    for task in results.tasks:
        rows = [
            (
                one.name,
                run.run,
                run.seed,
                f"{run.val_scores[0]:.3f} -> {run.val_scores[run.best_iteration]:.3f}",
                run.best_iteration,
                change(run.val_gain),
                f"{score(run.test_before)} -> {score(run.test_after)}",
                change(run.test_gain),
                change(run.area),
                run.records,
                f"{run.seconds:.0f}",
            )
            for one in task.strategies
            for run in one.seeds
        ]
        yield Line(f"{task.task}: every run", "section")
        yield Table(names, rows, texts=2)
