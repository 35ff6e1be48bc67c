"""Draws `curve.png`: the validation score by iteration, overall and by skill."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.runs.plots import DASHES, GRID, QUIET, finish, panels, png_of
from dataenvgym.runs.texts import one_line
from dataenvgym.storage import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE, _TEST = "#1f5f99", "#c8501e"
_NAMED = ("dotted", "dashdot", (0, (6, 2)))  # the lines of named scores, in turn
_MOST_NUMBERS = 14  # iterations up to which heatmap cells have room for a number


def draw_curve(summary: Summary, path: Path, **options: Any) -> None:
    """Draw the episode to `path` (PNG), atomically; see `curve_figure`."""
    write_bytes(path, curve_bytes(summary, **options))


def curve_bytes(summary: Summary, **options: Any) -> bytes:
    """The PNG of `curve_figure`."""
    return png_of(curve_figure(summary, **options))


def curve_figure(
    summary: Summary,
    *,
    categories: Mapping[str, str | None] | None = None,
    forgetting: Sequence[float] = (),
) -> Figure:
    """Draw the episode as a matplotlib figure.

    Left: the validation score by iteration with the best one marked, the named scores, and the test
    scores of the base and of the best iteration. Right: the score of every skill in every
    iteration, in the order of the report, which is by category.

    Args:
        categories: the category of each skill, shown before its name.
        forgetting: of each iteration; a band above the validation score shows it.
    """
    skills = list(summary.iterations[0].val_score_by_skill)
    has_skills, more = any(skills), max(0, min(len(summary.iterations), 30) - 9)
    height = max(4.6, 1.3 + 0.27 * len(skills)) + 0.2 * (len(summary.score_names) // 3)
    widths, width = ([1.0, 1.15 + more * 0.06], 11.5 + more * 0.3) if has_skills else ([1.0], 6.4)
    with panels(widths, (width, height), summary.title) as (figure, axes):
        _draw_scores(axes[0][0], summary, forgetting)
        if has_skills:
            _draw_skills(axes[0][1], summary, skills, categories or {})
    return figure


def _draw_scores(axes: Axes, summary: Summary, forgetting: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    best, numbers = summary.best, [one.iteration for one in summary.iterations]
    scores = [one.val_score for one in summary.iterations]

    def mark(xs: Sequence[int], ys: Sequence[float], label: str | None, **style: Any) -> None:
        axes.plot(xs, ys, label=label, linestyle="none", zorder=5, **style)

    axes.axhline(scores[0], color=QUIET, linewidth=1, linestyle=DASHES,
                 label=f"base student: {scores[0]:.3f}", zorder=1)  # fmt: skip
    axes.plot(numbers, scores, color=_LINE, linewidth=2.2, marker="o", markersize=5,
              label="validation", zorder=3)  # fmt: skip
    mark([best.iteration], [best.val_score], f"best: iteration {best.iteration}, "
         f"{best.val_score:.3f}", color=_LINE, marker="*", markersize=17,
         markeredgecolor="white")  # fmt: skip
    if any(forgetting):
        ever = [score + lost for score, lost in zip(scores, forgetting, strict=False)]
        axes.fill_between(numbers[: len(ever)], scores[: len(ever)], ever, color=_LINE, alpha=0.15,
                          linewidth=0, label="forgotten", zorder=1)  # fmt: skip
    if refused := [one for one in summary.iterations if one.refused]:
        mark([one.iteration for one in refused], [one.val_score for one in refused],
             "refused by the gate", color=_TEST, marker="x", markersize=10,
             markeredgewidth=2)  # fmt: skip
    low, high = min(0.0, *scores), max(1.0, *scores)  # others have a scale of their own
    named = {
        name: [one.named_scores.get(name, float("nan")) for one in summary.iterations]
        for name in summary.score_names
    }
    named = {name: of for name, of in named.items() if not any(v < low or v > high for v in of)}
    for i, (name, style) in enumerate(zip(named, cycle(_NAMED), strict=False)):
        color = QUIET if len(named) <= len(_NAMED) else f"C{i % 10}"
        axes.plot(numbers, named[name], color=color, linewidth=1.4, linestyle=style,
                  label=one_line(name, 32), zorder=2)  # fmt: skip
    tests = {n: (score, _TEST, "") for n, score in enumerate(summary.test_scores)}
    if (before := summary.test_score_before) is not None:
        tests[0] = before, "none", f"test, before: {before:.3f}"
    if (after := summary.test_score_after) is not None and best.iteration:
        tests[best.iteration] = after, _TEST, f"test, after: {after:.3f}"
    for x, (y, fill, label) in tests.items():
        mark([x], [y], label or None, marker="D", markersize=8, markerfacecolor=fill,
             markeredgecolor=_TEST, markeredgewidth=1.8)  # fmt: skip
    axes.margins(y=0.12)
    axes.set_xlim(-0.35, max(numbers[-1], 1) + 0.35)
    whole_numbers: Any = MaxNLocator(integer=True, nbins=12)
    axes.xaxis.set_major_locator(whole_numbers)
    finish(axes, "iteration (0: base student)", "score", "Overall")


def _draw_skills(
    axes: Axes, summary: Summary, skills: list[str], categories: Mapping[str, str | None]
) -> None:
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    nan = float("nan")
    rows = [[i.val_score_by_skill.get(s) for i in summary.iterations] for s in skills]
    values = [[nan if value is None else value for value in row] for row in rows]
    known = [value for row in rows for value in row if value is not None]
    # light colors only, on which dark numbers can be read
    colors = ListedColormap(colormaps["YlGnBu"](np.arange(256) / 420)).with_extremes(bad=GRID)
    image = axes.imshow(values, aspect="auto", cmap=colors, vmin=min(0.0, *known, 0.0),
                        vmax=max(1.0, *known, 1.0))  # fmt: skip
    if len(summary.iterations) <= _MOST_NUMBERS:
        for (y, x), value in np.ndenumerate(values):
            # two digits, without the zero before the point
            text = "-" if value != value else re.sub(r"^(-?)0\.", r"\1.", f"{value:.2f}")
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, in_layout=False)
    axes.set_xticks(range(0, len(summary.iterations), max(1, len(summary.iterations) // 12)))
    labels = [" · ".join(filter(None, (categories.get(s), s or "(no skill)"))) for s in skills]
    axes.set_yticks(range(len(skills)))
    axes.set_yticklabels([one_line(each, 40) for each in labels], fontsize=8.5, parse_math=False)
    finish(axes, "iteration", "", "By skill", grid="")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.035, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)
