"""The matrix of accuracies of continual adaptation, and how much is forgotten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from dataenvgym.adaptation.continual import SequenceResult
from dataenvgym.episodes.texts import change, interval, score, several
from dataenvgym.metrics.estimators import Estimate, estimate
from dataenvgym.records import Model


class SequenceFigures(Model):
    """One way to join adapters, over all sequences; estimates are over sequences.

    Attributes:
        matrix: mean and deviation of each accuracy. Row 0 is the untouched student on all contexts,
            row k the student after k contexts on the first k of them.
        base: the mean of row 0.
        learned: the mean accuracy on a context directly after it was learned.
        final: the mean of the last row.
        gain: `final` above `base`.
        forgetting: how far the last row is below the best accuracy on the same context since it was
            learned, the mean over all contexts but the last (Chaudhry et al. 2018).
        n_unscored: questions for which a call failed.
        n_failed: contexts from which nothing was learned; `first_failure` says why.
    """

    arm: str
    matrix: tuple[tuple[Estimate, ...], ...]
    base: Estimate
    learned: Estimate
    final: Estimate
    gain: Estimate
    forgetting: Estimate
    n_unscored: int
    n_failed: int
    first_failure: str | None = None


class ContinualReport(Model):
    """All figures of continual adaptation."""

    task: str
    seeds: tuple[int, ...]
    arms: tuple[SequenceFigures, ...]

    @classmethod
    def of(cls, task: str, results: Sequence[SequenceResult]) -> ContinualReport:
        """The figures of the results, with the arms in their order."""
        arms: defaultdict[str, list[SequenceResult]] = defaultdict(list)
        for result in results:
            arms[result.arm].append(result)
        return cls(
            task=task,
            seeds=tuple(sorted({result.seed for result in results})),
            arms=tuple(_figures(arm, of) for arm, of in arms.items()),
        )

    def tables(self) -> Iterator[list[list[str]]]:
        """The tables, each with the names of its columns first."""
        yield [
            ["arm", "base", "learned", "final", "gain", "forgetting", "forgetting 95%"],
            *(
                [
                    one.arm,
                    score(one.base.mean),
                    score(one.learned.mean),
                    score(one.final.mean),
                    change(one.gain.mean),
                    score(one.forgetting.mean),
                    interval(one.forgetting),
                ]
                for one in self.arms
            ),
        ]
        for arm in self.arms:
            names = [arm.arm, *(f"context {n}" for n in range(1, len(arm.matrix)))]
            rows = []
            for n, row in enumerate(arm.matrix):
                cells = [
                    score(one.mean, 2) + ("" if one.sd is None else f" ±{one.sd:.2f}")
                    for one in row
                ]
                empty = [""] * (len(names) - 1 - len(cells))
                rows.append([f"after {n}" if n else "base", *cells, *empty])
            yield [names, *rows]

    def legend(self) -> Iterator[str]:
        """Sentences about the columns, and about what failed."""
        n_contexts = max((len(one.matrix) - 1 for one in self.arms), default=0)
        yield (
            f"Accuracy without the context, mean over {several(len(self.seeds), 'sequence')} of "
            f"{several(n_contexts, 'context')}. `learned` is directly after a context, `final` "
            "after all of them; `forgetting` is how far `final` is below the best since then."
        )
        if len(self.seeds) == 1:
            yield "One sequence has no deviation: more of them (seeds=5) extend the run."
        else:
            yield "±: standard deviation over sequences. 95%: the interval (Student's t)."
        for one in self.arms:
            if one.n_failed:
                yield (
                    f"{one.arm}: nothing was learned from {several(one.n_failed, 'context')} (the "
                    f"first: {one.first_failure})."
                )
            if one.n_unscored:
                yield f"{one.arm}: {several(one.n_unscored, 'answer')} could not be scored."


def _figures(arm: str, results: Sequence[SequenceResult]) -> SequenceFigures:
    matrices = [[row.accuracies for row in result.rows] for result in results]
    failures = [row.failure for result in results for row in result.rows if row.failure]

    def over(figure: Callable[[Sequence[Sequence[float | None]]], float | None]) -> Estimate:
        return estimate([x for x in map(figure, matrices) if x is not None])

    return SequenceFigures(
        arm=arm,
        matrix=tuple(
            tuple(
                estimate([x for m in matrices if (x := m[row][column]) is not None])
                for column in range(len(matrices[0][row]))
            )
            for row in range(len(matrices[0]))
        ),
        base=over(lambda m: _mean(m[0])),
        learned=over(lambda m: _mean([row[-1] for row in m[1:]])),
        final=over(lambda m: _mean(m[-1])),
        gain=over(_gain),
        forgetting=over(_forgetting),
        n_unscored=sum(row.n_unscored for result in results for row in result.rows),
        n_failed=len(failures),
        first_failure=failures[0] if failures else None,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _gain(matrix: Sequence[Sequence[float | None]]) -> float | None:
    pairs = zip(matrix[0], matrix[-1], strict=True)
    return _mean([b - a for a, b in pairs if a is not None and b is not None])


def _forgetting(matrix: Sequence[Sequence[float | None]]) -> float | None:
    last = matrix[-1]
    lost = []
    for column, now in enumerate(last[:-1]):
        since = [x for row in matrix[column + 1 : -1] if (x := row[column]) is not None]
        if since and now is not None:
            lost.append(max(since) - now)
    return fmean(lost) if lost else None
