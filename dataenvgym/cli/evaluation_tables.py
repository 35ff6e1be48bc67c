"""The results of evaluations as tables, and `dataenvgym compare` of evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import PerformanceReport, SkillReport
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.usage import Costs, add_costs
from dataenvgym.runs.documents import Document, File, Line, Row, Table, table
from dataenvgym.runs.evaluation.comparison import EvaluationComparison, compare_evaluations
from dataenvgym.runs.evaluation.summary import EvaluationSummary
from dataenvgym.runs.texts import (
    by_fault,
    change,
    difference,
    interval,
    one_line,
    score,
    several,
)
from dataenvgym.storage import write_json
from dataenvgym.tasks.metrics.metric import JudgeResult, MetricResult
from dataenvgym.tasks.metrics.usage import StudentUsage


def skill_table(report: PerformanceReport, names: Sequence[str] | None = None) -> Table:
    """The scores by skill and in all, with columns for these (or all) named scores."""
    parts: list[SkillReport | PerformanceReport] = [s for s in report.skills if s.skill]
    rows: list[Row] = []
    for part in (*parts, report):
        heads = ("all", "") if isinstance(part, PerformanceReport) else (part.category, part.skill)
        rows.append(
            {
                "category": one_line(heads[0] or "", 40),
                "skill": one_line(heads[1] or "", 40),
                "score": part.score,
                "accuracy": part.accuracy,
                **{
                    ("named", name): part.scores.get(name)
                    for name in (report.scores if names is None else names)
                },
                "n": part.n,
                "errors": by_fault(part.n_errors, part.faults) if part.n_errors else None,
            }
        )
    return table(rows, texts=2, total=True)


def metric_table(results: Sequence[MetricResult]) -> Table:
    """One row for each metric."""
    return table(
        {
            "metric": r.name,
            "value": score(r.value, 4),
            "95%": None if r.half_width is None else f"± {r.half_width:.4f}",
            "sd": None if r.sd is None else f"{r.sd:.4f}",
            "instances": r.n,
            "left out": r.left_out or None,
        }
        for r in results
    )


def judge_lines(results: Sequence[MetricResult]) -> list[str]:
    """Notes on the judges: samples without a score, and the agreement."""
    lines = []
    for r in results:
        if not isinstance(r, JudgeResult):
            continue
        if r.n_unscored or any(r.failed.values()):
            failed = ", ".join(f"{name} {n}" for name, n in r.failed.items() if n)
            all_samples = several(r.n_scored + r.n_unscored, "sample")
            why = f"no verdict by: {failed}" if failed else "the judges have no majority"
            lines.append(f"{r.name}: {r.n_unscored} of {all_samples} without a score ({why})")
        if len(r.means) > 1:
            means = ", ".join(f"{name} {mean:.2f}" for name, mean in r.means.items())
            alpha = "not defined" if r.agreement is None else f"{r.agreement:.3f}"
            lines.append(f"{r.name}: agreement (Krippendorff's alpha) {alpha}; means: {means}")
    return lines


def change_table(before: Sequence[MetricResult], after: Sequence[MetricResult]) -> Table:
    """The same metrics before and after."""
    rows = [
        (new.name, score(old.value, 4), score(new.value, 4),
         change(difference(new.value, old.value), 4))
        for old, new in zip(before, after, strict=True)
    ]  # fmt: skip
    return Table(("metric", "before", "after", "change"), rows)


def summary_table(rows: Sequence[EvaluationSummary]) -> Table:
    """One row for each evaluation, and the mean if each has a task of its own."""
    named = dict.fromkeys(name for row in rows for name in row.metrics)
    last: tuple[str, ...] = ("no answer", "errors")
    first: tuple[str, ...] = ("pass@k", "majority@k")
    order = [name for name in first if name in named]
    order += [name for name in named if name not in ("accuracy", *first, *last)]
    heads = ("task", "split", *["student"] * (len({row.student for row in rows}) > 1))
    cells: list[Row] = []
    for row in rows:
        values = {name: row.metrics[name].value if name in row.metrics else None for name in named}
        accuracy = row.metrics.get("accuracy")
        half = None if accuracy is None else accuracy.half_width
        tokens = None if row.usage is None else row.usage.tokens_each
        cells.append(
            {
                **{head: one_line(getattr(row, head), 30) for head in heads},
                "n": row.problems,
                "samples": row.samples,
                "score": row.score,
                "accuracy": values.get("accuracy"),
                "95%": None if half is None else f"± {half:.3f}",
                **{("named", name): values.get(name) for name in (*order, *last)},
                "tokens": None if tokens is None else f"{tokens:.0f}",
                "seconds": None if row.usage is None else f"{row.usage.seconds:.1f}",
            }
        )
    if has_mean := len(rows) > 1 and len({(row.task, row.split) for row in rows}) == len(rows):
        seconds = [row.usage.seconds for row in rows if row.usage is not None]
        cells.append(
            {name: _mean([one[name] for one in cells]) for name in cells[0]}
            | dict.fromkeys((*heads, "n", "samples"), "")
            | {"task": "mean", "seconds": f"{sum(seconds):.1f}" if seconds else None}
        )
    return table(cells, texts=len(heads), total=has_mean)


def _mean(found: Sequence[object]) -> float | None:
    """The mean over all evaluations; None unless each has a value."""
    values = [each for each in found if isinstance(each, float)]
    return sum(values) / len(values) if values and len(values) == len(found) else None


def usage_line(usage: StudentUsage) -> str:
    """The tokens and seconds of an evaluation in words."""
    line = f"replies: {usage.replies} in {usage.seconds:.1f} s"
    if not usage.counted:
        return f"{line}; the predictor counts no tokens"
    return (
        f"{line}, {usage.prompt_tokens} tokens read, {usage.completion_tokens} written "
        f"({usage.tokens_each:.0f} a reply)"
    )


def costs_table(rows: Sequence[tuple[tuple[str, ...], Costs]], names: Sequence[str]) -> list[Table]:
    """A row for each speaker of each evaluation, and one for all of them.

    Args:
        rows: each evaluation's cells in the columns `names`, and its costs.

    Returns:
        No table if the student is the only speaker, and its price is unknown (see `usage_line`).
    """
    cells = []
    for heads, costs in rows:
        student = costs.get(STUDENT)
        if not costs.keys() - {STUDENT} and (student is None or student.cost is None):
            continue
        (whole,) = add_costs({"": usage} for usage in costs.values()).values()
        for who, usage in [*costs.items(), ("all", whole)]:
            cents = None if usage.cost is None else 100 * usage.cost
            known = (usage.prompt_tokens, usage.completion_tokens, cents, usage.seconds)
            numbers = (
                "unknown" if n is None else str(n) if isinstance(n, int) else f"{n:.6g}"
                for n in known
            )
            cells.append([*(one_line(head, 30) for head in (*heads, who)), *numbers])
    columns = (*names, "speaker", "tokens read", "written", "US cents", "seconds")
    return [Table(columns, cells, texts=len(names) + 1)] if cells else []


SHOWN = 10
"""Flipped problems that are shown in each direction."""


def folder_of_evaluations(name: str, runs_dir: str) -> Path | None:
    """The folder of this path, or of this name in `evaluations/`, if evaluations are in it.

    The name of a run is the run's.
    """
    is_run = (Path(runs_dir).expanduser() / name).is_dir()
    for folder in (Path(name).expanduser(), *[Path("evaluations") / name] * (not is_run)):
        if next(folder.rglob("instances.jsonl"), None) is not None:
            return folder
    return None


def comparisons(
    names: Sequence[str],
    folders: Sequence[Path | None],
    output: Path | None,
    *,
    cluster: str | None,
) -> Document:
    """Compare the first folder with each other one; write all numbers and flips to `output`."""
    found = [folder for folder in folders if folder is not None]
    if len(found) < max(2, len(folders)):
        pairs = zip(names, folders, strict=True)
        others = [name for name, folder in pairs if folder is None]
        raise ConfigurationError(
            f"{found[0]} is an evaluation, and compare takes two evaluations or more, or runs "
            f"alone, got {others or 'no other one'}"
        )
    with Terminal().working():
        compared = [
            each
            for other in found[1:]
            for each in compare_evaluations(found[0], other, cluster=cluster)
        ]
    for each in compared:
        yield from comparison_document(each)
    if output is not None:
        write_json(output / "comparison.json", [each.model_dump(mode="json") for each in compared])
        yield File(output / "comparison.json", "all numbers and flipped problems")


def comparison_document(compared: EvaluationComparison) -> Document:
    """Two evaluations of the same problems: their scores, and the problems that flipped."""
    title = f"{compared.task}, {compared.split}: {several(compared.n, 'problem')}"
    if compared.n_clusters < compared.n:
        title += f" in {several(compared.n_clusters, 'cluster')}"
    yield Line(title, "title")
    yield f"before: {compared.before}"
    yield f"after: {compared.after}"
    if compared.n_unpaired:
        unpaired = several(compared.n_unpaired, "problem")
        yield f"{unpaired} without a pair: only one of them has it, or a scored try at it"
    rows = []
    for each in compared.scores:
        found = each.difference
        varies = found.low != found.high  # problems without any difference say nothing of chance
        rows.append(
            (
                one_line(each.name, 40),
                score(each.before),
                score(each.after),
                change(round(found.mean or 0.0, 9) + 0.0),  # no -0.000
                interval(found if varies else None),
            )
        )
    yield Table(("score", "before", "after", "difference", "95%"), rows)
    for what, is_gain in (("wrong -> right", True), ("right -> wrong", False)):
        flips = [flip for flip in compared.flips if (flip.after > flip.before) == is_gain]
        yield f"{what}: {several(len(flips), 'problem')}"
        for flip in flips[:SHOWN]:
            skill = "" if flip.skill is None else f" ({flip.skill})"
            yield f"  {flip.instance_id}{skill}: {one_line(flip.instruction, 60)}"
        if len(flips) > SHOWN:
            yield f"  ... and {len(flips) - SHOWN} more (--output DIR writes them all)"
    yield ""
