"""The figures of arms or sequences over seeds, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from dataenvgym.adaptation.arms import ArmResult
from dataenvgym.adaptation.continual import SequenceResult
from dataenvgym.adaptation.trials import mean_of
from dataenvgym.records import Model
from dataenvgym.runs.documents import Document, Line, Table, markdown
from dataenvgym.runs.texts import change, interval, one_line, score, several
from dataenvgym.storage import write_json, write_text
from dataenvgym.tasks.metrics.estimators import Estimate, estimate

REFERENCE = "self_edits"
"""The arm with which the others are compared."""


class ArmFigures(Model):
    """An arm over all seeds. Estimates are over seeds; each seed is a mean over contexts.

    Attributes:
        base: the accuracy of the student that is trained, before it is.
        adapter: the mean accuracy of its adapters; of the arm "base", None.
        gain: how far `adapter` is above the student that the run began with.
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
    sd_edits: float | None
    sd_repeats: float | None
    n_contexts: int
    n_edits: int
    n_failed: int
    n_errors: int
    n_unscored: int
    first_failure: str | None = None
    kept: int | None = None


class Difference(Model):
    """How far the adapters of an arm are above those of `REFERENCE`, paired by seed."""

    arm: str
    estimate: Estimate


class AdaptationReport(Model):
    """All figures of a run of arms."""

    task: str
    seeds: tuple[int, ...]
    arms: tuple[ArmFigures, ...]
    differences: tuple[Difference, ...]

    @classmethod
    def of(cls, task: str, results: Sequence[ArmResult]) -> AdaptationReport:
        """The figures of the results, with the arms in their order."""
        arms: defaultdict[str, dict[int, ArmResult]] = defaultdict(dict)
        for result in results:
            arms[result.arm][result.seed] = result
        bases = {seed: _by_context(result) for seed, result in arms["base"].items()}
        means = {arm: {s: _by_context(r) for s, r in of.items()} for arm, of in arms.items()}
        return cls(
            task=task,
            seeds=tuple(sorted({result.seed for result in results})),
            arms=tuple(
                _figures(list(of.values()), _differences(means[arm], bases))
                for arm, of in arms.items()
            ),
            differences=tuple(
                Difference(arm=arm, estimate=estimate(_differences(by_seed, means[REFERENCE])))
                for arm, by_seed in means.items()
                if REFERENCE in means and arm not in ("base", REFERENCE)
            ),
        )

    def document(self) -> Document:
        """The tables, and what failed."""
        yield Line(f"adaptation: {self.task}", "title")
        rows = []
        for one in self.arms:
            adapter, gain = (None if x is None else x.mean for x in (one.adapter, one.gain))
            deviations = map(score, (one.sd_edits, one.sd_repeats))
            cells = score(one.base.mean), score(adapter), change(gain), interval(one.gain)
            rows.append([one.arm, *cells, *deviations])
        yield Table(("arm", "base", "adapter", "gain", "95%", "edits ±", "repeats ±"), rows)
        if self.differences:
            names = (f"adapter, above {REFERENCE}", "difference", "95%")
            yield Table(names, [(d.arm, change(d.estimate.mean), interval(d.estimate))
                                for d in self.differences])  # fmt: skip
        n = max((one.n_contexts for one in self.arms), default=0)
        seeds = several(len(self.seeds), "seed")
        yield Line(f"Accuracy without the context: {several(n, 'context')}, {seeds}.", "note")
        for one in self.arms:
            facts = [
                f"{one.n_failed} of {several(one.n_edits, 'edit')} failed and count without gain "
                f"(the first: {one_line(one.first_failure)})"
                if one.first_failure
                else "",
                f"{several(one.n_errors, 'call')} for an edit failed" if one.n_errors else "",
                f"{several(one.n_unscored, 'answer')} could not be scored"
                if one.n_unscored
                else "",
                f"the writer learned {several(one.kept, 'edit')}" if one.kept is not None else "",
            ]
            if any(facts):
                yield Line(f"{one.arm}: {'; '.join(filter(None, facts))}.", "note")


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
            arms=tuple(_sequence_figures(arm, of) for arm, of in arms.items()),
        )

    def document(self) -> Document:
        """The tables, and what failed."""
        yield Line(f"adaptation: {self.task}", "title")
        names = ("arm", "base", "learned", "final", "gain", "forgetting", "forgetting 95%")
        rows = []
        for one in self.arms:
            accuracies = [score(each.mean) for each in (one.base, one.learned, one.final)]
            lost = score(one.forgetting.mean), interval(one.forgetting)
            rows.append([one.arm, *accuracies, change(one.gain.mean), *lost])
        yield Table(names, rows)
        for one in self.arms:
            n = len(one.matrix) - 1
            rows = [
                [f"after {k}" if k else "base", *map(_deviating, row), *[""] * (n - len(row))]
                for k, row in enumerate(one.matrix)
            ]
            yield Table((one.arm, *(f"context {k}" for k in range(1, n + 1))), rows)
        sequences = several(len(self.seeds), "sequence")
        yield Line(f"Accuracy without the context, mean over {sequences}.", "note")
        for one in self.arms:
            if one.n_failed:
                yield Line(
                    f"{one.arm}: nothing was learned from {several(one.n_failed, 'context')} (the "
                    f"first: {one.first_failure}).",
                    "note",
                )
            if one.n_unscored:
                text = f"{one.arm}: {several(one.n_unscored, 'answer')} could not be scored."
                yield Line(text, "note")


def _deviating(found: Estimate) -> str:
    return score(found.mean, 2) + ("" if found.sd is None else f" ±{found.sd:.2f}")


def _sequence_figures(arm: str, results: Sequence[SequenceResult]) -> SequenceFigures:
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
        base=over(lambda m: mean_of(m[0])),
        learned=over(lambda m: mean_of([row[-1] for row in m[1:]])),
        final=over(lambda m: mean_of(m[-1])),
        gain=over(_gain),
        forgetting=over(_forgetting),
        n_unscored=sum(row.n_unscored for result in results for row in result.rows),
        n_failed=len(failures),
        first_failure=failures[0] if failures else None,
    )


def _gain(matrix: Sequence[Sequence[float | None]]) -> float | None:
    pairs = zip(matrix[0], matrix[-1], strict=True)
    return mean_of([b - a for a, b in pairs if a is not None and b is not None])


def _forgetting(matrix: Sequence[Sequence[float | None]]) -> float | None:
    last = matrix[-1]
    lost: list[float] = []
    for column, now in enumerate(last[:-1]):
        since = [x for row in matrix[column + 1 : -1] if (x := row[column]) is not None]
        if since and now is not None:
            lost.append(max(since) - now)
    return mean_of(lost)


AnyReport = AdaptationReport | ContinualReport


def report_of(task: str, results: Sequence[ArmResult | SequenceResult]) -> AnyReport:
    """The report of arms, or of sequences."""
    sequences = [result for result in results if isinstance(result, SequenceResult)]
    if sequences:
        return ContinualReport.of(task, sequences)
    return AdaptationReport.of(task, [one for one in results if isinstance(one, ArmResult)])


def _by_context(result: ArmResult) -> dict[str, float]:
    """The mean accuracy of the edits of each context, if one could be scored."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for edit in result.edits:
        if edit.mean is not None:
            found[edit.context].append(edit.mean)
    return {context: fmean(values) for context, values in found.items()}


def _differences(
    these: Mapping[int, Mapping[str, float]], those: Mapping[int, Mapping[str, float]]
) -> list[float]:
    """For each seed of both, the mean difference over the contexts of both."""
    pairs = [
        [own - those[seed][context] for context, own in found.items() if context in those[seed]]
        for seed, found in these.items()
        if seed in those
    ]
    return [fmean(differences) for differences in pairs if differences]


def _figures(results: Sequence[ArmResult], gains: Sequence[float]) -> ArmFigures:
    is_base = results[0].arm == "base"
    edits = [edit for result in results for edit in result.edits]
    of_context: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
    bases: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for result in results:
        for edit in result.edits:
            if edit.mean is not None:
                of_context[result.seed, edit.context].append(edit.mean)
            if edit.baseline is not None:
                bases[result.seed][edit.context] = edit.baseline
    of_edit = [[a for a in edit.accuracies if a is not None] for edit in edits]
    adapters = [list(_by_context(result).values()) for result in results]
    kept = [result.kept for result in results if result.kept is not None]
    return ArmFigures(
        arm=results[0].arm,
        base=estimate([fmean(by_context.values()) for by_context in bases.values()]),
        adapter=None if is_base else estimate([fmean(values) for values in adapters if values]),
        gain=None if is_base else estimate(gains),
        sd_edits=_mean_deviation(of_context.values()),
        sd_repeats=_mean_deviation(of_edit),
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


def write_report(directory: Path, report: AnyReport, results: Sequence[Model]) -> Path:
    """Write `results.json`, with all results, and `report.md`; return the path of the latter."""
    content = {
        **report.model_dump(mode="json"),
        "results": [result.model_dump(mode="json") for result in results],
    }
    write_json(directory / "results.json", content)
    write_text(directory / "report.md", markdown(report.document()))
    return directory / "report.md"
