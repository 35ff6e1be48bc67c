"""Draws `curve.png`: the validation score by iteration, overall and by skill.

The same scores give the same bytes: the file does not depend on the time, the machine or the user's
matplotlib settings, only on the fonts that come with matplotlib.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.runs.texts import one_line
from dataenvgym.storage import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = "#1f5f99"
_TEST = "#c8501e"
_QUIET = "#6b7280"
_NAMED = ("dotted", "dashdot", (0, (6, 2)))  # the lines of named scores, in turn
_MOST_NUMBERS = 14  # iterations up to which heatmap cells have room for a number


def draw_curve(
    summary: Summary,
    path: Path,
    *,
    categories: Mapping[str, str | None] | None = None,
    forgetting: Sequence[float] = (),
) -> None:
    """Draw the episode to `path` (PNG), atomically; see `curve_figure`."""
    write_bytes(path, curve_bytes(summary, categories=categories, forgetting=forgetting))


def curve_bytes(
    summary: Summary,
    *,
    categories: Mapping[str, str | None] | None = None,
    forgetting: Sequence[float] = (),
) -> bytes:
    """The PNG of `curve_figure`."""
    return png_of(curve_figure(summary, categories=categories, forgetting=forgetting))


def png_of(figure: Figure) -> bytes:
    """Draw a figure as PNG, once; `savefig` draws a figure with a layout engine twice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.image import imsave

    with default_settings():
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        buffer = io.BytesIO()
        imsave(buffer, canvas.buffer_rgba(), format="png", origin="upper", dpi=figure.dpi,
               metadata={"Software": None})  # type: ignore[dict-item]  # fmt: skip
    return buffer.getvalue()


@contextmanager
def default_settings() -> Iterator[None]:
    """Matplotlib's own settings, in place of the user's."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


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
        categories: the category of each skill; category names are shown beside the heatmap.
        forgetting: of each iteration; a band above the validation score shows it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    skills = list(summary.iterations[0].val_score_by_skill)
    has_skills = any(skills)
    n = len(summary.iterations)
    with default_settings():
        height = max(4.2, 1.3 + 0.27 * len(skills)) if has_skills else 4.2
        if len(summary.score_names) > len(_NAMED):
            height += 1.2  # for the legend below
        figure = Figure(
            figsize=(11.5 + max(0, min(n, 30) - 9) * 0.3 if has_skills else 6.4, height),
            dpi=130,
            layout="constrained",
        )
        FigureCanvasAgg(figure)
        widths = [1.0, 1.15 + max(0, min(n, 30) - 9) * 0.06] if has_skills else [1.0]
        axes = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        _draw_scores(axes[0], summary, forgetting)
        if has_skills:
            _draw_skills(axes[1], summary, skills, categories or {})
        figure.suptitle(one_line(summary.title), fontsize=13, fontweight="bold", parse_math=False)
    return figure


def _draw_scores(axes: Axes, summary: Summary, forgetting: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    numbers = [i.iteration for i in summary.iterations]
    scores = [i.val_score for i in summary.iterations]
    best = summary.best
    axes.axhline(scores[0], color=_QUIET, linewidth=1, linestyle=(0, (4, 3)),
                 label=f"base student: {scores[0]:.3f}", zorder=1)  # fmt: skip
    axes.plot(numbers, scores, color=_LINE, linewidth=2.2, marker="o", markersize=5,
              label="validation", zorder=3)  # fmt: skip
    axes.plot([best.iteration], [best.val_score], color=_LINE, marker="*", markersize=17,
              markeredgecolor="white", linestyle="none",
              label=f"best: iteration {best.iteration}, {best.val_score:.3f}",
              zorder=5)  # fmt: skip
    shown = list(scores)
    if any(forgetting):
        pairs = zip(scores, forgetting, strict=False)
        ever = [score + lost for score, lost in pairs]
        axes.fill_between(numbers[: len(ever)], scores[: len(ever)], ever, color=_LINE, alpha=0.15,
                          linewidth=0, label="forgotten", zorder=1)  # fmt: skip
        shown += ever
    if refused := [one for one in summary.iterations if one.refused]:
        axes.plot([one.iteration for one in refused], [one.val_score for one in refused],
                  color=_TEST, marker="x", markersize=10, markeredgewidth=2, linestyle="none",
                  label="refused by the gate", zorder=6)  # fmt: skip
    nan = float("nan")
    named = {
        n: [i.named_scores.get(n, nan) for i in summary.iterations] for n in summary.score_names
    }
    low, high = min(0.0, *scores), max(1.0, *scores)  # others have a scale of their own
    names = [n for n, values in named.items() if not any(v < low or v > high for v in values)]
    for i, (name, style) in enumerate(zip(names, cycle(_NAMED), strict=False)):
        values = named[name]
        color = _QUIET if len(names) <= len(_NAMED) else f"C{i % 10}"
        axes.plot(numbers, values, color=color, linewidth=1.4, linestyle=style,
                  label=one_line(name, 32), zorder=2)  # fmt: skip
        shown += [value for value in values if value == value]
    tests = [(0, summary.test_score_before, "none", "test, before")]
    tests.append((best.iteration, summary.test_score_after, _TEST, "test, after"))
    between = enumerate(summary.test_scores)
    tests += [(n, value, _TEST, "") for n, value in between if n not in (0, best.iteration)]
    for x, y, fill, name in tests:
        if y is not None:
            axes.plot([x], [y], marker="D", markersize=8, markerfacecolor=fill,
                      markeredgecolor=_TEST, markeredgewidth=1.8, linestyle="none",
                      label=f"{name}: {y:.3f}" if name else None, zorder=4)  # fmt: skip
            shown.append(y)
    room = max(max(shown) - min(shown), 0.05)
    axes.set_ylim(min(shown) - 0.12 * room, max(shown) + 0.15 * room)
    axes.set_xlim(-0.35, max(numbers[-1], 1) + 0.35)
    whole_numbers: Any = MaxNLocator(integer=True, nbins=12)
    axes.xaxis.set_major_locator(whole_numbers)
    axes.set_xlabel("iteration (0: base student)")
    axes.set_ylabel("score")
    axes.set_title("Overall", fontsize=11, loc="left")
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    place: dict[str, Any] = {"loc": "best", "fontsize": 9}
    if len(names) > len(_NAMED):  # a legend among the lines would hide them
        place = {"loc": "upper left", "bbox_to_anchor": (-0.15, -0.16), "ncols": 3, "fontsize": 8}
    axes.legend(**place, frameon=True, framealpha=0.9, edgecolor="#e5e7eb")


def _draw_skills(
    axes: Axes, summary: Summary, skills: list[str], categories: Mapping[str, str | None]
) -> None:
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    rows = [[i.val_score_by_skill.get(s) for i in summary.iterations] for s in skills]
    known = [v for row in rows for v in row if v is not None]
    low, high = min(0.0, *known, 0.0), max(1.0, *known, 1.0)
    # without the darkest quarter, where high scores would look the same
    colors = ListedColormap(colormaps["YlGnBu"](np.arange(256) / 340)).with_extremes(bad="#e5e7eb")
    values: list[list[float]] = [[float("nan") if v is None else v for v in row] for row in rows]
    image = axes.imshow(values, aspect="auto", cmap=colors, vmin=low, vmax=high)
    if len(summary.iterations) <= _MOST_NUMBERS:
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                dark = value is not None and (value - low) / (high - low) > 0.7
                # two digits, without the zero before the point
                text = "-" if value is None else re.sub(r"^(-?)0\.", r"\1.", f"{value:.2f}")
                axes.text(x, y, text, ha="center", va="center", fontsize=7.5,
                          color="white" if dark else "#1f2937", parse_math=False,
                          in_layout=False)  # fmt: skip
    axes.set_xticks(range(0, len(summary.iterations), max(1, len(summary.iterations) // 12)))
    axes.set_yticks(range(len(skills)))
    labels = [one_line(skill, 32) or "(no skill)" for skill in skills]
    axes.set_yticklabels(labels, fontsize=8.5, parse_math=False)
    axes.tick_params(length=0)
    axes.set_xlabel("iteration")
    axes.set_title("By skill", fontsize=11, loc="left")
    axes.spines[:].set_visible(False)
    _mark_categories(axes, [categories.get(skill) for skill in skills])
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.035, pad=0.02 if not categories else 0.07)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)


def _mark_categories(axes: Axes, categories: list[str | None]) -> None:
    """Draw a line between categories, and each name to the right of its rows."""
    first = 0
    for row in range(1, len(categories) + 1):
        if row < len(categories) and categories[row] == categories[first]:
            continue
        if row < len(categories):
            axes.axhline(row - 0.5, color="white", linewidth=4)
        if name := categories[first]:
            axes.text(1.012, (first + row - 1) / 2, one_line(name, 24), rotation=270, fontsize=8.5,
                      color=_QUIET, ha="left", va="center", parse_math=False,
                      transform=axes.get_yaxis_transform())  # fmt: skip
        first = row
