"""Draws `curves.png`: learning curves with their 95% bands, and the test gains beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.runs.plots import (
    COLORS,
    DASHES,
    INK,
    MARKERS,
    Spread,
    draw_intervals,
    draw_line,
    finish,
    panels,
    png_of,
)
from dataenvgym.storage import write_bytes
from dataenvgym.studies.aggregate import SuiteScores
from dataenvgym.studies.notes import ceiling_title, stronger_than
from dataenvgym.studies.results import StudyResults, TaskResult
from dataenvgym.tasks.metrics.estimators import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FLOOR: dict[str, Any] = {"color": INK, "linewidth": 1.2, "linestyle": DASHES, "zorder": 1}
_CEILING: dict[str, Any] = {"color": INK, "linewidth": 1.6, "linestyle": (0, (1, 1.2)), "zorder": 1}


def draw_study(results: StudyResults, path: Path) -> None:
    """Draw the study to `path` (PNG), atomically: for each task a row of two panels.

    Left: the mean validation score by iteration. Right: the gain in test score. The floor and the
    ceiling are lines in both panels. A suite has one more row: performance profiles, and
    interquartile means.
    """
    most = max(len(task.strategies) for task in results.tasks)
    rows = len(results.tasks) + (results.suite is not None)
    seeds = max(len(one.seeds) for task in results.tasks for one in task.strategies)
    what = "mean and 95% interval" if results.race is None else "race, mean of each strategy"
    title = f"{results.name}: {what} over {seeds} seeds"
    size = 12.5, max(4.6, 1.6 + 0.36 * most) * rows
    with panels([1.25, 1.0], size, title, rows) as (figure, axes):
        styles: dict[str, dict[str, Any]] = {}
        for row, task in zip(axes, results.tasks, strict=False):
            _draw_curves(row[0], task)
            _draw_gains(row[1], task, results.baseline)
            styles = {**styles_of(task), **styles}
        if results.suite is not None:
            draw_suite(axes[-1][0], axes[-1][1], results.suite, styles)
    write_bytes(path, png_of(figure))


def styles_of(task: TaskResult) -> dict[str, dict[str, Any]]:
    """Color and marker of each strategy."""
    strategies = [one.name for one in task.strategies if one.role == "strategy"]
    return {
        name: {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[(i + i // len(COLORS)) % len(MARKERS)],
            "linestyle": "-" if i < len(COLORS) else DASHES,
        }
        for i, name in enumerate(strategies)
    }


def _draw_curves(axes: Axes, task: TaskResult) -> None:
    styles = styles_of(task)
    last = max(1, *(len(one.curve) - 1 for one in task.strategies))
    for one in task.strategies:
        points = _intervals(one.curve)
        if one.seeds and one.role == "ceiling":
            label = f"gold data ({ceiling_title(one, task)})"
            axes.plot(range(len(points)), [mean for mean, *_ in points], label=label, **_CEILING)
        elif one.seeds:
            draw_line(axes, range(len(points)), points, one.name, **styles[one.name])
    if task.floor is not None:
        axes.axhline(task.floor.val_score, label="no teaching (floor)", **_FLOOR)
    axes.set_xticks(range(0, last + 1, max(1, last // 12)))
    finish(axes, "iteration (0: base student)", "validation score", task.task)


def _draw_gains(axes: Axes, task: TaskResult, baseline: str) -> None:
    """Draw the test gains, the best on top; without a test split, the validation gains."""
    has_test = any(one.measures["test_gain"].mean is not None for one in task.strategies)
    measure = "test_gain" if has_test else "val_gain"
    lines = [(0.0, "floor", _FLOOR)]
    found: dict[str, Spread] = {}
    styles = styles_of(task)
    for one in task.strategies:
        if not (points := _intervals([one.measures[measure]])):
            continue
        if one.role == "ceiling":
            name = "gold data" if stronger_than(one, task) else "ceiling"
            lines.append((points[0][0], name, _CEILING))
        else:
            name = f"{one.name} (baseline)" if one.name == baseline else one.name
            found[name], styles[name] = points[0], styles[one.name]
    for x, name, style in lines:
        axes.axvline(x, **style)
        axes.text(x, 1.005, name, transform=axes.get_xaxis_transform(), ha="center", va="bottom",
                  fontsize=8.5, color=INK)  # fmt: skip
    draw_intervals(axes, found, styles, f"gain in {'test' if has_test else 'validation'} score")


def draw_suite(left: Axes, right: Axes, suite: SuiteScores, styles: dict[str, Any]) -> None:
    """Draw the performance profiles, and beside them the interquartile means."""
    found: dict[str, Spread] = {}
    for one in sorted(suite.overall, key=lambda one: one.iqm.value):
        profile: list[Spread] = [(point.value, point.low, point.high) for point in one.profile]
        style = styles[one.strategy] | {"marker": None}
        draw_line(left, suite.thresholds, profile, one.strategy, **style)
        found[one.strategy] = one.iqm.value, one.iqm.low, one.iqm.high
    title = f"performance profiles over {len(suite.by_task)} tasks"
    finish(left, "score: 0 is the floor, 1 the ceiling", "share of runs above it", title)
    draw_intervals(right, found, styles, "interquartile mean of scores")


def _intervals(points: Sequence[Estimate]) -> list[Spread]:
    return [(one.mean, one.low, one.high) for one in points if one.mean is not None]
