"""The tables of a study, the same for a terminal and in Markdown, and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dataenvgym.runs.episodes.texts import cell, change, markdown_table, one_line, plain, score
from dataenvgym.storage import write_json, write_text
from dataenvgym.studies.aggregate import Interval, SuiteScores
from dataenvgym.studies.notes import ceiling_title, errors_text, study_notes
from dataenvgym.studies.plots import draw_study
from dataenvgym.studies.racing import Race, Standing
from dataenvgym.studies.results import StudyResults, TaskResult
from dataenvgym.studies.statistics import LEVEL
from dataenvgym.tasks.metrics.estimators import Estimate

_NAME_WIDTH = 20
_NONE = Estimate(n=0)
_OUTCOMES = {"best": "best", "below": "below", "undecided": "not decided", "racing": "racing"}


@dataclass(frozen=True)
class Cells:
    """A table as text: a column of names, then columns of numbers.

    Attributes:
        expendable: indices of columns to drop on a narrow terminal, in this order.
    """

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    expendable: tuple[int, ...] = ()


def study_cells(results: StudyResults) -> list[Cells]:
    """The tables of a study.

    Two per task: the results of the strategies, and their difference to the baseline. A suite adds
    three: its scores, the pairs of strategies, and the scores by task. A race has its own instead
    of those with p-values and intervals.
    """
    tables = [] if results.race is None else [_race(results.race)]
    for task in results.tasks:
        where = f"{task.task}: " if len(results.tasks) > 1 else ""
        tables.append(_scores(task, f"{where}gains"))
        if any(one.comparisons for one in task.strategies):
            tables.append(_comparisons(task, f"{where}difference to {results.baseline}"))
    return tables if results.suite is None else [*tables, *_suite(results.suite, results.baseline)]


def render(results: StudyResults, width: int = 100) -> RenderableType:
    """The tables and notes for a terminal of `width` columns."""
    parts = render_tables(study_cells(results), width)
    parts += [Text(plain(f"warning: {w}"), style="yellow") for w in results.warnings]
    parts += [Text(plain(note), style="dim") for note in study_notes(results)]
    return Group(*parts)


def render_tables(tables: Sequence[Cells], width: int) -> list[RenderableType]:
    """The tables for a terminal of `width` columns, and what has no room there."""
    parts: list[RenderableType] = []
    for cells in tables:
        widths = [max(map(len, column)) for column in zip(cells.names, *cells.rows, strict=True)]
        widths[0] = min(widths[0], _NAME_WIDTH)
        shown, gap = list(range(len(widths))), 2
        if sum(widths) + gap * len(widths) - gap > width:
            gap = 1
        for i in cells.expendable:
            if sum(widths[j] + gap for j in shown) - gap > width:
                shown.remove(i)
        table = Table(
            title=cells.title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            padding=(0, gap - 1, 0, 0),  # the box puts one blank between columns
        )
        table.add_column(cells.names[0], min_width=widths[0], max_width=widths[0], overflow="fold")
        for i in shown[1:]:
            table.add_column(cells.names[i], justify="right", no_wrap=True)
        for row in cells.rows:
            table.add_row(*(Text(plain(row[i])) for i in shown))
        parts.append(table)
        if hidden := [name for i, name in enumerate(cells.names) if i not in shown]:
            text = f"{width} columns have no room for: {', '.join(hidden)} (see table.md)"
            parts.append(Text(text, style="yellow"))
        parts.append(Text(""))
    return parts


def markdown(results: StudyResults) -> str:
    """The tables and notes as Markdown: `table.md`."""
    lines = []
    for table in study_cells(results):
        rows = markdown_table(table.names, table.rows, numbers=True)
        lines += [f"**{cell(table.title)}**", "", *rows, ""]
    lines += [f"- **Warning**: {cell(warning)}" for warning in results.warnings]
    lines += [f"- {cell(note)}" for note in study_notes(results)]
    if results.command:
        lines += ["", f"Made by `{results.command}`."]
    return "\n".join(lines) + "\n"


def _scores(task: TaskResult, title: str) -> Cells:
    """The gains of each strategy; a column of a measure that is always 0 is left out."""
    asked = any(one.measures["requests"].mean for one in task.strategies)
    named = sorted({name for one in task.strategies for name in one.score_gains})
    more = {
        name: (measure, digits)
        for name, measure, digits in (("forgotten", "forgetting", 3), ("refused", "n_refused", 1))
        if any(one.measures.get(measure, _NONE).mean for one in task.strategies)
    }
    has_errors = any(one.errors for one in task.strategies) or (task.floor and task.floor.errors)
    own = {name: (one_line(name, _NAME_WIDTH),) for name in named}  # not a name of another column
    rows: list[dict[str | tuple[str], str]] = []
    for one in task.strategies:
        measures, cost = one.measures, one.measures["cost"].mean
        row: dict[str | tuple[str], str] = {
            "strategy": one.name
            + (f" ({ceiling_title(one, task)})" if one.role == "ceiling" else ""),
            "n": f"{len(one.seeds)}{'*' if one.missing else ''}",
            "test gain": _gain(measures["test_gain"]),
            "noise": number(one.noise_floor),
            "valid. gain": _gain(measures["val_gain"]),
            "area": _gain(measures["area"]),
            "records": number(measures["records"].mean, digits=0),
        }
        if asked:
            row["calls"] = number(measures["requests"].mean, digits=0)
            row["cost"] = "?" if cost is None else f"${cost:.2f}"
        row |= {own[n]: _gain(one.score_gains.get(n, _NONE)) for n in named}
        row |= {n: number(measures[m].mean, digits=digits) for n, (m, digits) in more.items()}
        row["sec."] = number(measures["seconds"].mean, digits=0)
        if has_errors:
            row["errors"] = errors_text(one.errors)
        rows.append(row)
    if task.floor is not None:
        zeros: dict[str | tuple[str], str] = {
            **dict.fromkeys(("records", "calls", "cost"), "0"),
            **{name: number(0.0, digits=digits) for name, (_, digits) in more.items()},
            **dict.fromkeys(("n", "noise", "sec."), ""),
            "strategy": "no teaching (floor)",
            "test gain": "-" if task.floor.test_score is None else "+.000",
            "errors": errors_text(task.floor.errors),
        }
        rows.append({name: zeros.get(name, "+.000") for name in (rows[0] if rows else zeros)})
    names: list[str | tuple[str]] = list(rows[0]) if rows else ["strategy"]
    more_names: list[str | tuple[str]] = [*own.values(), *more]
    gone = ["sec.", *reversed(more_names), "noise", "area", "records"]
    return Cells(
        title,
        tuple(name if isinstance(name, str) else name[0] for name in names),
        tuple(tuple(row.values()) for row in rows),
        tuple(names.index(name) for name in gone if name in names),
    )


def _comparisons(task: TaskResult, title: str) -> Cells:
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
    return Cells(title, names, tuple(rows), (9, 8, 3, 4))


def _race(race: Race) -> Cells:
    rows = [
        (
            one.strategy,
            f"{one.seeds} of {race.planned}",
            number(one.mean, "+"),
            _OUTCOMES[one.state],
            one_line(one.other or "", _NAME_WIDTH),
            "" if one.difference is None else number(one.difference, "+"),
            "" if one.low is None else f"[{number(one.low, '+')}, {number(one.high, '+')}]",
            "" if one.e is None else f"{one.e:.3g}",
        )
        for one in race.standings
    ]
    names = ("strategy", "seeds", "score", "outcome", "compared with", "difference",
             "95%, any time", "e")  # fmt: skip
    return Cells("race", names, tuple(rows), (6, 2))


def standing_text(one: Standing) -> str:
    """`stopped after 4 seeds: below edge, e = 312`."""
    outcome = _OUTCOMES[one.state]
    if one.other is not None:
        between = " " if one.state == "below" else " compared with "
        outcome += f"{between}{one.other}, e = {one.e:.3g}"
    return f"stopped after {one.seeds} seeds: {outcome}"


def _suite(suite: SuiteScores, base: str) -> Iterator[Cells]:
    means = {one.strategy: suite.ranking.get(one.strategy, _NONE) for one in suite.overall}
    if ranked := sorted(suite.overall, key=lambda one: -(means[one.strategy].mean or 0.0)):
        rows = []
        for one in ranked:
            better = one.improvement.get(base)
            chance = ("", "") if better is None else (number(better.value), _range(better))
            mean, middle = _gain(means[one.strategy], ""), number(one.iqm.value)
            rows.append((one.strategy, str(one.n), mean, middle, _range(one.iqm), *chance))
        chance_of = f"P(> {one_line(base, _NAME_WIDTH)})"
        names = ("strategy", "runs", "mean", "IQM", "95%", chance_of, "95%")
        title = "suite: scores, from floor (0) to ceiling (1), and ranking by mean"
        yield Cells(title, names, tuple(rows), (6, 1))
    if suite.pairs:
        apart = sum(pair.told_apart for pair in suite.pairs)
        yield Cells(
            f"suite: pairs told apart: {apart} of {len(suite.pairs)} at Holm .05",
            ("better", "other", "n", "difference", "p", "Holm"),
            tuple(
                (one.better, one_line(one.other, _NAME_WIDTH), str(one.difference.n),
                 _gain(one.difference), _p(one.p), _p(one.p_holm) + "*" * one.told_apart)
                for one in suite.pairs
            ),
        )  # fmt: skip
    strategies = list(dict.fromkeys(s.strategy for of in suite.by_task.values() for s in of))
    by_task = []
    for task, found in suite.by_task.items():
        iqm = {one.strategy: f"{number(one.iqm.value)} {_range(one.iqm)}" for one in found}
        by_task.append((task, *(iqm.get(name, "-") for name in strategies)))
    expendable = tuple(range(len(strategies), 1, -1))
    yield Cells("suite: scores by task", ("task", *strategies), tuple(by_task), expendable)


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
    write_json(directory / "results.json", results.model_dump(mode="json"))
    write_text(directory / "table.md", markdown(results))
    lines = [f"# {cell(results.name)}", ""]
    if any(one.seeds for task in results.tasks for one in task.strategies):
        draw_study(results, directory / "curves.png")
        lines += ["![Learning curves and test gains](curves.png)", ""]
    lines.append(markdown(results))
    names = ("strategy", "seed", "validation", "best iteration", "gain", "test", "gain", "area",
             "records", "seconds", "run")  # fmt: skip
    for task in results.tasks:
        rows = (
            (
                one.name,
                run.seed,
                f"{run.val_scores[0]:.3f} -> {run.val_scores[run.best_iteration]:.3f}",
                run.best_iteration,
                change(run.val_gain),
                f"{score(run.test_before)} -> {score(run.test_after)}",
                change(run.test_gain),
                change(run.area),
                run.records,
                f"{run.seconds:.0f}",
                run.run,
            )
            for one in task.strategies
            for run in one.seeds
        )
        lines += [f"## {cell(task.task)}: every run", "", *markdown_table(names, rows), ""]
    write_text(directory / "study.md", "\n".join(lines) + "\n")
