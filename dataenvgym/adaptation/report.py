"""The figures of arms or sequences over seeds, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from dataenvgym.adaptation.arms import ArmResult
from dataenvgym.adaptation.continual import SequenceResult
from dataenvgym.adaptation.trials import mean_of
from dataenvgym.records import Model
from dataenvgym.runs.documents import Document, Line, Row, markdown, table
from dataenvgym.runs.texts import change, gain, interval, one_line, several
from dataenvgym.storage import write_json, write_text
from dataenvgym.tasks.metrics.estimators import Estimate, estimate

REFERENCE = "self_edits"
"""The arm with which the others are compared."""
Matrix = Sequence[Sequence[float | None]]


class ArmFigures(Model):
    """An arm over all seeds. Estimates are over seeds; each seed is a mean over contexts.

    Attributes:
        base: the accuracy of the student that is trained, before it is.
        adapter: the mean accuracy of its adapters; of the arm "base", None.
        gain: how far `adapter` is above the student that the run began with.
        above_reference: how far its adapters are above those of `REFERENCE`, paired by seed.
        sd_edits: the standard deviation of the edits of a context, each the mean of its trainings;
            the mean over contexts. None with one edit each.
        sd_repeats: the same of the trainings of an edit; None with one training each.
        n_failed: edits that failed; they count without gain. `first_failure` says why one did.
        n_errors: calls for an edit that failed; there is no edit then.
        n_unscored: questions of an adapter for which a call or a training failed.
        kept: of RestEM: the number of edits from which the writer learned, over all seeds.
    """

    arm: str
    base: Estimate
    adapter: Estimate | None
    gain: Estimate | None
    above_reference: Estimate | None = None
    sd_edits: float | None
    sd_repeats: float | None
    n_contexts: int
    n_edits: int
    n_failed: int
    n_errors: int
    n_unscored: int
    first_failure: str | None = None
    kept: int | None = None

    def row(self) -> Row:
        """The row of the table."""
        return {
            "arm": self.arm,
            "base": self.base.mean,
            "adapter": self.adapter and self.adapter.mean,
            "gain": self.gain and gain(self.gain),
            "edits ±": self.sd_edits,
            "repeats ±": self.sd_repeats,
            f"above {REFERENCE}": self.above_reference and gain(self.above_reference),
        }

    def facts(self) -> Iterator[str]:
        """Sentences about edits, calls and answers that failed, and about what was learned."""
        if self.first_failure:
            yield (
                f"{self.n_failed} of {several(self.n_edits, 'edit')} failed and count without gain "
                f"(the first: {one_line(self.first_failure)})"
            )
        if self.n_errors:
            yield f"{several(self.n_errors, 'call')} for an edit failed"
        if self.n_unscored:
            yield f"{several(self.n_unscored, 'answer')} could not be scored"
        if self.kept is not None:
            yield f"the writer learned {several(self.kept, 'edit')}"


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

    def row(self) -> Row:
        """The row of the table."""
        return {
            "arm": self.arm,
            "base": self.base.mean,
            "learned": self.learned.mean,
            "final": self.final.mean,
            "gain": change(self.gain.mean),
            "forgetting": self.forgetting.mean,
            "forgetting 95%": interval(self.forgetting),
        }

    def facts(self) -> Iterator[str]:
        """Sentences about contexts and answers that failed."""
        if self.n_failed:
            n = several(self.n_failed, "context")
            yield f"nothing was learned from {n} (the first: {self.first_failure})"
        if self.n_unscored:
            yield f"{several(self.n_unscored, 'answer')} could not be scored"


class AdaptationReport(Model):
    """All figures of a run of arms, or of sequences."""

    task: str
    seeds: tuple[int, ...]
    arms: tuple[ArmFigures | SequenceFigures, ...]

    @classmethod
    def of(cls, task: str, results: Sequence[ArmResult | SequenceResult]) -> AdaptationReport:
        """The figures of the results, with the arms in their order."""
        arms: defaultdict[str, list[ArmResult]] = defaultdict(list)
        sequences: defaultdict[str, list[SequenceResult]] = defaultdict(list)
        for result in results:
            if isinstance(result, SequenceResult):
                sequences[result.arm].append(result)
            else:
                arms[result.arm].append(result)
        means = {arm: {r.seed: _by_context(r) for r in of} for arm, of in arms.items()}
        found = [_arm_figures(of, means) for of in arms.values()]
        return cls(
            task=task,
            seeds=tuple(sorted({result.seed for result in results})),
            arms=(*found, *(_sequence_figures(arm, of) for arm, of in sequences.items())),
        )

    def document(self) -> Document:
        """The tables, and what failed."""
        yield Line(f"adaptation: {self.task}", "title")
        yield table(one.row() for one in self.arms)
        over = several(len(self.seeds), "seed")
        for one in self.arms:
            if isinstance(one, SequenceFigures):
                yield table(
                    {one.arm: f"after {k}" if k else "base"}
                    | {f"context {i}": _deviating(cell) for i, cell in enumerate(row, 1)}
                    for k, row in enumerate(one.matrix)
                )
            elif one.arm == "base":
                over += f", {several(one.n_contexts, 'context')}"
        yield Line(f"Accuracy without the context: {over}.", "note")
        for one in self.arms:
            if facts := [*one.facts()]:
                yield Line(f"{one.arm}: {'; '.join(facts)}.", "note")


def _deviating(found: Estimate) -> str | None:
    if found.mean is None:
        return None
    return f"{found.mean:.2f}" + ("" if found.sd is None else f" ±{found.sd:.2f}")


def _sequence_figures(arm: str, results: Sequence[SequenceResult]) -> SequenceFigures:
    matrices: list[Matrix] = [[row.accuracies for row in result.rows] for result in results]
    failures = [row.failure for result in results for row in result.rows if row.failure]

    def over(figure: Callable[[Matrix], float | None]) -> Estimate:
        return estimate([x for x in map(figure, matrices) if x is not None])

    return SequenceFigures(
        arm=arm,
        matrix=tuple(
            tuple(over(lambda m, i=i, j=j: m[i][j]) for j in range(len(row)))  # type: ignore[misc]
            for i, row in enumerate(matrices[0])
        ),
        base=over(lambda m: mean_of(m[0])),
        learned=over(lambda m: mean_of([row[-1] for row in m[1:]])),
        final=over(lambda m: mean_of(m[-1])),
        gain=over(
            lambda m: mean_of(
                after - before
                for before, after in zip(m[0], m[-1], strict=True)
                if before is not None and after is not None
            )
        ),
        forgetting=over(_forgetting),
        n_unscored=sum(row.n_unscored for result in results for row in result.rows),
        n_failed=len(failures),
        first_failure=failures[0] if failures else None,
    )


def _forgetting(matrix: Matrix) -> float | None:
    last = matrix[-1]
    lost: list[float] = []
    for column, now in enumerate(last[:-1]):
        since = [x for row in matrix[column + 1 : -1] if (x := row[column]) is not None]
        if since and now is not None:
            lost.append(max(since) - now)
    return mean_of(lost)


def _by_context(result: ArmResult) -> dict[str, list[float]]:
    """The mean accuracy of each edit of each context, if one could be scored."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for edit in result.edits:
        if edit.mean is not None:
            found[edit.context].append(edit.mean)
    return found


BySeed = Mapping[int, Mapping[str, Sequence[float]]]


def _differences(these: BySeed, those: BySeed) -> Estimate:
    """The mean difference over the contexts of both, for each seed of both."""
    pairs = [
        [fmean(own) - fmean(those[seed][c]) for c, own in found.items() if c in those[seed]]
        for seed, found in these.items()
        if seed in those
    ]
    return estimate([fmean(differences) for differences in pairs if differences])


def _arm_figures(results: Sequence[ArmResult], means: Mapping[str, BySeed]) -> ArmFigures:
    """The figures of one arm; `means` has the accuracies of all."""
    arm, edits = results[0].arm, [edit for result in results for edit in result.edits]
    own, is_base = means[arm], arm == "base"
    bases = [{e.context: e.baseline for e in r.edits if e.baseline is not None} for r in results]
    adapters = [[fmean(of) for of in found.values()] for found in own.values() if found]
    kept = [result.kept for result in results if result.kept is not None]
    compared = REFERENCE in means and arm not in ("base", REFERENCE)
    return ArmFigures(
        arm=arm,
        base=estimate([fmean(of.values()) for of in bases if of]),
        adapter=None if is_base else estimate([fmean(values) for values in adapters]),
        gain=None if is_base else _differences(own, means.get("base", {})),
        above_reference=_differences(own, means[REFERENCE]) if compared else None,
        sd_edits=_mean_deviation(of for found in own.values() for of in found.values()),
        sd_repeats=_mean_deviation([a for a in e.accuracies if a is not None] for e in edits),
        n_contexts=len({edit.context for edit in results[0].edits}),
        n_edits=sum(edit.error is None for edit in edits),
        n_failed=sum(bool(edit.failure) for edit in edits),
        n_errors=sum(edit.error is not None for edit in edits),
        n_unscored=sum(edit.n_unscored for edit in edits),
        first_failure=next((edit.failure for edit in edits if edit.failure), None),
        kept=sum(kept) if kept else None,
    )


def _mean_deviation(groups: Iterable[Sequence[float]]) -> float | None:
    return mean_of(stdev(values) for values in groups if len(values) > 1)


def write_report(directory: Path, report: AdaptationReport, results: Sequence[Model]) -> Path:
    """Write `results.json`, with all results, and `report.md`; return the path of the latter."""
    content = {
        **report.model_dump(mode="json"),
        "results": [result.model_dump(mode="json") for result in results],
    }
    write_json(directory / "results.json", content)
    write_text(directory / "report.md", markdown(report.document()))
    return directory / "report.md"
