"""Tables for a terminal and in Markdown, and the results of an episode in them.

Notebooks have these results as a data frame, and as HTML with the learning curve.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.episodes.plots import curve_bytes
from dataenvgym.runs.episodes.summary import Summary, warning_lines
from dataenvgym.runs.episodes.texts import (
    by_fault,
    cell,
    change,
    counts,
    markdown_table,
    plain,
    refusal_text,
    score,
    several,
)

if TYPE_CHECKING:
    import pandas as pd


def table_of(
    names: Sequence[str],
    numbers: Sequence[str],
    rows: Iterable[Iterable[str | Text]] = (),
    *,
    lined: bool = False,
) -> Table:
    """A table with columns of texts and of numbers; `lined` with a line below their names."""
    kind = box.SIMPLE_HEAD if lined else None
    table = Table(box=kind, pad_edge=not lined, show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold" if lined else "ellipsis")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=lined)
    for row in rows:
        table.add_row(*row)
    return table


def uncut(table: Table) -> Table:
    """The table with every cell on one line, and every column, even on a narrow terminal."""
    table.width = 0
    for column in table.columns:
        cells = [column.header, *column.cells]
        column.min_width = max(Text(str(cell)).cell_len for cell in cells)
        column.no_wrap = True
        table.width += column.min_width + 2  # without a width, rich leaves out narrow columns
    return table


Rows = Sequence[Sequence[str]]
"""A table: the names of its columns, then its rows."""


def print_tables(title: str, tables: Iterable[Rows], legend: Iterable[str], out: Console) -> None:
    """Show tables under a title, with sentences about them."""
    out.print(Text(plain(title), style="bold"), soft_wrap=True)
    for names, *rows in tables:
        out.print(table_of(names[:1], names[1:], (map(Text, row) for row in rows), lined=True))
        out.print()
    for line in legend:
        out.print(Text(plain(line), style="dim"))


def markdown_lines(tables: Iterable[Rows], legend: Iterable[str]) -> Iterator[str]:
    """The same in Markdown, without a title."""
    for names, *rows in tables:
        yield ""
        yield from markdown_table(names, rows, numbers=True)
    for line in legend:
        yield ""
        yield cell(line).replace("\\`", "`")


def iteration_rows(summary: Summary, forgetting: Sequence[float] | None = None) -> Rows:
    """One row for each iteration; without rare columns in which no row has anything.

    Args:
        forgetting: of each iteration; None leaves out the details.
    """
    iterations, rates = summary.iterations, summary.test_no_answer_rates
    rows = [
        {
            "iteration": f"{i} (best)" if i == summary.best_iteration else str(i),
            "validation": score(one.val_score),
            "no answer": score(one.no_answer_rate),
            "change": change(one.val_score - iterations[i - 1].val_score if i else None),
            **{name: score(one.named_scores.get(name)) for name in summary.score_names},
            "failed calls": by_fault(one.n_errors, one.faults),
            "records": str(one.n_records),
            "in all": str(one.n_records_total),
            "dropped": counts(one.dropped),
            "forgetting": score(forgetting[i] if forgetting and i else None),
            "refused by the gate": refusal_text(one.refused) if one.refused else "-",
            "test": score(next(iter(summary.test_scores[i:]), None)),
            "no answer, test": score(rates.get(i) if summary.test_scores else None),
        }
        for i, one in enumerate(iterations)
    ]
    usual = {"iteration", "validation", "change", "records", "dropped"}
    wanted = {*usual, "no answer", "failed calls", "refused by the gate"}
    if forgetting is not None:
        usual |= {"failed calls", "in all", "forgetting"}
        wanted = {*rows[0]}
    names = [n for n in rows[0] if n in wanted]
    names = [n for n in names if n in usual or any(row[n] not in ("-", "0") for row in rows)]
    return [names, *([row[n] for n in names] for row in rows)]


def iteration_table(summary: Summary) -> Table:
    """The iterations for a terminal, without details."""
    names, *rows = iteration_rows(summary)
    return table_of(names[:1], names[1:], (map(Text, row) for row in rows), lined=True)


def outcome(summary: Summary, *, with_error: bool = True) -> str:
    """One line: how the episode ended, and the student's gain.

    Args:
        with_error: end with the first line of the error of a failed episode.
    """
    text: str = summary.status
    if summary.nothing_trained:
        text = f"nothing was trained, no record in any iteration; {text}"
    if summary.iterations:
        base, best = summary.iterations[0], summary.best
        text += (
            f": validation {base.val_score:.3f} -> {best.val_score:.3f} "
            f"({change(summary.val_score_gain)}) at iteration {best.iteration}"
            f"{_no_answers(*((one.no_answer_rate, one.answered_score) for one in (base, best)))}"
        )
    if summary.n_refused:
        text += f"; {several(summary.n_refused, 'iteration')} refused by the gate"
    if summary.test_score_before is not None and summary.test_score_after is not None:
        gain = summary.test_score_after - summary.test_score_before
        rates, answered = summary.test_no_answer_rates, summary.test_answered_scores
        told = [(rates.get(n), answered.get(n)) for n in (0, summary.best_iteration)]
        text += (
            f"; test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f} "
            f"({change(gain)}){_no_answers(*told)}"
        )
    if summary.ended is not None and summary.status == "finished":
        text += f"; ended before its last iteration: {summary.ended}"
    elif summary.teacher is not None and summary.teacher.unasked:
        text += (
            f"; the teacher's budget left {several(summary.teacher.unasked, 'question')} unasked"
        )
    if summary.teacher is not None and summary.teacher.malformed:
        text += f"; {several(summary.teacher.malformed, 'answer')} of the teacher could not be used"
    if with_error and summary.error is not None and summary.status == "failed":
        text += f"; {summary.error.partition(chr(10))[0]}"
    return plain(text)


def _no_answers(*told: tuple[float | None, float | None]) -> str:
    """The no-answer rates before and after, and the scores of the replies with an answer."""
    rates, answered = zip(*told, strict=True)
    if None in rates or not any(rates):
        return ""
    shown = (f"{score(before)} -> {score(after)}" for before, after in (rates, answered))
    return ", no answer {}, score of the answers {}".format(*shown)


def shares(problems: Mapping[str, str]) -> list[str]:
    """One line for each split that is only a part of its source."""
    return [plain(f"{split}: {text}") for split, text in problems.items()]


def print_warnings(summary: Summary, console: Console) -> None:
    """Print the warnings of a run, if it has any."""
    for line in warning_lines(summary.warnings):
        console.print(Text(plain(f"warning: {line}"), style="yellow"), soft_wrap=True)


def to_frame(summary: Summary) -> pd.DataFrame:
    """See `Summary.to_pandas`."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigurationError(
            f"Summary.to_pandas() needs pandas ({error}): pip install 'dataenvgym[pandas]', or "
            "use summary.iterations"
        ) from error
    names = ["iteration", "val_score", "n_val", "n_errors", "n_records", "n_records_total"]
    if any(one.no_answer_rate is not None for one in summary.iterations):
        names.insert(2, "no_answer_rate")
    named = summary.score_names
    faults = sorted({fault for one in summary.iterations for fault in one.faults})
    rows = [
        {
            **{name: getattr(one, name) for name in names},
            "n_dropped": sum(one.dropped.values()),
            "seconds": one.seconds.get("total"),
            **{name: one.named_scores.get(name) for name in named},
            **{f"n_errors_{fault}": one.faults.get(fault, 0) for fault in faults},
        }
        for one in summary.iterations
    ]
    columns = [*names, "n_dropped", "seconds", *named, *(f"n_errors_{fault}" for fault in faults)]
    return pd.DataFrame(rows, columns=columns)


def to_html(summary: Summary) -> str:
    """The outcome, the terminal's table of iterations, and the curve, in self-contained HTML."""
    console = Console(record=True, file=StringIO(), width=100, highlight=False)
    console.print(Text(plain(summary.title), style="bold"))
    for line in (outcome(summary), *shares(summary.problems)):
        console.print(Text(line), soft_wrap=True)
    if summary.iterations:
        console.print(iteration_table(summary), crop=False)
    text = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    if not summary.iterations:
        return text
    image = base64.b64encode(curve_bytes(summary)).decode()
    return f'{text}\n<img src="data:image/png;base64,{image}" width="720">'
