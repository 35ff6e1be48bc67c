"""The effects of groups of a run's records on its student, from `attribution/attribution.json`.

`evaluation.attribution` measures them; this module reads and shows them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.episodes.texts import cell, change, markdown_table, one_line, plain, several
from dataenvgym.records import Model
from dataenvgym.storage import read_json, write_json, write_text
from dataenvgym.workspace import naming_damage

FOLDER = "attribution"
_FILE, _TABLE = "attribution.json", "table.md"
BY_RECORD = "record"
_SHOWN = 20
"""Rows that a terminal shows: the first and the last ones."""


class GroupEffect(Model):
    """The effect of a group: the student with all records, compared to that without the group.

    Attributes:
        score: how much higher the validation score is with the group; the mean over repeats.
        loss: how much lower the loss on the gold answers is with it; None if it is not known.
        estimate: the sum of the group's estimates by gradients (see `trainers.influence`), or None.
    """

    group: str
    n_records: int
    score: float
    loss: float | None = None
    estimate: float | None = None


class Agreement(Model):
    """Spearman's rank correlation of estimates and measured effects, with its 95% interval.

    The interval is Fisher's, with the standard error of Bonett and Wright (2000); None below 4
    groups.
    """

    correlation: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        interval = "" if self.low is None else f" (95%: {self.low:.2f} to {self.high:.2f})"
        return f"{self.correlation:.2f}{interval}"


class AttributionTable(Model):
    """The effects of the groups of one iteration's training records.

    Attributes:
        files: hash of the iteration's files.
        by: what makes a group: a field of the provenance, "kind", "record", or the groups' file.
        n_records: of the whole training.
        repeats: trainings of each group, with different seeds.
        score: the validation score of the training with all records, repeated with its own seed.
        loss: its loss on the gold answers.
        score_noise, loss_noise: an effect below it is not significant (95%); None with one repeat.
        score_agreement, loss_agreement: of the estimate with each effect.
        notes: what a reader must know.
        groups: the most helpful first.
    """

    iteration: int
    files: str
    by: str
    n_records: int
    repeats: int
    score: float
    loss: float | None = None
    score_noise: float | None = None
    loss_noise: float | None = None
    score_agreement: Agreement | None = None
    loss_agreement: Agreement | None = None
    notes: tuple[str, ...] = ()
    groups: tuple[GroupEffect, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns; those without any value are left out."""
        names = ["records", "score"]
        names += ["loss"] * any(g.loss is not None for g in self.groups)
        return names + ["estimate"] * any(g.estimate is not None for g in self.groups)

    def row(self, group: GroupEffect) -> list[str]:
        """The cells of a group; effects within the noise are in parentheses."""
        cells = {
            "records": str(group.n_records),
            "score": _effect(group.score, self.score_noise, 3),
            "loss": _effect(group.loss, self.loss_noise, 4),
            "estimate": "-" if group.estimate is None else f"{group.estimate:+.1f}",
        }
        return [cells[name] for name in self.columns]

    def legend(self) -> Iterator[str]:
        """Sentences about the columns, the noise and the agreement."""
        yield (
            f"Effects of {several(len(self.groups), 'group')} of the {self.n_records} records that "
            f"iteration {self.iteration} was trained on: with all of them the score is "
            f"{self.score:.3f}. `score` is how much higher it is with the group than without it."
        )
        if "loss" in self.columns:
            yield (
                f"`loss` is how much lower the loss on the gold answers ({self.loss:.4f}) is with "
                "the group."
            )
        if "estimate" in self.columns:
            text = "`estimate` is made from gradients, without retraining; it only ranks."
            if self.score_agreement is not None:
                text += f" Rank correlation with the effect on the score: {self.score_agreement}"
                if self.loss_agreement is not None:
                    text += f", on the loss: {self.loss_agreement}"
                text += "."
            yield text
        if self.score_noise is None:
            yield "One training for each group: the noise is unknown (--repeats 2 or more)."
        else:
            noise = f"{self.score_noise:.3f} in score"
            if self.loss_noise is not None:
                noise += f", {self.loss_noise:.4f} in loss"
            yield (f"In parentheses: within the noise of {self.repeats} trainings (95%: {noise}).")
        yield from self.notes


class Attribution(Model):
    """The contents of `attribution.json`.

    Attributes:
        tables: one for each iteration and kind of group, the latest last.
        estimates: by iteration, the estimate of each record by its id.
    """

    tables: tuple[AttributionTable, ...] = ()
    estimates: dict[int, dict[str, float]] = {}

    def of(self, results: Sequence[IterationResult]) -> Attribution:
        """A copy without what was measured before an iteration of these was done again."""
        files = {one.iteration: fingerprint(one) for one in results}
        tables = [t for t in self.tables if t.files == files.get(t.iteration)]
        numbers = {t.iteration for t in tables}
        kept = {n: by_id for n, by_id in self.estimates.items() if n in numbers}
        return Attribution(tables=tuple(tables), estimates=kept)

    def with_table(self, table: AttributionTable, estimates: dict[str, float]) -> Attribution:
        """A copy with this table in place of an earlier one."""
        key = (table.iteration, table.by)
        others = [t for t in self.tables if (t.iteration, t.by) != key]
        known = {**self.estimates, table.iteration: estimates}
        return Attribution(tables=(*others, table), estimates=known)

    def labels(self, iteration: int) -> dict[str, str]:
        """Texts for the records of the iteration's training, by id: their effect or estimate."""
        labels = {
            record: f"estimate {value:+.1f}"
            for record, value in self.estimates.get(iteration, {}).items()
        }
        for table in self.tables:
            if (table.iteration, table.by) == (iteration, BY_RECORD):
                for one in table.groups:
                    effect = f"score {change(one.score)}"
                    if one.loss is not None:
                        effect += f", loss {_effect(one.loss, table.loss_noise, 4)}"
                    labels[one.group] = "\n".join(
                        text for text in (effect, labels.get(one.group)) if text
                    )
        return labels


def fingerprint(result: IterationResult) -> str:
    """A hash of an iteration's files, which differs once the iteration was done again."""
    marks = sorted(f"{name} {mark.sha256}" for name, mark in result.files.items())
    lines = [str(result.iteration), *marks]  # an older run has no marks
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read_attribution(run_directory: Path, results: Sequence[IterationResult]) -> Attribution:
    """The effects that are known of a run's records; empty without any.

    Args:
        results: of the run's iterations; what was measured before one was done again is left out.

    Raises:
        RunDirectoryError: if the file is damaged.
    """
    path = run_directory / FOLDER / _FILE
    if not path.exists():
        return Attribution()
    with naming_damage(path, "remove it; `dataenvgym attribute` writes it again"):
        return Attribution.model_validate(read_json(path)).of(results)


def write_attribution(run_directory: Path, attribution: Attribution) -> Path:
    """Write `attribution.json` and `table.md`; return the path of the latter."""
    folder = run_directory / FOLDER
    write_json(folder / _FILE, attribution.model_dump(mode="json"))
    lines = ["# What helped", *attribution_lines(attribution)]
    write_text(folder / _TABLE, "\n".join(lines) + "\n")
    return folder / _TABLE


def attribution_lines(attribution: Attribution, most: int | None = None) -> Iterator[str]:
    """The tables in Markdown.

    Args:
        most: the most rows of a table; None for all.
    """
    for table in attribution.tables:
        yield ""
        yield f"### Iteration {table.iteration}, by {cell(table.by)}"
        yield ""
        rows = ([g.group, *table.row(g)] if g else ["..."] for g in _shown(table, most))
        yield from markdown_table(["group", *table.columns], rows, numbers=True)
        for line in table.legend():
            yield ""
            yield cell(line).replace("\\`", "`")


def print_table(table: AttributionTable, console: Console) -> None:
    """Show a table on a terminal, the most and the least helpful groups of many."""
    title = f"what helped in iteration {table.iteration}, by {table.by}"
    console.print(Text(plain(title), style="bold"), soft_wrap=True)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    shown.add_column(table.by if len(table.by) < 20 else "group", overflow="fold")
    for name in table.columns:
        shown.add_column(name, justify="right", no_wrap=True)
    for group in _shown(table, _SHOWN):
        cells = [one_line(group.group, 40), *table.row(group)] if group else ["..."]
        shown.add_row(*map(Text, cells))
    console.print(shown)
    for line in table.legend():
        console.print(Text(plain(line), style="dim"))


def _shown(table: AttributionTable, most: int | None) -> list[GroupEffect | None]:
    groups = table.groups
    if most is None or len(groups) <= most:
        return list(groups)
    return [*groups[: most // 2], None, *groups[-(most // 2) :]]


def _effect(value: float | None, noise: float | None, digits: int) -> str:
    if value is None:
        return "-"
    text = f"{value:+.{digits}f}"
    return f"({text})" if noise is not None and abs(value) <= noise else text
