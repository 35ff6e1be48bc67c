"""The results of an evaluation as tables for a terminal.

Also `dataenvgym compare` of evaluations.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import PerformanceReport, SkillReport
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.usage import Costs, add_costs
from dataenvgym.runs.episodes.tables import table_of, uncut
from dataenvgym.runs.episodes.texts import (
    by_fault,
    change,
    difference,
    interval,
    one_line,
    score,
    several,
)
from dataenvgym.runs.evaluation.comparison import EvaluationComparison, compare_evaluations
from dataenvgym.runs.evaluation.summary import EvaluationSummary
from dataenvgym.storage import write_json
from dataenvgym.tasks.metrics.metric import JudgeResult, MetricResult
from dataenvgym.tasks.metrics.usage import StudentUsage


def score_tables(report: PerformanceReport, console: Console) -> list[Table]:
    """Tables of the scores by skill and in all, with a column for each named score.

    If the console is too narrow for these columns, a second table has the named scores in all.
    """
    table = skill_table(report)
    wide = console.options.update(width=10_000)
    fits = Measurement.get(console, wide, table).maximum <= console.width
    if fits or not report.scores:
        return [table]
    rows = ((Text(one_line(name, 60)), score(value)) for name, value in report.scores.items())
    named = table_of(("named score (by skill: results.json)",), ("all",), rows)
    return [skill_table(report, ()), named]


def skill_table(report: PerformanceReport, names: Sequence[str] | None = None) -> Table:
    """A table of the scores by skill and in all, with columns for these (or all) named scores."""
    names = [*report.scores] if names is None else names
    named = [escape(one_line(name, 40)) for name in names]
    table = table_of(("category", "skill"), ("score", "accuracy", *named, "n", "errors"))
    parts: list[SkillReport | PerformanceReport] = [s for s in report.skills if s.skill]
    for part in (*parts, report):
        heads = ("all", "") if isinstance(part, PerformanceReport) else (part.category, part.skill)
        table.add_row(
            *(Text(one_line(head or "", 40)) for head in heads),
            score(part.score),
            score(part.accuracy),
            *(score(part.scores.get(name)) for name in names),
            str(part.n),
            by_fault(part.n_errors, part.faults) if part.n_errors else "",
            style="bold" if part is report else None,
        )
    return table


def metric_table(results: Sequence[MetricResult]) -> Table:
    """One row for each metric; columns that would be empty are left out."""
    has_sd = any(r.sd is not None for r in results)
    has_gaps = any(r.left_out for r in results)
    columns = ["value", "95%", *["sd"] * has_sd, "instances", *["left out"] * has_gaps]
    rows: list[list[str | Text]] = [
        [
            Text(r.name),
            score(r.value, 4),
            "" if r.half_width is None else f"± {r.half_width:.4f}",
            *["" if r.sd is None else f"{r.sd:.4f}"] * has_sd,
            str(r.n),
            *[str(r.left_out or "")] * has_gaps,
        ]
        for r in results
    ]
    return uncut(table_of(("metric",), columns, rows))


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
    """A table of the same metrics before and after."""
    rows = (
        (Text(new.name), score(old.value, 4), score(new.value, 4),
         change(difference(new.value, old.value), 4))
        for old, new in zip(before, after, strict=True)
    )  # fmt: skip
    return uncut(table_of(("metric",), ("before", "after", "change"), rows))


def summary_table(rows: Sequence[EvaluationSummary]) -> Table:
    """One row for each evaluation, and the mean if each has a task of its own."""
    named = dict.fromkeys(name for row in rows for name in row.metrics)
    first: tuple[str, ...] = ("accuracy", "pass@k", "majority@k")
    order = [name for name in first if name in named]
    order += [name for name in named if name not in (*order, "no answer", "errors")]
    order += ["no answer", "errors"]
    students = len({row.student for row in rows}) > 1
    heads = ("task", "split", *["student"] * students)
    more = [one_line(name, 30) for name in order[1:]]
    table = table_of(heads, ("n", "samples", "score", "accuracy", "95%", *more,
                             "tokens", "seconds"))  # fmt: skip
    for row in rows:
        found = [row.metrics.get(name) for name in order]
        half = found[0].half_width if found[0] is not None else None
        accuracy, *others = ("" if one is None else score(one.value) for one in found)
        tokens = None if row.usage is None else row.usage.tokens_each
        table.add_row(
            *(
                Text(one_line(head, 30))
                for head in (row.task, row.split, row.student)[: len(heads)]
            ),
            str(row.problems),
            str(row.samples),
            score(row.score),
            accuracy,
            "" if half is None else f"± {half:.3f}",
            *others,
            "-" if tokens is None else f"{tokens:.0f}",
            "-" if row.usage is None else f"{row.usage.seconds:.1f}",
        )
    if len(rows) > 1 and len({(row.task, row.split) for row in rows}) == len(rows):
        found_of = [[row.metrics.get(name) for row in rows] for name in order]
        means = [_mean([None if one is None else one.value for one in of]) for of in found_of]
        in_all = _mean([row.score for row in rows])
        usages = [row.usage for row in rows if row.usage is not None]
        seconds = f"{sum(usage.seconds for usage in usages):.1f}" if usages else "-"
        table.add_row("mean", *[""] * len(heads[1:]), "", "", score(in_all), score(means[0]), "",
                      *("" if value is None else score(value) for value in means[1:]),
                      "", seconds, style="bold")  # fmt: skip
    return uncut(table)


def _mean(found: Sequence[float | None]) -> float | None:
    """The mean over all evaluations; None unless each has a value."""
    values = [each for each in found if each is not None]
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


def costs_table(
    rows: Sequence[tuple[tuple[str, ...], Costs]], names: Sequence[str]
) -> Table | None:
    """A row for each speaker of each evaluation, and one for all of them.

    Args:
        rows: each evaluation's cells in the columns `names`, and its costs.

    Returns:
        None if the student is the only speaker, and its price is unknown (see `usage_line`).
    """
    table = table_of((*names, "speaker"), ("tokens read", "written", "US cents", "seconds"))
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
            cells = (Text(one_line(head, 30)) for head in (*heads, who))
            table.add_row(*cells, *numbers, style="bold" if usage is whole else None)
    return uncut(table) if table.row_count else None


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


def show_comparisons(
    arguments: Namespace, folders: Sequence[Path | None], console: Terminal, output: Path | None
) -> None:
    """Compare the first folder with each other one; write all numbers and flips to `output`."""
    found = [folder for folder in folders if folder is not None]
    if len(found) < max(2, len(folders)):
        pairs = zip(arguments.runs, folders, strict=True)
        others = [name for name, folder in pairs if folder is None]
        raise ConfigurationError(
            f"{found[0]} is an evaluation, and compare takes two evaluations or more, or runs "
            f"alone, got {others or 'no other one'}"
        )
    given = [n for n in ("baseline", "test", "allow_unequal") if getattr(arguments, n)]
    if given:
        raise ConfigurationError(
            f"--{given[0].replace('_', '-')} is for runs, and these are evaluations: leave it out"
        )
    with console.working():
        compared = [
            each
            for other in found[1:]
            for each in compare_evaluations(found[0], other, cluster=arguments.cluster)
        ]
    for each in compared:
        _show(each, console)
    if output is not None:
        write_json(output / "comparison.json", [each.model_dump(mode="json") for each in compared])
        console.files(output, {"comparison.json": "all numbers and flipped problems"})


def _show(compared: EvaluationComparison, console: Terminal) -> None:
    title = f"{compared.task}, {compared.split}: {several(compared.n, 'problem')}"
    if compared.n_clusters < compared.n:
        title += f" in {several(compared.n_clusters, 'cluster')}"
    console.say(title, "italic")
    console.say(f"  before: {compared.before}\n  after:  {compared.after}")
    if compared.n_unpaired:
        unpaired = several(compared.n_unpaired, "problem")
        console.say(f"  {unpaired} without a pair: only one of them has it, or a scored try at it")
    table = table_of(("score",), ("before", "after", "difference", "95%"))
    for each in compared.scores:
        found = each.difference
        varies = found.low != found.high  # problems without any difference say nothing of chance
        table.add_row(
            Text(one_line(each.name, 40)),
            score(each.before),
            score(each.after),
            change(round(found.mean or 0.0, 9) + 0.0),  # no -0.000
            interval(found if varies else None),
        )
    console.print(uncut(table), crop=False)
    for what, is_gain in (("wrong -> right", True), ("right -> wrong", False)):
        flips = [flip for flip in compared.flips if (flip.after > flip.before) == is_gain]
        console.say(f"{what}: {several(len(flips), 'problem')}")
        for flip in flips[:SHOWN]:
            skill = "" if flip.skill is None else f" ({flip.skill})"
            console.say(f"  {flip.instance_id}{skill}: {one_line(flip.instruction, 60)}")
        if len(flips) > SHOWN:
            console.say(f"  ... and {len(flips) - SHOWN} more (--output DIR writes them all)")
    console.say()
