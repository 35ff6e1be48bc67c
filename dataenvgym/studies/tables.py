"""The tables of a study, the same for a terminal and in Markdown, and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dataenvgym.episodes.texts import cell, change, markdown_table, one_line, plain, score
from dataenvgym.metrics.estimators import Estimate
from dataenvgym.storage import write_json, write_text
from dataenvgym.studies.aggregate import Interval
from dataenvgym.studies.notes import ceiling_title, errors_text, study_notes
from dataenvgym.studies.plots import draw_study
from dataenvgym.studies.racing import Race, Standing
from dataenvgym.studies.results import Comparison, StrategyResult, StudyResults, TaskResult

_NAME_WIDTH = 20
_IF_ANY = {"forgetting": ("forgotten", 3), "n_refused": ("refused", 1)}
"""Measures that have a column only if they are not 0, with its name and digits."""


@dataclass(frozen=True)
class Cells:
    """A table as text: a column of names, then columns of numbers.

    Attributes:
        expendable: indices of columns to drop on a narrow terminal, in this order.
        gap: spaces between columns.
    """

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    expendable: tuple[int, ...] = ()
    gap: int = 2

    def fitted(self, width: int) -> Cells:
        """Fit the table to `width`: narrow the gaps if that is enough, else drop columns."""
        closer = replace(self, gap=1)
        if self._width() > width >= closer._width():
            return closer
        table = self
        while table._width() > width and table.expendable:
            gone, *others = table.expendable
            names = table.names[:gone] + table.names[gone + 1 :]
            rows = tuple(row[:gone] + row[gone + 1 :] for row in table.rows)
            table = Cells(table.title, names, rows, tuple(i - (i > gone) for i in others))
        return table

    def hidden_in(self, fitted: Cells) -> list[str]:
        """The columns that `fitted` leaves out; if a name is not unique, with its neighbor's."""
        gone = sorted(self.expendable[: len(self.names) - len(fitted.names)])
        several = {name for name in self.names if self.names.count(name) > 1}
        return [
            f"{self.names[i]} ({self.names[i - 1]})" if self.names[i] in several else self.names[i]
            for i in gone
        ]

    def _width(self) -> int:
        columns = list(zip(self.names, *self.rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        return min(widths[0], _NAME_WIDTH) + sum(widths[1:]) + self.gap * (len(widths) - 1)


def study_cells(results: StudyResults) -> list[Cells]:
    """The tables of a study.

    Two per task: the results of the strategies, and their difference to the baseline. A suite adds
    three: its scores, the pairs of strategies, and the scores by task. A race has its own instead
    of those with p-values and intervals.
    """
    tables = [] if results.race is None else [_race(results.race)]
    for task in results.tasks:
        where = f"{task.task}: " if len(results.tasks) > 1 else ""
        tables.append(_scores(task, where))
        if any(one.comparisons for one in task.strategies):
            tables.append(_comparisons(task, where, results))
    return [*tables, *_suite(results)]


def render(results: StudyResults, width: int = 100) -> RenderableType:
    """The tables and notes for a terminal of `width` columns."""
    parts = render_tables(study_cells(results), width)
    parts += [Text(plain(f"warning: {w}"), style="yellow") for w in results.warnings]
    parts += [Text(plain(note), style="dim") for note in study_notes(results)]
    return Group(*parts)


def render_tables(tables: Sequence[Cells], width: int) -> list[RenderableType]:
    """The tables for a terminal of `width` columns."""
    parts: list[RenderableType] = []
    for table in tables:
        fitted = table.fitted(width)
        parts.append(_rich(fitted))
        if hidden := table.hidden_in(fitted):
            text = (
                f"{width} columns have no room for: {', '.join(hidden).rstrip('.')}. A wider "
                "terminal shows them; so does table.md, which a study writes, and dataenvgym "
                "compare with --output."
            )
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


# --- the two tables ---


def _scores(task: TaskResult, where: str) -> Cells:
    asked = any(one.measures["requests"].mean for one in task.strategies)
    names = ["strategy", "n", "test gain", "noise", "valid. gain", "area", "records"]
    names += ["calls", "cost"] if asked else []
    named = sorted({name for one in task.strategies for name in one.score_gains})
    extra = [m for m in _IF_ANY if any(_mean(one, m) for one in task.strategies)]
    rows: list[tuple[str, ...]] = []
    for one in task.strategies:
        measures, cost = one.measures, one.measures["cost"].mean
        row = [
            one.name + (f" ({ceiling_title(one, task)})" if one.role == "ceiling" else ""),
            f"{len(one.seeds)}{'*' if one.missing else ''}",
            _gain(measures["test_gain"]),
            number(one.noise_floor),
            _gain(measures["val_gain"]),
            _gain(measures["area"]),
            _whole(measures["records"].mean),
        ]
        if asked:
            row += [_whole(measures["requests"].mean), "?" if cost is None else f"${cost:.2f}"]
        row += [_gain(one.score_gains[n]) if n in one.score_gains else "-" for n in named]
        row += [number(_mean(one, m), digits=_IF_ANY[m][1]) for m in extra]
        rows.append((*row, _whole(measures["seconds"].mean)))
    errors = [one.errors for one in task.strategies]
    if task.floor is not None:
        errors.append(task.floor.errors)
        dashes = ["0"] * 3 if asked else ["0"]
        test = "-" if task.floor.test_score is None else "+.000"
        zeros = ["+.000"] * len(named) + [number(0.0, digits=_IF_ANY[m][1]) for m in extra]
        rows.append(("no teaching (floor)", "", test, "", "+.000", "+.000", *dashes, *zeros, ""))
    names += [one_line(name, _NAME_WIDTH) for name in named]
    names += [_IF_ANY[m][0] for m in extra]
    seconds = len(names)
    of_named = range(seconds - 1, seconds - 1 - len(named) - len(extra), -1)
    expendable = (seconds, *of_named, 3, 5, 6)
    names.append("sec.")
    if any(errors):
        names.append("errors")
        rows = [(*row, errors_text(e)) for row, e in zip(rows, errors, strict=True)]
    return Cells(f"{where}gains", tuple(names), tuple(rows), expendable)


def _comparisons(task: TaskResult, where: str, results: StudyResults) -> Cells:
    names = ("strategy", "n", "test", "noise", "p", "Holm", "valid.", "Holm", "area", "Holm")
    rows = []
    for one in task.strategies:
        if not one.comparisons:
            continue
        test, val, area = (one.comparisons[m] for m in ("test_gain", "val_gain", "area"))
        rows.append(
            (
                one.name,
                str(len(val.seeds)),
                _gain(test.difference),
                number(test.noise_floor),
                _p(test.p),
                _starred(test),
                _gain(val.difference),
                _starred(val),
                _gain(area.difference),
                _starred(area),
            )
        )
    return Cells(f"{where}difference to {results.baseline}", names, tuple(rows), (9, 8, 3, 4))


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
            _evidence(one),
        )
        for one in race.standings
    ]
    names = ("strategy", "seeds", "score", "outcome", "compared with", "difference",
             "95%, any time", "e")  # fmt: skip
    return Cells("race", names, tuple(rows), (6, 2))


_OUTCOMES = {"best": "best", "below": "below", "undecided": "not decided", "racing": "racing"}


def _evidence(one: Standing) -> str:
    return "" if one.e is None else f"{one.e:.3g}"


def standing_text(one: Standing) -> str:
    """`stopped after 4 seeds: below edge, e = 312`."""
    outcome = _OUTCOMES[one.state]
    if one.other is not None:
        between = " " if one.state == "below" else " compared with "
        outcome += f"{between}{one.other}, e = {_evidence(one)}"
    return f"stopped after {one.seeds} seeds: {outcome}"


def _suite(results: StudyResults) -> Iterator[Cells]:
    if (suite := results.suite) is None:
        return
    base = results.baseline
    chance_of = f"P(> {one_line(base, _NAME_WIDTH)})"
    names = ("strategy", "runs", "mean", "IQM", "95%", chance_of, "95%")
    rows = []
    means = {one.strategy: suite.ranking.get(one.strategy, Estimate(n=0)) for one in suite.overall}
    for one in sorted(suite.overall, key=lambda one: -(means[one.strategy].mean or 0.0)):
        better = one.improvement.get(base)
        chance = ("", "") if better is None else (number(better.value), _range(better))
        mean, middle = _gain(means[one.strategy], ""), number(one.iqm.value)
        rows.append((one.strategy, str(one.n), mean, middle, _range(one.iqm), *chance))
    if rows:
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
    yield Cells("suite: scores by task", ("task", *strategies), tuple(by_task),
                tuple(range(len(strategies), 1, -1)))  # fmt: skip


# --- cells ---


def _mean(one: StrategyResult, measure: str) -> float | None:
    # a study from before there was this measure has none
    found = one.measures.get(measure)
    return None if found is None else found.mean


def _gain(found: Estimate, sign: str = "+") -> str:
    return number(found.mean, sign) + (
        "" if found.half_width is None else f" ±{number(found.half_width)}"
    )


def number(value: float | None, sign: str = "", digits: int = 3) -> str:
    """Some digits without a leading zero: `.042`; with `sign` "+", `+.042`."""
    return "-" if value is None else re.sub(r"^([+-]?)0\.", r"\1.", f"{value:{sign}.{digits}f}")


def _range(found: Interval) -> str:
    return "" if found.low is None else f"[{number(found.low)}, {number(found.high)}]"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 0.001:
        return "<.001"
    return number(value) if value < 0.9995 else "1.0"


def _starred(comparison: Comparison) -> str:
    p = comparison.p_holm
    return _p(p) + ("*" if p is not None and p <= 0.05 else "")


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _rich(cells: Cells) -> Table:
    table = Table(
        title=cells.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, cells.gap - 1, 0, 0),  # the box puts one blank between columns
    )
    for i, name in enumerate(cells.names):
        table.add_column(
            name,
            justify="right" if i else "left",
            no_wrap=bool(i),
            min_width=None if i else min(_NAME_WIDTH, max(len(row[0]) for row in cells.rows)),
            max_width=None if i else _NAME_WIDTH,
            overflow="fold",
        )
    for row in cells.rows:
        table.add_row(*(Text(plain(value)) for value in row))
    return table


def write_results(results: StudyResults, directory: Path) -> None:
    """Write all of them into `directory`; without a finished run, no plot."""
    write_json(directory / "results.json", results.model_dump(mode="json"))
    write_text(directory / "table.md", markdown(results))
    has_runs = any(one.seeds for task in results.tasks for one in task.strategies)
    if has_runs:
        draw_study(results, directory / "curves.png")
    write_text(directory / "study.md", "\n".join(_lines(results, has_runs)) + "\n")


def _lines(results: StudyResults, has_runs: bool) -> Iterator[str]:
    yield f"# {cell(results.name)}"
    yield ""
    if has_runs:
        yield "![Learning curves and test gains](curves.png)"
        yield ""
    yield markdown(results)
    for task in results.tasks:
        yield f"## {cell(task.task)}: every run"
        yield ""
        names = ("strategy", "seed", "validation", "best iteration", "gain", "test", "gain", "area",
                 "records", "seconds", "run")  # fmt: skip
        yield from markdown_table(names, (
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
        ))  # fmt: skip
        yield ""
