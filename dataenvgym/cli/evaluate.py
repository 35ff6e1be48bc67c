"""`dataenvgym eval`, `rescore`, `summary` and `generate`: ask a student, without training."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from dataenvgym.cli.console import Terminal
from dataenvgym.cli.dry import Plan, show_plans
from dataenvgym.cli.evaluation_tables import (
    change_table,
    costs_table,
    judge_lines,
    metric_table,
    skill_table,
    summary_table,
    usage_line,
)
from dataenvgym.errors import EvaluationError, RunDirectoryError
from dataenvgym.runs.config import build_judge
from dataenvgym.runs.documents import Document, Line, Table, show
from dataenvgym.runs.evaluation import Evaluation, rescore_evaluation
from dataenvgym.runs.evaluation.evaluated_run import ALL
from dataenvgym.runs.evaluation.floor import floors_of
from dataenvgym.runs.evaluation.generation import generate
from dataenvgym.runs.evaluation.running import EvaluationOptions, Prepared
from dataenvgym.runs.evaluation.suite import prepare_suite, run_suite
from dataenvgym.runs.evaluation.summary import EvaluationSummary, evaluations_in, summarize
from dataenvgym.runs.texts import counts, one_line, score, several
from dataenvgym.storage import write_json, write_models
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.first_prompts import first_prompts
from dataenvgym.tasks.metrics.rescoring import REPLAYED, RescoringResult
from dataenvgym.tasks.metrics.sampling import instances_of


def evaluate(arguments: Namespace) -> None:
    """Evaluate the student on each task; show scores and metrics, of several tasks in one table.

    Raises:
        EvaluationError: if a part has no score; the table is shown first, and the error names it.
    """
    console = Terminal()
    names = EvaluationOptions.__annotations__
    options = cast(EvaluationOptions, {name: getattr(arguments, name) for name in names})
    if arguments.dry:
        show_plans(
            console,
            lambda: [
                _plan(prepared, arguments.limit)
                for prepared in prepare_suite(arguments.overrides, **options)
            ],
        )
        return
    if arguments.floor:
        with console.working():
            each = prepare_suite(arguments.overrides, **options)
        for prepared in each:
            show(_floors(prepared, arguments.limit), console)
        return
    with console.working("the student answers"):
        parts = [
            *run_suite(
                arguments.overrides,
                retry_errors=arguments.retry_errors,
                on_begin=lambda folder: console.say(f"evaluation: {folder}"),
                **options,
            )
        ]
    found = [part.evaluation for part in parts if part.evaluation is not None]
    if arguments.output is not None:
        completed = [each for evaluation in found for each in evaluation.completed()]
        write_models(Path(arguments.output).expanduser(), completed)
        console.say(f"transcripts: {arguments.output}")
    failed = [part for part in parts if part.error is not None]
    if len(parts) > 1:
        show_summary([part.directory for part in parts], console)
    elif failed and failed[0].error is not None:
        raise failed[0].error
    else:
        show(_document(found[0]), console)
    if len(found) == len(parts) and all(evaluation.was_finished for evaluation in found):
        more = all(evaluation.can_be_extended for evaluation in found)
        extend = "more samples extend it (samples=...), " if more else ""
        console.say(f"This was finished already: {extend}--fresh starts over.")
    show([one.doubt for one in found if one.doubt is not None], console)
    if failed:
        lines = "\n".join(f"  {part.task} ({part.directory}): {part.error}" for part in failed)
        raise EvaluationError(
            f"{len(failed)} of {len(parts)} evaluations have no score:\n{lines}\nThe same command "
            "tries them again; the others are kept."
        )


def _floors(prepared: Prepared, limit: int | None) -> Document:
    task, split = attemptable(prepared.task), prepared.settings.split
    yield Line(f"{task.name}, {split} split: the same reply to every problem", "title")
    rows = [
        (one_line(reply, 60) or "(empty)", score(of.score), score(of.accuracy))
        for reply, of in floors_of(task, instances_of(task, 1, limit) or ())
    ]
    yield Table(("reply", "score", "accuracy"), rows)


def generate_rows(arguments: Namespace) -> None:
    """Generate a reply to each row of a file; show where they are, and what they took."""
    console = Terminal()
    begun = time.monotonic()
    with console.working("the model answers"):
        made = generate(arguments.overrides, config_dir=arguments.config_dir, fresh=arguments.fresh)
    seconds = "" if made.was_finished else f" in {time.monotonic() - begun:.1f} s"
    document = [
        f"{several(made.n_rows, 'row')}, replies: {made.replies}{seconds}, {made.prompt_tokens} "
        f"tokens read, {made.completion_tokens} written"
    ]
    if made.refusals:
        refused = several(len(made.refusals), "row")
        document.append(f"{refused} refused, the first one: {made.refusals[0]}")
    waits = "other chunks are missing; the command of the last one joins them"
    document += map(str, made.files or [f"{made.directory}: {waits}"])
    document += ["This was finished already: --fresh starts over."] * made.was_finished
    show(document, console)


def summary(arguments: Namespace) -> None:
    """Show one table of all evaluations in the folders."""
    folders = [Path(name).expanduser() for name in arguments.folders or ["evaluations"]]
    directories = [directory for folder in folders for directory in evaluations_in(folder)]
    rows = show_summary(list(dict.fromkeys(directories)), Terminal())
    if arguments.output is not None:
        path = Path(arguments.output).expanduser()
        write_json(path, [row.model_dump(mode="json") for row in rows])


def show_summary(directories: Sequence[Path], console: Terminal) -> list[EvaluationSummary]:
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
    priced = [((row.task, row.split, row.student), row.costs) for row in rows if row.costs]
    tables = [summary_table(rows)] if rows else []
    costs = costs_table(priced, ("task", "split", "student"))
    unfinished = [f"not finished: {folder}" for folder, row in found.items() if row is None]
    where = [f"{row.task}, {row.split}: {row.directory}" for row in rows]
    show([*tables, *costs, *unfinished, *where], console)
    if damaged:
        left = f"{len(damaged)} of {len(directories)} evaluations are not shown: " if rows else ""
        raise RunDirectoryError(left + "; ".join(damaged))
    return rows


def _plan(prepared: Prepared, limit: int | None) -> Plan:
    """What would be evaluated, and the first prompt."""
    settings = prepared.settings
    instances = instances_of(prepared.task, int(settings.samples), limit)
    predictor = prepared.student.build(prepared.config)
    if "judge" in settings:
        build_judge(settings.judge, prepared.directory).close()
    problems = "" if instances is None else f", {several(len(instances), 'problem')}"
    student = prepared.config.student.get("path") or "your own"
    if prepared.student.is_taught:
        student = f"{prepared.student.name}: {student}"
    facts = [
        ("evaluation", str(prepared.directory)),
        ("task", f"{prepared.task.name}, {settings.split} split{problems}"),
        ("student", f"{student}, by {type(predictor).__name__}"),
        ("samples", str(settings.samples)),
    ]
    prompts = [("The student's first prompt", each) for each in first_prompts(prepared.task)[:1]]
    return Plan(facts, prepared.config, ("predictor",), prompts)


def _document(evaluation: Evaluation) -> Document:
    report, added = evaluation.report, evaluation.added
    which = "all problems" if evaluation.split == ALL else f"{evaluation.split} split"
    title = f"{report.task}, {which}: {evaluation.student}"
    if evaluation.samples > 1:
        temperature = f"temperature {evaluation.temperature}"
        title += f", {evaluation.samples} samples of each problem at {temperature}"
    yield Line(title, "title")
    if (problems := evaluation.problems) is not None:
        if evaluation.split != ALL and getattr(evaluation.task, "has_one_source", False):
            problems += f"; --split {ALL} takes all"
        yield problems
    yield skill_table(report, None if added is None else ())
    if report.no_answer_rate:
        rate, read = report.no_answer_rate, score(report.answered_score)
        yield f"no answer in {rate:.3f} of the replies; score of the answers {read}"
    if added is not None:
        yield from added.document()
    yield metric_table(evaluation.results.metrics)
    yield from judge_lines(evaluation.results.metrics)
    if (usage := evaluation.usage) is not None:
        yield usage_line(usage)
    yield from costs_table([((), evaluation.costs.speakers)] if evaluation.costs else [], ())
    yield f"samples: {evaluation.directory}"
    for what, file in added.files.items() if added is not None else ():
        yield f"{what}: {evaluation.directory / file}"
    if report.n_errors and report.faults:
        yield f"not solved, by whose fault: {counts(report.failures)}"
    if report.n_errors:
        yield (
            f"{several(report.n_errors, 'sample')} failed; once the cause is gone, the same "
            "command with --retry-errors draws them again"
        )


SHOWN = 20
"""Changed samples that are shown one by one."""


def rescore(arguments: Namespace) -> None:
    """Judge the samples again, write the new scores beside the old ones, show what changed."""
    console = Terminal()
    with console.working("judging"):
        outcome = rescore_evaluation(
            arguments.evaluation,
            arguments.overrides,
            evaluations_dir=arguments.evaluations_dir,
            trust=arguments.trust,
        )
    if (samples := outcome.after.samples) < outcome.asked:
        console.say(f"{samples} of {outcome.asked} samples are complete; only these are judged")
    document = [
        *(() if outcome.added is None else outcome.added.document()),
        change_table(outcome.before.metrics, outcome.after.metrics),
        *judge_lines(outcome.after.metrics),
        "",
        *_lines(outcome),
        "",
        f"scores: {outcome.directory}",
    ]
    show(document, console)


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
    for reason, count in Counter(r.error for r in new).most_common():
        yield f"{several(count, 'sample')} became errors: {one_line(str(reason), 300)}"
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
