"""The document of a study: its tables, warnings and notes; and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dataenvgym.runs.documents import Document, File, Line, Quote, Table, markdown
from dataenvgym.runs.texts import change, one_line, score, several
from dataenvgym.storage import write_json, write_text
from dataenvgym.studies.aggregate import Interval, SuiteScores
from dataenvgym.studies.notes import ceiling_title, errors_text
from dataenvgym.studies.plots import draw_study
from dataenvgym.studies.racing import Race, Standing
from dataenvgym.studies.results import StudyResults, TaskResult
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
            for lost in one.missing:
                reason = one_line(lost.reason, 160)
                yield Line(f"missing: {task.task}, {one.name}, seed {lost.seed}: {reason}",
                           "warning")  # fmt: skip
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
    """The gains of each strategy; a column of a measure that is always 0 is left out."""
    asked = any(one.measures["requests"].mean for one in task.strategies)
    named = sorted({name for one in task.strategies for name in one.score_gains})
    more = {
        name: (measure, digits)
        for name, measure, digits in (("forgotten", "forgetting", 3), ("refused", "n_refused", 1))
        if any(one.measures.get(measure, _NONE).mean for one in task.strategies)
    }
    has_errors = any(one.errors for one in task.strategies) or (task.floor and task.floor.errors)
    names = ["strategy", "n", "test gain", "noise", "valid. gain", "area", "records"]
    names += [*["calls", "cost"] * asked, *(one_line(name, 20) for name in named), *more, "sec."]
    names += ["errors"] * bool(has_errors)
    rows = []
    for one in task.strategies:
        measures, cost = one.measures, one.measures["cost"].mean
        is_ceiling = one.role == "ceiling"
        row = [
            one.name + (f" ({ceiling_title(one, task)})" if is_ceiling else ""),
            f"{len(one.seeds)}{'*' if one.missing else ''}",
            _gain(measures["test_gain"]),
            number(one.noise_floor),
            _gain(measures["val_gain"]),
            _gain(measures["area"]),
            number(measures["records"].mean, digits=0),
        ]
        if asked:
            row.append(number(measures["requests"].mean, digits=0))
            row.append("?" if cost is None else f"${cost:.2f}")
        row += [_gain(one.score_gains.get(name, _NONE)) for name in named]
        row += [number(measures[m].mean, digits=digits) for m, digits in more.values()]
        row.append(number(measures["seconds"].mean, digits=0))
        rows.append([*row, *[errors_text(one.errors)] * bool(has_errors)])
    if task.floor is not None:
        test = "-" if task.floor.test_score is None else "+.000"
        row = ["no teaching (floor)", "", test, "", "+.000", "+.000", "0", *["0", "0"] * asked]
        row += ["+.000"] * len(named)
        row += [number(0.0, digits=digits) for _, digits in more.values()]
        rows.append([*row, "", *[errors_text(task.floor.errors)] * bool(has_errors)])
    return Table(names, rows, title)


def _comparisons(task: TaskResult, title: str) -> Table:
    names = ("strategy", "n", "test", "noise", "p", "Holm", "valid.", "Holm", "area", "Holm")
    rows = []
    for one in task.strategies:
        if one.comparisons:
            test, val, area = (one.comparisons[m] for m in ("test_gain", "val_gain", "area"))
            holm = [
                _p(c.p_holm) + "*" * (c.p_holm is not None and c.p_holm <= LEVEL)
                for c in (test, val, area)
            ]
            cells = (one.name, str(len(val.seeds)), _gain(test.difference),
                     number(test.noise_floor), _p(test.p), holm[0], _gain(val.difference), holm[1],
                     _gain(area.difference), holm[2])  # fmt: skip
            rows.append(cells)
    return Table(names, rows, title)


def _race(race: Race) -> Table:
    rows = [
        (
            one.strategy,
            f"{one.seeds} of {race.planned}",
            number(one.mean, "+"),
            _OUTCOMES[one.state],
            one.other or "",
            "" if one.difference is None else number(one.difference, "+"),
            "" if one.low is None else f"[{number(one.low, '+')}, {number(one.high, '+')}]",
            "" if one.e is None else f"{one.e:.3g}",
        )
        for one in race.standings
    ]
    names = ("strategy", "seeds", "score", "outcome", "compared with", "difference",
             "95%, any time", "e")  # fmt: skip
    return Table(names, rows, "race")


def standing_text(one: Standing) -> str:
    """`stopped after 4 seeds: below edge, e = 312`."""
    outcome = _OUTCOMES[one.state]
    if one.other is not None:
        between = " " if one.state == "below" else " compared with "
        outcome += f"{between}{one.other}, e = {one.e:.3g}"
    return f"stopped after {one.seeds} seeds: {outcome}"


def _suite(suite: SuiteScores, base: str) -> Iterator[Table]:
    means = {one.strategy: suite.ranking.get(one.strategy, _NONE) for one in suite.overall}
    if ranked := sorted(suite.overall, key=lambda one: -(means[one.strategy].mean or 0.0)):
        rows = []
        for one in ranked:
            better = one.improvement.get(base)
            chance = ("", "") if better is None else (number(better.value), _range(better))
            mean, middle = _gain(means[one.strategy], ""), number(one.iqm.value)
            rows.append((one.strategy, str(one.n), mean, middle, _range(one.iqm), *chance))
        chance_of = f"P(> {one_line(base, 20)})"
        names = ("strategy", "runs", "mean", "IQM", "95%", chance_of, "95%")
        title = "suite: scores, from floor (0) to ceiling (1), and ranking by mean"
        yield Table(names, rows, title)
    if suite.pairs:
        apart = sum(pair.told_apart for pair in suite.pairs)
        title = f"suite: pairs told apart: {apart} of {len(suite.pairs)} at Holm .05"
        if suite.rank_agreement is not None:
            title += f"; Kendall's tau of two halves of the seeds: {suite.rank_agreement:.2f}"
        pairs = [
            (one.better, one.other, str(one.difference.n), _gain(one.difference), _p(one.p),
             _p(one.p_holm) + "*" * one.told_apart)
            for one in suite.pairs
        ]  # fmt: skip
        yield Table(("better", "other", "n", "difference", "p", "Holm"), pairs, title, texts=2)
    strategies = list(dict.fromkeys(s.strategy for of in suite.by_task.values() for s in of))
    by_task = []
    for task, found in suite.by_task.items():
        iqm = {one.strategy: f"{number(one.iqm.value)} {_range(one.iqm)}" for one in found}
        by_task.append((task, *(iqm.get(name, "-") for name in strategies)))
    yield Table(("task", *strategies), by_task, "suite: scores by task")


def _gain(found: Estimate, sign: str = "+") -> str:
    half = "" if found.half_width is None else f" ±{number(found.half_width)}"
    return number(found.mean, sign) + half


def number(value: float | None, sign: str = "", digits: int = 3) -> str:
    """Some digits without a leading zero: `.042`; with `sign` "+", `+.042`."""
    return "-" if value is None else re.sub(r"^([+-]?)0\.", r"\1.", f"{value:{sign}.{digits}f}")


def _range(found: Interval) -> str:
    return "" if found.low is None else f"[{number(found.low)}, {number(found.high)}]"


def _p(value: float | None) -> str:
    if value is None or 0.001 <= value < 0.9995:
        return number(value)
    return "<.001" if value < 0.001 else "1.0"


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
