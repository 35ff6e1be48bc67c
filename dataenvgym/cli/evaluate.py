"""`dataenvgym eval`, `rescore`, `summary` and `generate`: ask a student, without training."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from dataenvgym.cli.console import open_console, showing_warnings
from dataenvgym.cli.dry import lacking, show_facts, show_prompt
from dataenvgym.cli.evaluation_tables import (
    change_table,
    costs_table,
    judge_lines,
    metric_table,
    score_tables,
    skill_table,
    summary_table,
    usage_line,
)
from dataenvgym.environments.iterations import write_completed
from dataenvgym.errors import DataEnvGymError, EvaluationError, RunDirectoryError, noting_needs
from dataenvgym.runs.config import build_judge
from dataenvgym.runs.config.suites import evaluations_of
from dataenvgym.runs.episodes.display import showing_progress
from dataenvgym.runs.episodes.tables import table_of
from dataenvgym.runs.episodes.texts import counts, one_line, plain, score, several
from dataenvgym.runs.evaluation import Evaluation, rescore_evaluation, run_evaluation
from dataenvgym.runs.evaluation.evaluated_run import ALL
from dataenvgym.runs.evaluation.floor import floors_of
from dataenvgym.runs.evaluation.generation import generate
from dataenvgym.runs.evaluation.running import EvaluationOptions, Prepared
from dataenvgym.runs.evaluation.suite import prepare_suite, run_suite
from dataenvgym.runs.evaluation.summary import EvaluationSummary, evaluations_in, summarize
from dataenvgym.storage import write_json
from dataenvgym.tasks.adapted_task import attemptable, task_of
from dataenvgym.tasks.first_prompts import first_prompts
from dataenvgym.tasks.metrics.rescoring import REPLAYED, RescoringResult
from dataenvgym.tasks.metrics.sampling import instances_of


def evaluate(arguments: Namespace) -> None:
    """Evaluate the student on the problems, with several samples; show its scores and metrics."""
    console = open_console()
    if arguments.dry:
        with showing_warnings(console), noting_needs() as needs:
            _show_plan(arguments, console, needs)
        return
    if arguments.floor:
        with showing_warnings(console):
            each = prepare_suite(arguments.overrides, **_options(arguments))
        for prepared in each:
            task = attemptable(prepared.task)
            title = f"{task.name}, {prepared.settings.split} split: the same reply to every problem"
            console.print(Text(plain(title), style="italic"))
            rows = (
                (Text(one_line(reply, 60) or "(empty)"), score(of.score), score(of.accuracy))
                for reply, of in floors_of(task, instances_of(task, 1, arguments.limit) or ())
            )
            console.print(table_of(("reply",), ("score", "accuracy"), rows))
        return
    (overrides, *others) = evaluations_of(arguments.overrides, arguments.config_dir)
    if others:
        _evaluate_suite(arguments, console)
        return
    with showing_warnings(console), showing_progress(console, "the student answers"):
        evaluation = run_evaluation(
            overrides,
            retry_errors=arguments.retry_errors,
            on_begin=lambda folder: console.print(f"evaluation: {folder}", soft_wrap=True),
            **_options(arguments),
        )
    if arguments.output is not None:
        write_completed(Path(arguments.output).expanduser(), evaluation.completed())
    _show(evaluation, console)
    if arguments.output is not None:
        console.print(f"transcripts: {arguments.output}", soft_wrap=True)
    if evaluation.was_finished:
        extend = "more samples extend it (samples=...), " if evaluation.can_be_extended else ""
        said = f"This evaluation was finished already: {extend}--fresh starts over."
        console.print(said, soft_wrap=True)
    if evaluation.doubt is not None:
        console.print(evaluation.doubt, soft_wrap=True)


def _options(arguments: Namespace) -> EvaluationOptions:
    names = EvaluationOptions.__annotations__
    return cast(EvaluationOptions, {name: getattr(arguments, name) for name in names})


def _evaluate_suite(arguments: Namespace, console: Console) -> None:
    """Evaluate the student on each task; show one table.

    Raises:
        EvaluationError: if a part has no score; the table is shown first, and the error names it.
    """
    with showing_warnings(console), showing_progress(console, "the student answers"):
        found = run_suite(
            arguments.overrides,
            retry_errors=arguments.retry_errors,
            on_begin=lambda folder: console.print(f"evaluation: {folder}", soft_wrap=True),
            **_options(arguments),
        )
        parts = list(found)
    if arguments.output is not None:
        completed = [c for p in parts if p.evaluation for c in p.evaluation.completed()]
        write_completed(Path(arguments.output).expanduser(), completed)
        console.print(f"transcripts: {arguments.output}", soft_wrap=True)
    show_summary([part.directory for part in parts], console)
    if all(part.evaluation is not None and part.evaluation.was_finished for part in parts):
        said = "These evaluations were finished already: --fresh starts over."
        console.print(said, soft_wrap=True)
    if failed := [part for part in parts if part.error is not None]:
        lines = "\n".join(f"  {part.task} ({part.directory}): {part.error}" for part in failed)
        raise EvaluationError(
            f"{len(failed)} of {len(parts)} evaluations have no score:\n{lines}\nThe same command "
            "tries them again; the others are kept."
        )


def generate_rows(arguments: Namespace) -> None:
    """Generate a reply to each row of a file; show where they are, and what they took."""
    console = open_console()
    begun = time.monotonic()
    with showing_warnings(console), showing_progress(console, "the model answers"):
        made = generate(arguments.overrides, config_dir=arguments.config_dir, fresh=arguments.fresh)
    seconds = "" if made.was_finished else f" in {time.monotonic() - begun:.1f} s"
    console.print(
        f"{several(made.n_rows, 'row')}, replies: {made.replies}{seconds}, {made.prompt_tokens} "
        f"tokens read, {made.completion_tokens} written",
        soft_wrap=True,
    )
    if made.refusals:
        said = f"{several(len(made.refusals), 'row')} refused, the first one: {made.refusals[0]}"
        console.print(plain(said), soft_wrap=True)
    for path in made.files:
        console.print(str(path), soft_wrap=True)
    if not made.files:
        console.print(
            f"{made.directory}: other chunks are missing; the command of the last one joins them",
            soft_wrap=True,
        )
    if made.was_finished:
        console.print("This was finished already: --fresh starts over.")


def summary(arguments: Namespace) -> None:
    """Show one table of all evaluations in the folders."""
    folders = [Path(name).expanduser() for name in arguments.folders or ["evaluations"]]
    directories = [directory for folder in folders for directory in evaluations_in(folder)]
    rows = show_summary(list(dict.fromkeys(directories)), open_console())
    if arguments.output is not None:
        path = Path(arguments.output).expanduser()
        write_json(path, [row.model_dump(mode="json") for row in rows])


def show_summary(directories: Sequence[Path], console: Console) -> list[EvaluationSummary]:
    """Show one table of the evaluations in these folders, and name those without results.

    Returns:
        The rows.

    Raises:
        RunDirectoryError: after the table, if files of some are damaged.
    """
    found: dict[Path, EvaluationSummary | None] = {}
    damaged = []
    for directory in directories:
        try:
            found[directory] = summarize(directory)
        except RunDirectoryError as error:
            damaged.append(str(error))
    rows = [row for row in found.values() if row is not None]
    if rows:
        console.print(summary_table(rows), crop=False)
        console.print()
    priced = [((row.task, row.split, row.student), row.costs) for row in rows if row.costs]
    if table := costs_table(priced, ("task", "split", "student")):
        console.print(table, crop=False)
        console.print()
    for directory, row in found.items():
        if row is None:
            console.print(plain(f"not finished: {directory}"), soft_wrap=True)
    for row in rows:
        console.print(plain(f"{row.task}, {row.split}: {row.directory}"), soft_wrap=True)
    if damaged:
        left = f"{len(damaged)} of {len(directories)} evaluations are not shown: " if rows else ""
        raise RunDirectoryError(left + "; ".join(damaged))
    return rows


def _show_plan(arguments: Namespace, console: Console, needs: Sequence[DataEnvGymError]) -> None:
    """Show what would be evaluated, and the first prompts; see `cli.dry.show_plan`."""
    try:
        each = prepare_suite(arguments.overrides, **_options(arguments))
        plans = [_plan_of(prepared, arguments) for prepared in each]
    except DataEnvGymError as error:
        if str(error) not in map(str, needs):
            raise
        show_facts(console, [("would need", str(need)) for need in needs])
        console.print("\nNothing was asked, and the plan is not known without the above.")
        return
    for prepared, facts in zip(each, plans, strict=True):
        show_facts(console, [*facts, *lacking(prepared.config, needs, ("predictor",))])
        for first in first_prompts(prepared.task)[:1]:
            show_prompt(console, "The student's first prompt", first)
        console.print()
    console.print("Nothing was asked. Without --dry, this starts.")


def _plan_of(prepared: Prepared, arguments: Namespace) -> list[tuple[str, str]]:
    settings = prepared.settings
    instances = instances_of(prepared.task, int(settings.samples), arguments.limit)
    predictor = prepared.student.build(prepared.config)
    if "judge" in settings:
        build_judge(settings.judge, prepared.directory).close()
    problems = "" if instances is None else f", {several(len(instances), 'problem')}"
    name = prepared.config.student.get("path") or "your own"
    student = f"{name}, by {type(predictor).__name__}"
    if prepared.student.is_taught:
        student = f"{prepared.student.name}: {student}"
    return [
        ("evaluation", str(prepared.directory)),
        ("task", f"{task_of(prepared.task).name}, {settings.split} split{problems}"),
        ("student", student),
        ("samples", str(settings.samples)),
    ]


def _show(evaluation: Evaluation, console: Console) -> None:
    report = evaluation.report
    which = "all problems" if evaluation.split == ALL else f"{evaluation.split} split"
    title = f"{report.task}, {which}: {evaluation.student}"
    if evaluation.samples > 1:
        temperature = f"temperature {evaluation.temperature}"
        title += f", {evaluation.samples} samples of each problem at {temperature}"
    console.print(Text(title, style="italic"), soft_wrap=True)
    if (problems := evaluation.problems) is not None:
        if evaluation.split != ALL and getattr(evaluation.task, "has_one_source", False):
            problems += f"; --split {ALL} takes all"
        console.print(Text(problems), soft_wrap=True)
    added = evaluation.added
    tables = score_tables(report, console) if added is None else [skill_table(report, ())]
    for table in tables:
        console.print(table)
        console.print()
    if report.no_answer_rate:
        rate, read = report.no_answer_rate, score(report.answered_score)
        console.print(f"no answer in {rate:.3f} of the replies; score of the answers {read}\n")
    if added is not None:
        added.show(console)
    console.print(metric_table(evaluation.results.metrics), crop=False)
    for line in judge_lines(evaluation.results.metrics):
        console.print(Text(line), soft_wrap=True)
    if (usage := evaluation.usage) is not None:
        console.print(f"\n{usage_line(usage)}", soft_wrap=True)
    costs = evaluation.costs.speakers if evaluation.costs else {}
    if costing := costs_table([((), costs)], ()):
        console.print()
        console.print(costing, crop=False)
    console.print(f"\nsamples: {evaluation.directory}", soft_wrap=True)
    for what, file in added.files.items() if added is not None else ():
        console.print(f"{what}: {evaluation.directory / file}", soft_wrap=True)
    if failed := report.n_errors:
        if report.faults:
            line = f"not solved, by whose fault: {counts(report.failures)}"
            console.print(Text(plain(line)), soft_wrap=True)
        console.print(
            f"{several(failed, 'sample')} failed; once the cause is gone, the same command with "
            "--retry-errors draws them again",
            soft_wrap=True,
        )


SHOWN = 20
"""Changed samples that are shown one by one."""

REASONS = 3
"""Reasons of new errors that are shown."""


def rescore(arguments: Namespace) -> None:
    """Judge the samples again, write the new scores beside the old ones, show what changed."""
    console = open_console()
    with showing_warnings(console), showing_progress(console, "judging"):
        outcome = rescore_evaluation(
            arguments.evaluation,
            arguments.overrides,
            evaluations_dir=arguments.evaluations_dir,
            trust=arguments.trust,
        )
    if (samples := outcome.after.samples) < outcome.asked:
        said = f"{samples} of {outcome.asked} samples are complete; only these are judged"
        console.print(said, soft_wrap=True)
    if outcome.added is not None:
        outcome.added.show(console)
    console.print(change_table(outcome.before.metrics, outcome.after.metrics), crop=False)
    for line in (*judge_lines(outcome.after.metrics), "", *_lines(outcome)):
        console.print(Text(line), soft_wrap=True)
    console.print(f"\nscores: {outcome.directory}", soft_wrap=True)


def _lines(outcome: RescoringResult) -> Iterator[str]:
    """The changes: in all, and sample by sample."""
    rescored = outcome.rescored
    changed = [r for r in rescored if r.has_changed]
    yield f"{len(changed)} of {several(len(rescored), 'sample')} changed"
    kinds = Counter((r.before.verdict, r.verdict) for r in changed)
    for (before, now), count in sorted(kinds.items()):
        same = f"{now} as before, with another reward or answer"
        yield f"  {same if before == now else f'{before} -> {now}'}: {count}"
    for r in changed[:SHOWN]:
        sides = (
            f"{one.verdict} ({one.reward:g}, {one_line(repr(one.answer_class), 40)})"
            for one in (r.before, r)
        )
        yield f"  {r.instance_id} #{r.sample}: {' -> '.join(sides)}"
    if len(changed) > SHOWN:
        yield f"  ... and {len(changed) - SHOWN} more (scores.jsonl has them all)"
    new = [r for r in rescored if r.verdict == "error" and r.before.error is None]
    reasons = Counter(r.error for r in new).most_common()
    for reason, count in reasons[:REASONS]:
        example = next(r for r in new if r.error == reason)
        yield (
            f"{several(count, 'sample')} became errors, such as {example.instance_id} "
            f"#{example.sample}: {one_line(str(reason), 300)}"
        )
    if len(reasons) > REASONS:
        yield f"... and {len(reasons) - REASONS} more reasons (scores.jsonl has them all)"
    if noted := [r for r in rescored if REPLAYED in (r.note or "")]:
        yield (
            f"{several(len(noted), 'sample')} answered another conversation than the current "
            f"task's, such as {noted[0].instance_id} #{noted[0].sample}: {noted[0].note}"
        )
    if waiting := [r for r in rescored if r.needs_student]:
        yield (
            f"{several(len(waiting), 'sample')} cannot be judged without another answer of the "
            "student, mostly failed ones: metrics of the others would be biased, so only the "
            "error rate is shown. `dataenvgym eval` draws them (name=..., --fresh)"
        )
    if n_gone := outcome.n_gone:
        yield f"{several(n_gone, 'problem')} that the task no longer has: judged as saved"
