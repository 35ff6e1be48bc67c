"""Figures of runs, studies and evaluations: panels of lines and intervals in one look.

The same numbers give the same bytes: a figure does not depend on the time, the machine or the
user's matplotlib settings, only on the fonts that come with matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dataenvgym.runs.texts import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colors, which color-blind people can distinguish; beyond eight, markers differ
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B6F00", "#5B4B8A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
INK, QUIET, GRID = "#374151", "#6b7280", "#e5e7eb"
DASHES = (0, (5, 3))


Spread = tuple[float, float | None, float | None]
"""A mean, and the low and high end of its interval if it has one."""


@contextmanager
def default_settings() -> Iterator[None]:
    """Matplotlib's own settings, in place of the user's."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


@contextmanager
def panels(
    widths: Sequence[float], size: tuple[float, float], title: str = "", rows: int = 1
) -> Iterator[tuple[Figure, Any]]:
    """A new figure, and its axes as a matrix with a column for each width."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with default_settings():
        figure = Figure(figsize=size, dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(one_line(title, 100), fontsize=13, fontweight="bold", parse_math=False)
        yield figure, figure.subplots(rows, len(widths), squeeze=False, width_ratios=widths)


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


def finish(axes: Axes, x: str, y: str = "", title: str = "", grid: Any = "y") -> None:
    """Label the axes, and draw the grid; the lines with a label are explained below."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(one_line(title, 60), fontsize=11, loc="left", parse_math=False)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        legend = axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.13), fontsize=9, ncols=3,
                             frameon=False, columnspacing=1.4, handlelength=2.2)  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def draw_line(
    axes: Axes, xs: Sequence[float], points: Sequence[Spread], label: str, **style: Any
) -> None:
    """Draw a line through the means, with a band of the intervals if all have one."""
    lows: Any = [low for _, low, _ in points]
    highs: Any = [high for _, _, high in points]
    axes.plot(xs, [mean for mean, _, _ in points], label=one_line(label, 34), linewidth=1.9,
              markersize=5.5, markeredgecolor="white", markeredgewidth=0.6, zorder=3,
              **style)  # fmt: skip
    if None not in lows:
        axes.fill_between(xs, lows, highs, color=style["color"], alpha=0.14, linewidth=0, zorder=1)


def draw_intervals(
    axes: Axes, found: Mapping[str, Spread], styles: Mapping[str, Mapping[str, Any]], x: str
) -> None:
    """Draw the means with their intervals below each other, the highest on top."""
    shown = sorted(found, key=lambda name: found[name][0])
    for y, name in enumerate(shown):
        mean, low, high = found[name]
        style = {key: styles[name][key] for key in ("color", "marker")}
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=style["color"], linewidth=2.4, zorder=2)
        axes.plot([mean], [y], markersize=8, markeredgecolor="white", linestyle="none", zorder=3,
                  **style)  # fmt: skip
    axes.set_yticks(range(len(shown)))
    axes.set_yticklabels([one_line(n, 34) for n in shown], fontsize=9.5, parse_math=False)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.tick_params(axis="y", length=0)
    finish(axes, x, grid="x")
    axes.spines["left"].set_visible(False)
