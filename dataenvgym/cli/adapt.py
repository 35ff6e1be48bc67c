"""`dataenvgym adapt`: compares ways to adapt a student to contexts."""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import DictConfig
from pydantic import PositiveInt

from dataenvgym.adaptation.arms import Arms, shuffled_contexts
from dataenvgym.adaptation.running import adaptation_config, prepared_adaptation, run_adaptation
from dataenvgym.adaptation.trials import Work
from dataenvgym.cli.console import Terminal
from dataenvgym.cli.dry import Plan, show_plans
from dataenvgym.runs.documents import File, Table, show
from dataenvgym.runs.texts import several


def adapt(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    continual: bool = False,
    retry_errors: bool = False,
    dry: bool = False,
    prompts: PositiveInt | None = None,
    fresh: bool = False,
    plain: bool = False,
) -> None:
    r"""Compare ways to adapt a student to passages or puzzles: self-edits, RestEM.

    Examples:
      dataenvgym adapt task=pocket_knowledge
      dataenvgym adapt task=squad task.n_passages=40 arms.contexts=20 seeds=5
      dataenvgym adapt task=pocket_knowledge teacher=openai teacher.model=NAME \
          arms.names=[context_only,self_edits,teacher_edits]
      dataenvgym adapt --continual task=pocket_knowledge arms.contexts=4 seeds=3

    Arms: base, context_only, gold, self_edits, teacher_edits, rest_em (one line for
    each round). The same command resumes an interrupted run and shows the table of
    a finished one; more seeds or arms extend it.

    Args:
        continual: learn contexts one after another, and ask for earlier ones again
        retry_errors: try again what failed calls left open
        dry: show what would run, with the first prompts of the writer; asks no model
        prompts: the same, with the first N prompts of the writer
    """
    console = Terminal(plain=plain)
    if dry or prompts is not None:
        show_plans(
            console,
            lambda: [
                _plan(
                    adaptation_config(overrides, config_dir, continual=continual),
                    fresh=fresh,
                    retry=retry_errors,
                    most=prompts or 1,
                )
            ],
        )
        return
    with console.working("the student adapts"):
        done = run_adaptation(
            overrides,
            config_dir=config_dir,
            continual=continual,
            fresh=fresh,
            retry_errors=retry_errors,
            on_begin=lambda folder: console.say(f"adaptation: {folder}"),
        )
    end = ["This run was finished already: more seeds or arms extend it."] * done.was_finished
    document = ["", *done.report.document(), "", File(done.directory / "report.md"), *end]
    show(document, console)


def _plan(config: DictConfig, *, fresh: bool, retry: bool, most: int) -> Plan:
    """What would run, and the writer's first prompts."""
    with prepared_adaptation(config, fresh=fresh, retry_errors=retry) as parts:
        arms, task, engine = parts.arms, parts.task, parts.engine
        work = [[*arms.work(task, engine, parts.rest_em, seed)] for seed in parts.seeds]
        contexts = shuffled_contexts(task, engine, arms.split, parts.seeds[0])
    is_begun = not fresh and (parts.directory / "environment.json").exists()
    facts = [
        ("adaptation", f"{parts.directory} ({'continued' if is_begun else 'new'})"),
        ("task", f"{task.name}: {arms.split} split, {len(contexts)} contexts in it"),
        ("edits", f"by {type(engine).__name__}"),
    ]
    if isinstance(arms, Arms):
        facts.append(("repeats", f"{several(arms.repeats, 'training')} of each edit"))
        if "rest_em" in arms.names:
            each = several(parts.rest_em.repeats, "training")
            name = type(parts.rest_em.trainer).__name__
            facts.append(("RestEM", f"by {name}; {each} of each edit that it chooses from"))
    prompts = [
        (f"The writer's prompt {i} of {len(contexts)} ({each.id})", engine.edit_prompt(each))
        for i, each in enumerate(contexts[:most], start=1)
    ]
    note = f"At most, with {several(len(parts.seeds), 'seed')}: an edit that fails trains nothing."
    if not any(one.edits for one in work[0]):
        prompts, note = [], f"{note} No prompt of a writer: no arm has edits that are written."
    return Plan(facts, config, parts.first, prompts=prompts, notes=[_work_table(work), note])


def _work_table(work: Sequence[Sequence[Work]]) -> Table:
    """The work of each arm, over all seeds."""
    sums = [
        (of_arm[0].arm, *(sum(values) for values in list(zip(*of_arm, strict=True))[1:]))
        for of_arm in zip(*work, strict=True)
    ]
    totals = [sum(column) for column in [*zip(*sums, strict=True)][2:]]
    rows = [
        [f"{cell:,}" if isinstance(cell, int) else cell for cell in row]
        for row in (*sums, ("all", "", *totals))
    ]
    return Table(work[0][0]._fields, rows, total=True)
