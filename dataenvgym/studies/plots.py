"""Draws `curves.png`: learning curves with their 95% bands, and the test gains beside them.

The file does not depend on the time or the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.runs.episodes.plots import default_settings, png_of
from dataenvgym.runs.texts import one_line
from dataenvgym.storage import write_bytes
from dataenvgym.studies.aggregate import Interval, SuiteScores
from dataenvgym.studies.notes import ceiling_title, stronger_than
from dataenvgym.studies.results import StudyResults, TaskResult
from dataenvgym.tasks.metrics.estimators import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colors, which color-blind people can distinguish; beyond eight, markers differ
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B6F00", "#5B4B8A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_GRID = "#e5e7eb"
_FLOOR: dict[str, Any] = {"color": "#374151", "linewidth": 1.2, "linestyle": (0, (5, 3))}
_CEILING: dict[str, Any] = {"color": "#374151", "linewidth": 1.6, "linestyle": (0, (1, 1.2))}


def draw_study(results: StudyResults, path: Path) -> None:
    """Draw the study to `path` (PNG), atomically: for each task a row of two panels.

    Left: the mean validation score by iteration. Right: the gain in test score. The floor and the
    ceiling are lines in both panels. A suite has one more row: performance profiles, and
    interquartile means.
    """
    from matplotlib.figure import Figure

    most = max(len(task.strategies) for task in results.tasks)
    n_rows = len(results.tasks) + (results.suite is not None)
    with default_settings():
        figure = Figure(
            figsize=(12.5, max(4.6, 1.6 + 0.36 * most) * n_rows), dpi=130, layout="constrained"
        )
        axes = figure.subplots(n_rows, 2, squeeze=False, width_ratios=[1.25, 1.0])
        styles: dict[str, dict[str, Any]] = {}
        for row, task in zip(axes, results.tasks, strict=False):
            _draw_curves(row[0], task)
            _draw_gains(row[1], task, results.baseline)
            styles = {**styles_of(task), **styles}
        if results.suite is not None:
            draw_suite(axes[-1][0], axes[-1][1], results.suite, styles)
        seeds = max(len(one.seeds) for task in results.tasks for one in task.strategies)
        what = "mean and 95% interval" if results.race is None else "race, mean of each strategy"
        title = one_line(f"{results.name}: {what} over {seeds} seeds", 100)
        figure.suptitle(title, fontsize=13, fontweight="bold", parse_math=False)
    write_bytes(path, png_of(figure))


def styles_of(task: TaskResult) -> dict[str, dict[str, Any]]:
    """Color and marker of each strategy."""
    strategies = [one.name for one in task.strategies if one.role == "strategy"]
    return {
        name: {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[(i + i // len(COLORS)) % len(MARKERS)],
            "linestyle": "-" if i < len(COLORS) else (0, (5, 2)),
        }
        for i, name in enumerate(strategies)
    }


def _draw_curves(axes: Axes, task: TaskResult) -> None:
    styles = styles_of(task)
    last = max(1, *(len(one.curve) - 1 for one in task.strategies))
    for one in task.strategies:
        xs: Any = range(len(one.curve))
        means: Any = [point.mean for point in one.curve]
        if one.seeds and one.role == "ceiling":
            label = f"gold data ({ceiling_title(one, task)})"
            axes.plot(xs, means, label=label, zorder=2, **_CEILING)
        elif one.seeds:
            style = styles[one.name]
            _draw_band(axes, xs, one.curve, style["color"])
            axes.plot(xs, means, label=one_line(one.name, 34), linewidth=1.9, markersize=5.5,
                      markeredgecolor="white", markeredgewidth=0.6, zorder=3, **style)  # fmt: skip
    if task.floor is not None:
        axes.axhline(task.floor.val_score, label="no teaching (floor)", zorder=2, **_FLOOR)
    axes.set_xticks(range(0, last + 1, max(1, last // 12)))
    axes.set_xlabel("iteration (0: base student)")
    axes.set_ylabel("validation score")
    axes.set_title(one_line(task.task, 60), fontsize=11, loc="left", parse_math=False)
    _finish_curves(axes)


def _draw_gains(axes: Axes, task: TaskResult, baseline: str) -> None:
    """Draw the test gains, the best on top; without a test split, the validation gains."""
    styles = styles_of(task)
    has_test = any(one.measures["test_gain"].mean is not None for one in task.strategies)
    measure = "test_gain" if has_test else "val_gain"
    shown = [one for one in task.strategies if one.role == "strategy" and one.seeds]
    shown.sort(key=lambda one: one.measures[measure].mean or 0.0)
    for y, one in enumerate(shown):
        found = one.measures[measure]
        if found.mean is not None:
            _draw_interval(axes, y, found.mean, found.low, found.high, styles[one.name])
    for one in task.strategies:
        if one.role == "ceiling" and (mean := one.measures[measure].mean) is not None:
            axes.axvline(mean, zorder=1, **_CEILING)
            _name_line(axes, mean, "gold data" if stronger_than(one, task) else "ceiling")
    axes.axvline(0.0, zorder=1, **_FLOOR)
    _name_line(axes, 0.0, "floor")
    names = [f"{one.name} (baseline)" if one.name == baseline else one.name for one in shown]
    axes.set_xlabel(f"gain in {'test' if has_test else 'validation'} score")
    _finish_intervals(axes, names)


def draw_suite(left: Axes, right: Axes, suite: SuiteScores, styles: dict[str, Any]) -> None:
    """Draw the performance profiles, and beside them the interquartile means."""
    shown = sorted(suite.overall, key=lambda one: one.iqm.value)
    for y, one in enumerate(shown):
        style = styles[one.strategy]
        _draw_band(left, suite.thresholds, one.profile, style["color"])
        left.plot(suite.thresholds, [point.value for point in one.profile], linewidth=1.9,
                  color=style["color"], linestyle=style["linestyle"],
                  label=one_line(one.strategy, 34), zorder=3)  # fmt: skip
        _draw_interval(right, y, one.iqm.value, one.iqm.low, one.iqm.high, style)
    left.set_xlabel("score: 0 is the floor, 1 the ceiling")
    left.set_ylabel("share of runs above it")
    left.set_title(f"performance profiles over {len(suite.by_task)} tasks", fontsize=11, loc="left")
    _finish_curves(left)
    right.set_xlabel("interquartile mean of scores")
    _finish_intervals(right, [one.strategy for one in shown])


def _draw_band(
    axes: Axes, xs: Sequence[float], points: Sequence[Estimate] | Sequence[Interval], color: str
) -> None:
    lows: Any = [point.low for point in points]
    highs: Any = [point.high for point in points]
    if None not in lows:
        axes.fill_between(xs, lows, highs, color=color, alpha=0.14, linewidth=0, zorder=1)


def _draw_interval(
    axes: Axes, y: int, value: float, low: float | None, high: float | None, style: dict[str, Any]
) -> None:
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=style["color"], linewidth=2.4, zorder=2)
    axes.plot([value], [y], color=style["color"], marker=style["marker"], markersize=8,
              markeredgecolor="white", linestyle="none", zorder=3)  # fmt: skip


def _name_line(axes: Axes, x: float, name: str) -> None:
    axes.text(x, 1.005, name, transform=axes.get_xaxis_transform(), ha="center", va="bottom",
              fontsize=8.5, color="#374151")  # fmt: skip


def _finish_curves(axes: Axes) -> None:
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.13), fontsize=9, ncols=3,
                         frameon=False, columnspacing=1.4, handlelength=2.2)  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def _finish_intervals(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels([one_line(n, 34) for n in names], fontsize=9.5, parse_math=False)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
