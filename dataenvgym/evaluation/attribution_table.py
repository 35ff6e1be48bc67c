"""From retrainings without groups of records to the table of their effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dataenvgym.environments.history import History
from dataenvgym.environments.iterations import IterationResult
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.student import training_records
from dataenvgym.episodes.attribution import (
    BY_RECORD,
    Agreement,
    AttributionTable,
    GroupEffect,
    fingerprint,
)
from dataenvgym.episodes.run_files import RunFiles
from dataenvgym.errors import ConfigurationError, RunDirectoryError, did_you_mean
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import Model, TrainingDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import read_json

BY = ("skill", "subskill", "agent", "iteration", "kind", BY_RECORD)


class TrainedIteration:
    """An iteration of a finished run that trained the student, as it was trained.

    Args:
        directory: of the run.
        number: of the iteration; None takes the best one of those with records.

    Attributes:
        records: all that it was trained on, also those of earlier iterations.
        before: the iteration whose adapter it began with; None for the untouched student.

    Raises:
        RunDirectoryError: if the run is not finished, or the iteration trained on nothing, or the
            gate refused its student.
    """

    def __init__(self, directory: Path, number: int | None) -> None:
        run = RunFiles(directory)
        if run.summary.status != "finished":
            raise RunDirectoryError(
                f"the run {directory.name!r} is {run.summary.status}, expected a finished one: the "
                "command that began it finishes it"
            )
        self.results = run.results
        taught = [r for r in run.results if r.adapter == r.iteration]
        if not taught:
            raise RunDirectoryError(
                f"the run {directory.name!r} has no iteration with records whose student the gate "
                "let pass, so there is nothing to leave out: choose a run that has one"
            )
        if number is None:
            number = max(taught, key=lambda r: (r.val_score, -r.iteration)).iteration
        files = run.iteration(number)
        self.result: IterationResult = run.results[number]
        if self.result not in taught:
            numbers = ", ".join(str(r.iteration) for r in taught)
            reason = "trained on no records"
            if self.result.refused is not None:
                reason = "has a student that the gate refused"
            raise RunDirectoryError(
                f"iteration {number} of {directory.name!r} {reason}, expected one of {numbers}"
            )
        identity = run.environment
        known = {n: identity[n] for n in TeachingOptions.__dataclass_fields__ if n in identity}
        self.options = TeachingOptions(**known)
        self.seed = int(identity.get("seed", run.summary.seed))
        self.root, self.number, self.files = directory / "iterations", number, files
        self.before = run.results[number - 1].adapter
        history = History.of(self.root, run.iterations[:number], self.options)
        self.records: list[TrainingDatum] = training_records(
            self.options, number, files.read_records(), history, seed=self.seed
        )
        self.stage = stage_of(self.records[0])
        self.fingerprint = fingerprint(self.result)

    def groups(
        self, by: str, file: str | Path | None, limit: int | None, seed: int
    ) -> dict[str, frozenset[int]]:
        """The positions of each group's records, by the group's name."""
        found: dict[str, list[int]] = {}
        places = {record.provenance.id: i for i, record in enumerate(self.records)}
        if file is not None:
            for name, ids in _read_groups(Path(file).expanduser()).items():
                if unknown := [one for one in ids if one not in places]:
                    raise ConfigurationError(
                        f"{file}, group {name!r}: iteration {self.number} was not trained on "
                        f"{', '.join(map(repr, unknown[:3]))} ({len(unknown)} of {len(ids)} ids), "
                        f"expected ids of its {len(places)} records, such as {next(iter(places))!r}"
                        f".{did_you_mean(unknown[0], places)}"
                    )
                found[name] = [places[one] for one in ids]
        else:
            for i, record in enumerate(self.records):
                source = record.provenance
                value = {BY_RECORD: source.id, "kind": record.kind}.get(by) or getattr(
                    source, by, None
                )
                found.setdefault("(none)" if value is None else str(value), []).append(i)
        names = sorted(found)
        if limit is not None and limit < len(names):
            # a larger limit keeps those of a smaller one
            order = derive_rng(seed, "attribution").permutation(len(names)).tolist()
            names = [names[i] for i in sorted(order[:limit])]
        return {name: frozenset(found[name]) for name in names}


def _read_groups(path: Path) -> dict[str, list[str]]:
    expected = 'expected JSON such as {"suspicious": ["001-00003", "001-00004"]}'
    if not path.is_file():
        raise ConfigurationError(f"--groups is {str(path)!r}, where there is no file; {expected}")
    try:
        found = read_json(path)
    except ValueError as error:
        raise ConfigurationError(f"{error}; {expected}") from error
    if not isinstance(found, dict) or not found:
        raise ConfigurationError(f"{path} has {found!r:.80}, {expected}")
    for name, ids in found.items():
        is_list = isinstance(ids, list) and ids and all(isinstance(one, str) for one in ids)
        if not is_list:
            raise ConfigurationError(f"{path}, group {name!r}, has {ids!r:.80}; {expected}")
    return found


class Retraining(Model):
    """One line of `retrainings.jsonl`.

    Attributes:
        iteration: hash of the iteration's files: if it was done again, the line does not count.
        left_out: hash of the ids that were left out; "" for none.
        repeat: 0 has the seed of the run's own training.
        score: on the validation problems; `n_errors` of them were not scored.
        loss: on the gold answers, or None.
        seconds: of the training and its evaluation.
    """

    iteration: str
    left_out: str
    repeat: int
    score: float
    n_errors: int
    loss: float | None
    seconds: float

    @property
    def key(self) -> tuple[str, str, int]:
        return self.iteration, self.left_out, self.repeat


def attribution_table(
    by: str,
    training: TrainedIteration,
    groups: Mapping[str, frozenset[int]],
    results: Mapping[tuple[str | None, int], Retraining],
    repeats: int,
    estimates: Mapping[str, float],
    notes: Sequence[str],
) -> AttributionTable:
    """The effects of groups of records.

    Args:
        by: what makes a group.
        groups: the positions of each group's records.
        results: by group (None for all records) and repeat.
        estimates: by the record's id; empty for none.
    """
    scores, losses, rows = [], [], []
    for name, places in groups.items():
        pairs = [(results[None, r], results[name, r]) for r in range(repeats)]
        score = [every.score - without.score for every, without in pairs]
        loss = [
            without.loss - every.loss
            for every, without in pairs
            if every.loss is not None and without.loss is not None
        ]
        scores.append(score)
        losses.append(loss)
        ids = [training.records[i].provenance.id for i in places]
        rows.append(
            GroupEffect(
                group=name,
                n_records=len(places),
                score=math.fsum(score) / repeats,
                loss=math.fsum(loss) / repeats if loss else None,
                estimate=math.fsum(estimates[one] for one in ids) if estimates else None,
            )
        )
    own, ran = results[None, 0], training.result.val_score
    remarks = list(notes)
    if own.score != ran:
        remarks.insert(
            0,
            f"The training was not repeated exactly: with all records and the run's own seed, the "
            f"score is {own.score:.3f}, and in the run it was {ran:.3f}. So the student, its "
            "packages or its server are not the same; effects compare the repeated trainings.",
        )
    if n_errors := sum(one.n_errors for one in results.values()):
        remarks.append(f"{n_errors} answers in {len(results)} evaluations were not scored.")
    has_loss = all(row.loss is not None for row in rows)
    return AttributionTable(
        iteration=training.number,
        files=training.fingerprint,
        by=by,
        n_records=len(training.records),
        repeats=repeats,
        score=own.score,
        loss=own.loss,
        score_noise=_noise(scores),
        loss_noise=_noise(losses) if has_loss else None,
        score_agreement=_agreement(rows, [row.score for row in rows]),
        loss_agreement=_agreement(rows, [row.loss or 0.0 for row in rows]) if has_loss else None,
        notes=tuple(remarks),
        groups=tuple(sorted(rows, key=lambda row: (-(row.loss or 0.0), -row.score, row.group))),
    )


def _noise(effects: Sequence[Sequence[float]]) -> float | None:
    """Half the width of the 95% interval of one effect; its variance is pooled over all groups.

    All groups are compared with the same reference, so their effects vary together. The degrees of
    freedom are those of the sum of the shared and of the own variance (Satterthwaite, Biometrics
    Bulletin 2, 1946).
    """
    groups, repeats = len(effects), len(effects[0])
    if repeats < 2:
        return None
    from scipy import stats

    values = np.array(effects)
    shared = float(values.mean(axis=0).var(ddof=1))
    variance = float(values.var(axis=1, ddof=1).mean())
    if variance == 0:
        return 0.0
    own = max(0.0, variance - shared)
    parts = shared**2 + (own**2 / (groups - 1) if groups > 1 else 0.0)
    freedom = (repeats - 1) * variance**2 / parts
    return float(stats.t.ppf(0.975, freedom)) * math.sqrt(variance / repeats)


def _agreement(rows: Sequence[GroupEffect], effects: Sequence[float]) -> Agreement | None:
    estimates = [row.estimate for row in rows if row.estimate is not None]
    n = len(rows)
    if len(estimates) < n or len(set(estimates)) < 2 or len(set(effects)) < 2:
        return None
    from scipy import stats

    r = float(stats.spearmanr(estimates, effects).statistic)
    if n < 4 or abs(r) >= 1.0:
        return Agreement(correlation=r)
    half = 1.96 * math.sqrt((1 + r**2 / 2) / (n - 3))
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Agreement(correlation=r, low=low, high=high)
