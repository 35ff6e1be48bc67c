"""Renders a teaching environment as text (`render_mode="ansi"`): the student's score by skill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.errors import shorten
from dataenvgym.records import PerformanceReport

if TYPE_CHECKING:
    from dataenvgym.environments.skill_tree.forest import Forest

_WIDEST = 23
"""The most characters of a name, so that a forest fits into 80 columns."""


def headline(results: Sequence[IterationResult]) -> str:
    """The task, the iteration, the score with its last change, and the number of records."""
    last = results[-1]
    change = f" ({last.reward:+.3f})" if last.iteration else ""
    change += ", refused" * (last.refused is not None)
    return (
        f"{last.report.task}, iteration {last.iteration}: score {last.report.score:.3f}{change}, "
        f"{last.n_records_total} records"
    )


def skill_table(base: PerformanceReport, now: PerformanceReport) -> str:
    """One row per skill: its score before any training, and now."""
    before = {(s.category, s.skill): s.score for s in base.skills}
    rows = [
        (
            s.category or "-",
            s.skill or "(none)",
            str(s.n),
            _score(before.get((s.category, s.skill))),
            _score(s.score),
        )
        for s in now.skills
    ]
    return _table(("category", "skill", "n", "base", "now"), rows)


def forest_table(forest: Forest) -> str:
    """One row per skill, with its last move, followed by one row for each of its subskills."""
    rows = [
        (skill, subskill or f"({move})", str(allocation), str(made), *map(_score, shares))
        for skill, subskill, allocation, made, move, *shares in forest_rows(forest)
    ]
    names = ("skill", "subskill", "allotted", "made", "valid.", "untaught", "train")
    return _table(names, rows)


def forest_rows(
    forest: Forest,
) -> Iterator[tuple[str, str, int, int, str, float | None, float | None, float | None]]:
    """Yield skill, subskill, allocation, records made, last move, and 3 accuracies.

    A skill's own row has the subskill "", and its last move with the reward.
    """
    for t in forest.trees:
        shares = t.val_accuracy, t.untaught_accuracy, t.train_accuracy
        reward = f" {t.reward:+.3f}" if t.last_move and t.reward is not None else ""
        yield t.skill, "", t.allocation, t.generated, f"{t.last_move or 'no move'}{reward}", *shares
        for s in t.subskills:
            shares = s.val_accuracy, s.untaught_accuracy, s.train_accuracy
            yield "", s.name, s.allocation, s.generated, "", *shares


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Align columns under their names, the first two to the left; cells are printable and short."""
    lines = [list(names)]
    for row in rows:
        cells = ("".join(c if c.isprintable() else " " for c in cell) for cell in row)
        lines.append([shorten(cell, _WIDEST) for cell in cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
