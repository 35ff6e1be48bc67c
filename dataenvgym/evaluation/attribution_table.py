"""From retrainings without groups of records to the table of their effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dataenvgym.episodes.attribution import Agreement, AttributionTable, GroupEffect
from dataenvgym.evaluation.trained_iteration import TrainedIteration
from dataenvgym.records import Model


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
