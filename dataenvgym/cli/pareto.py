"""`dataenvgym pareto`: accuracy against cost of several evaluations, and the best of them.

An evaluation is on the Pareto front if no other one is at least as accurate and at least as cheap,
and better in one of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.runs.documents import Document, File, table
from dataenvgym.runs.plots import COLORS, QUIET, finish, panels, png_of
from dataenvgym.storage import read_model, write_bytes
from dataenvgym.tasks.metrics.results import EvaluationResults
from dataenvgym.workspace import check_format


class Point(NamedTuple):
    """One evaluation.

    Attributes:
        spent: mean cents or seconds of a problem; None if it is unknown.
        kept: how well preferences were kept; None without preferences.
    """

    name: str
    accuracy: float
    spent: float | None
    kept: float | None = None


def read_point(given: str, by: str) -> Point:
    """The point of an evaluation, given as FOLDER or NAME=FOLDER.

    Raises:
        ConfigurationError: if there is none in the folder.
        EvaluationError: if none of its problems could be scored.
    """
    name, _, place = given.rpartition("=")
    folder = Path(place)
    path = folder / "results.json"
    if not path.is_file():
        raise ConfigurationError(
            f"{place!r} has no results.json, expected a folder of `dataenvgym eval`, as FOLDER or "
            "NAME=FOLDER"
        )
    check_format(folder)
    way_out = "remove it, and `dataenvgym eval` writes it again"
    report = read_model(path, EvaluationResults, way_out).report
    if report is None or report.accuracy is None:
        raise EvaluationError(f"{folder}: none of its problems could be scored")
    scores = report.scores
    return Point(name or folder.name, report.accuracy, scores.get(by), scores.get("preference"))


def front(points: Sequence[Point]) -> list[Point]:
    """The Pareto front, the cheapest first; points of unknown cost are not on it."""
    best: list[Point] = []
    known = [point for point in points if point.spent is not None]
    for point in sorted(known, key=lambda one: (one.spent, -one.accuracy)):
        if not best or point.accuracy > best[-1].accuracy:
            best.append(point)
    return best


def pareto(
    folders: list[str],
    *,
    by: Literal["cents", "seconds"] = "cents",
    plot: str | None = None,
) -> Document:
    """Compare accuracy and cost of evaluations of orchestrators.

    Examples:
      dataenvgym pareto                       all in the folder evaluations
      dataenvgym pareto dear=evaluations/A cheap=evaluations/B --plot p.png

    Each folder is one of `dataenvgym eval`. The table marks the Pareto front: the
    evaluations that no other one beats in both accuracy and cost.

    Args:
        folders: of an evaluation (default: all in evaluations/)
        by: the cost of a problem
        plot: also draw them as PNG
    """
    folders = folders or sorted(
        str(path.parent) for path in Path("evaluations").glob("*/results.json")
    )
    if not folders:
        raise ConfigurationError(
            "there are no evaluations in ./evaluations: run `dataenvgym eval`, or name folders"
        )
    points = [read_point(folder, by) for folder in folders]
    best = front(points)
    rows = [
        {
            "evaluation": point.name,
            "accuracy": point.accuracy,
            by: "unknown" if point.spent is None else f"{point.spent:.6g}",
            "preference kept": point.kept,
            "": "on the front" if point in best else "",
        }
        for point in sorted(points, key=lambda one: (one.spent is None, one.spent, one.name))
    ]
    yield table(rows)
    if plot is not None:
        draw(points, Path(plot), by)
        yield File(Path(plot), "the plot")


def draw(points: Sequence[Point], path: Path, by: str = "cents") -> None:
    """Draw accuracy against cost to `path` (PNG), atomically, with the front as a line."""
    best = front(points)
    with panels([1.0], (7.5, 4.8)) as (figure, ((axes,),)):
        axes.plot([p.spent or 0.0 for p in best], [p.accuracy for p in best],
                  drawstyle="steps-post", color=COLORS[0], linewidth=1.4, zorder=2)  # fmt: skip
        known = [(p.spent, p.accuracy, p) for p in points if p.spent is not None]
        known.sort(key=lambda each: each[:2])
        middle = known[-1][0] / 2 if known else 0.0
        for i, (spent, accuracy, point) in enumerate(known):
            color = COLORS[0] if point in best else QUIET
            axes.plot(spent, accuracy, "o", color=color, zorder=3)
            # names stay in the picture, and those of neighbors apart
            is_near = any(
                spent - other < middle / 4 and abs(accuracy - height) < 0.06
                for other, height, _ in known[:i]
            )
            x, side = (-5, "right") if spent > middle else (5, "left")
            axes.annotate(point.name, (spent, accuracy), (x, 6 if is_near else -11), ha=side,
                          textcoords="offset points", fontsize=9, color=color,
                          parse_math=False)  # fmt: skip
        axes.set_ylim(-0.02, 1.05)
        axes.margins(x=0.2)
        finish(
            axes, f"{'US cents' if by == 'cents' else by} for a problem", "accuracy", grid="both"
        )
    write_bytes(path, png_of(figure))
