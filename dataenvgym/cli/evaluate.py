"""`dataenvgym eval`, `rescore`, `summary` and `generate`: ask a student, without training."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import NonNegativeInt

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
from dataenvgym.storage import write_json, write_jsonl
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.first_prompts import first_prompts
from dataenvgym.tasks.metrics.rescoring import REPLAYED, RescoringResult
from dataenvgym.tasks.metrics.sampling import instances_of


def evaluate(  # noqa: PLR0913
    overrides: list[str],
    *,
    config_dir: str | None = None,
    split: str | None = None,
    adapter: str | None = None,
    run: str | None = None,
    iteration: NonNegativeInt | None = None,
    limit: NonNegativeInt | None = None,
    dry: bool = False,
    floor: bool = False,
    output: str | None = None,
    trust: bool = False,
    fresh: bool = False,
    retry_errors: bool = False,
) -> None:
    r"""Evaluate a student on a task or a suite of tasks, without training.

    Examples:
      dataenvgym eval task=pocket_math --split test
      dataenvgym eval --run RUN            the best iteration of a run, on its task
      dataenvgym eval task=pocket_math task.sampling.temperature=1.0 samples=10 \
          'metrics=[pass@1,pass@5,pass^3,majority@5,pass@1[avg-of-10]]'
      dataenvgym eval task=pocket_math "metrics=[accuracy,judge]" teacher=openai \
          teacher.model=NAME judge.rubric='Is every step justified?'
      dataenvgym eval task=gsm8k:4,humaneval:10,squad   samples of each; one table
      dataenvgym eval suite=pocket name=mine            the tasks of configs/suite/

    Every sample is written to the evaluation's folder (evaluations_dir=...). The
    same command resumes an interrupted evaluation and shows the table of a finished
    one; with more samples, it extends the evaluation.

    Args:
        split: train, validation, test, or all (default: validation; all for a task with a
            single file that the student was not trained on)
        adapter: an adapter for the student
        run: a run whose student to take
        iteration: of the run (default: best)
        limit: only the first N problems
        dry: show what would be asked, and the first prompt; ask nothing
        floor: show what an empty reply and frequent gold replies earn; ask no student
        output: write the transcripts there (.jsonl)
        trust: accept all paths, servers and code that the config.yaml of a received run
            names
        retry_errors: draw samples whose infrastructure failed again

    Raises:
        EvaluationError: if a part has no score; the table is shown first, and the error names it.
    """
    console = Terminal()
    options: EvaluationOptions = {
        "run": run,
        "iteration": iteration,
        "adapter": adapter,
        "split": split,
        "limit": limit,
        "fresh": fresh,
        "config_dir": config_dir,
        "trust": trust,
    }
    if dry:
        show_plans(
            console,
            lambda: [_plan(prepared, limit) for prepared in prepare_suite(overrides, **options)],
        )
        return
    if floor:
        with console.working():
            each = prepare_suite(overrides, **options)
        for prepared in each:
            show(_floors(prepared, limit), console)
        return
    with console.working("the student answers"):
        parts = [
            *run_suite(
                overrides,
                retry_errors=retry_errors,
                on_begin=lambda folder: console.say(f"evaluation: {folder}"),
                **options,
            )
        ]
    found = [part.evaluation for part in parts if part.evaluation is not None]
    if output is not None:
        completed = [each for evaluation in found for each in evaluation.completed()]
        write_jsonl(Path(output).expanduser(), completed)
        console.say(f"transcripts: {output}")
    failed = [part for part in parts if part.error is not None]
    if len(parts) > 1:
        show(summary_of([part.directory for part in parts]), console)
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


def generate_rows(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    fresh: bool = False,
) -> None:
    r"""Send each row of a file through a prompt, and write the replies.

    Examples:
      dataenvgym generate prompt=question.yaml input=rows.jsonl model=openai/NAME
      dataenvgym generate prompt=question.yaml input=rows.jsonl model=vllm/NAME \
          seeds=4 num_chunks=8 chunk=0

    A prompt is a YAML file with user (and perhaps system); {name} stands for a
    field of the row. `dataenvgym config --of generate` shows all options. The same
    command resumes an interrupted generation; more seeds extend it.

    Args:
        fresh: start over: remove existing files, those of chunk= if given
    """
    console = Terminal()
    begun = time.monotonic()
    with console.working("the model answers"):
        made = generate(overrides, config_dir=config_dir, fresh=fresh)
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


def summary(
    folders: list[str],
    *,
    output: str | None = None,
) -> Document:
    """Show one table of all evaluations in a folder.

    Example:
      dataenvgym summary evaluations/qwen3_8b

    score is the mean reward; accuracy the share of solved tries, with half of its
    95% interval; pass@k and majority@k are of all samples of a problem; tokens are
    those of a reply; seconds those of all replies.

    Args:
        folders: folders of evaluations, at any depth (default: evaluations)
        output: write the rows there, too (.json)
    """
    places = [Path(name).expanduser() for name in folders or ["evaluations"]]
    directories = [directory for folder in places for directory in evaluations_in(folder)]
    path = None if output is None else Path(output).expanduser()
    return summary_of(list(dict.fromkeys(directories)), path)


def summary_of(directories: Sequence[Path], output: Path | None = None) -> Document:
    """One table of the evaluations in these folders, and the names of those without results.

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
    if rows:
        yield summary_table(rows)
    yield from costs_table(priced, ("task", "split", "student"))
    yield from (f"not finished: {folder}" for folder, row in found.items() if row is None)
    yield from (f"{row.task}, {row.split}: {row.directory}" for row in rows)
    if damaged:
        left = f"{len(damaged)} of {len(directories)} evaluations are not shown: " if rows else ""
        raise RunDirectoryError(left + "; ".join(damaged))
    if output is not None:
        write_json(output, [row.model_dump(mode="json") for row in rows])


def _plan(prepared: Prepared, limit: int | None) -> Plan:
    """What would be evaluated, and the first prompt."""
    settings = prepared.settings
    instances = instances_of(prepared.task, int(settings.samples), limit)
    predictor = prepared.student.build(prepared.config)
    if "judge" in settings:
        build_judge(settings.judge, prepared.directory).close()
    problems = "" if instances is None else f", {several(len(instances), 'problem')}"
    name = f"{prepared.student.name}: " if prepared.student.is_taught else ""
    facts = [
        ("evaluation", str(prepared.directory)),
        ("task", f"{prepared.task.name}, {settings.split} split{problems}"),
        ("samples", str(settings.samples)),
    ]
    prompts = [("The student's first prompt", each) for each in first_prompts(prepared.task)[:1]]
    return Plan(facts, prepared.config, predictor, name, ("predictor",), prompts)


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


def rescore(
    evaluation: str,
    overrides: list[str],
    *,
    trust: bool = False,
    evaluations_dir: str = "evaluations",
) -> None:
    """Judge the samples of an evaluation again, without asking the student.

    Example:
      dataenvgym rescore evaluations/pocket_math-validation-1a2b3c4d

    The student's messages are replayed in the current task. The new scores are
    written beside the old ones (rescored-001, ...), and the table shows changes.

    Args:
        evaluation: the evaluation's folder, or its name among evaluations
        overrides: other metrics, a judge (metrics=[judge] teacher=...), or changes to the
            task, such as task.threads=2
        trust: accept all paths, servers and code that the config.yaml of a received
            evaluation names
        evaluations_dir: the folder of evaluations
    """
    console = Terminal()
    with console.working("judging"):
        outcome = rescore_evaluation(
            evaluation,
            overrides,
            evaluations_dir=evaluations_dir,
            trust=trust,
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
