"""The effects of groups of a run's records on its student, from `attribution/attribution.json`.

`evaluation.attribution` measures them; this module reads and shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.records import Model
from dataenvgym.runs.documents import Document, Line, markdown, table
from dataenvgym.runs.texts import change, one_line, several
from dataenvgym.storage import read_model, write_json, write_text

FOLDER = "attribution"
_FILE, _TABLE = "attribution.json", "table.md"
BY_RECORD = "record"
_SHOWN = 20
"""Rows of many that are shown: the first and the last ones."""


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

    def document(self, most: int | None = _SHOWN) -> Document:
        """The groups' effects, those within the noise in parentheses, and notes.

        Args:
            most: the most rows, of the most and the least helpful groups; None for all.
        """
        rows = [
            {
                self.by if len(self.by) < 20 else "group": one_line(one.group, 40),
                "records": one.n_records,
                "score": _effect(one.score, self.score_noise, 3),
                "loss": _effect(one.loss, self.loss_noise, 4),
                "estimate": None if one.estimate is None else f"{one.estimate:+.1f}",
            }
            for one in self.groups
        ]
        if most is not None and len(rows) > most:
            gap = dict.fromkeys(rows[0]) | {"records": "..."}
            rows = [*rows[: most // 2], gap, *rows[-(most // 2) :]]
        yield table(rows, f"what helped in iteration {self.iteration}, by {self.by}")
        for text in self._facts():
            yield Line(text, "note")

    def _facts(self) -> Iterator[str]:
        yield (
            f"With all {several(self.n_records, 'record')} the score is {self.score:.3f}"
            + ("." if self.loss is None else f", and the loss {self.loss:.4f}.")
        )
        if self.score_agreement is not None:
            text = f"Rank correlation of estimate and score: {self.score_agreement}"
            yield text + ("." if self.loss_agreement is None else f", loss: {self.loss_agreement}.")
        if self.score_noise is None:
            yield "One training for each group: the noise is unknown (--repeats 2 or more)."
        else:
            noise = f"{self.score_noise:.3f} in score"
            if self.loss_noise is not None:
                noise += f", {self.loss_noise:.4f} in loss"
            yield f"In parentheses: within the noise of {self.repeats} trainings (95%: {noise})."
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
        files = {one.iteration: one.fingerprint for one in results}
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

    def document(self, most: int | None = _SHOWN) -> Document:
        """All tables; see `AttributionTable.document`."""
        return (part for one in self.tables for part in one.document(most))

    def labels(self, iteration: int) -> dict[str, str]:
        """Texts for the records of the iteration's training, by id: their effect or estimate."""
        labels = {
            record: f"estimate {value:+.1f}"
            for record, value in self.estimates.get(iteration, {}).items()
        }
        for found in self.tables:
            if (found.iteration, found.by) == (iteration, BY_RECORD):
                for one in found.groups:
                    effect = f"score {change(one.score)}"
                    if one.loss is not None:
                        effect += f", loss {_effect(one.loss, found.loss_noise, 4)}"
                    labels[one.group] = "\n".join(
                        text for text in (effect, labels.get(one.group)) if text
                    )
        return labels


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
    way_out = "remove it; `dataenvgym attribute` writes it again"
    return read_model(path, Attribution, way_out).of(results)


def write_attribution(run_directory: Path, attribution: Attribution) -> Path:
    """Write `attribution.json` and `table.md`; return the path of the latter."""
    folder = run_directory / FOLDER
    write_json(folder / _FILE, attribution)
    document = [Line("What helped", "title"), *attribution.document(most=None)]
    write_text(folder / _TABLE, markdown(document))
    return folder / _TABLE


def _effect(value: float | None, noise: float | None, digits: int) -> str | None:
    if value is None:
        return None
    text = f"{value:+.{digits}f}"
    return f"({text})" if noise is not None and abs(value) <= noise else text
