"""`dataenvgym adapt`: compares ways to adapt a student to contexts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from dataenvgym.adaptation.arms import Arms, shuffled_contexts
from dataenvgym.adaptation.report import print_report
from dataenvgym.adaptation.running import adaptation_config, prepared_adaptation, run_adaptation
from dataenvgym.adaptation.trials import Work
from dataenvgym.cli.console import showing_warnings
from dataenvgym.cli.dry import lacking, model_of, show_facts, show_prompt
from dataenvgym.cli.study import wide_console
from dataenvgym.errors import ConfigurationError, DataEnvGymError, noting_needs
from dataenvgym.runs.episodes.display import showing_progress
from dataenvgym.runs.episodes.tables import table_of
from dataenvgym.runs.episodes.texts import several


def adapt(arguments: Namespace) -> None:
    """Run the arms, and show their table."""
    if arguments.prompts is not None and not arguments.dry:
        raise ConfigurationError("--prompts shows prompts without running: add --dry")
    console = wide_console(plain=arguments.plain)
    if arguments.dry:
        with showing_warnings(console), noting_needs() as needs:
            _show_plan(arguments, console, needs)
        return
    with showing_warnings(console), showing_progress(console, "the student adapts"):
        done = run_adaptation(
            arguments.overrides,
            config_dir=arguments.config_dir,
            continual=arguments.continual,
            fresh=arguments.fresh,
            retry_errors=arguments.retry_errors,
            on_begin=lambda folder: console.print(f"adaptation: {folder}", soft_wrap=True),
        )
    console.print()
    print_report(done.report, console)
    console.print(f"\n{done.directory / 'report.md'}", soft_wrap=True)
    if done.was_finished:
        console.print("This run was finished already: more seeds or arms extend it.")


def _show_plan(arguments: Namespace, console: Console, needs: Sequence[DataEnvGymError]) -> None:
    """Show what would run, and the writer's first prompts; see `cli.dry.show_plan`."""
    config = adaptation_config(
        arguments.overrides, arguments.config_dir, continual=arguments.continual
    )
    lacks = ("predictor", "trainer")
    fresh, retry = arguments.fresh, arguments.retry_errors
    try:
        with prepared_adaptation(config, fresh=fresh, retry_errors=retry) as parts:
            arms, task, engine = parts.arms, parts.task, parts.engine
            work = [[*arms.work(task, engine, parts.rest_em, seed)] for seed in parts.seeds]
            contexts = shuffled_contexts(task, engine, arms.split, parts.seeds[0])
    except DataEnvGymError as error:
        if str(error) not in map(str, needs):
            raise
        show_facts(console, lacking(config, needs, lacks))
        console.print(Text("\nNothing was run, and the plan is not known without the above."))
        return
    is_begun = not fresh and (parts.directory / "environment.json").exists()
    trainer = getattr(parts.first, "trainer", None)
    facts = [
        ("adaptation", f"{parts.directory} ({'continued' if is_begun else 'new'})"),
        ("task", f"{task.name}: {arms.split} split, {len(contexts)} contexts in it"),
        ("student", f"{config.student.get('path') or 'your own'}, by {type(parts.first).__name__}"),
        ("trainer", "the student's own" if trainer is None else type(trainer).__name__),
        ("edits", f"by {type(engine).__name__}"),
    ]
    if parts.teacher is not None:
        facts.append(("teacher", model_of(config.teacher)))
    if isinstance(arms, Arms):
        facts.append(("repeats", f"{several(arms.repeats, 'training')} of each edit"))
        if "rest_em" in arms.names:
            each = several(parts.rest_em.repeats, "training")
            name = type(parts.rest_em.trainer).__name__
            facts.append(("RestEM", f"by {name}; {each} of each edit that it chooses from"))
    show_facts(console, [*facts, *lacking(config, needs, ("predictor", "trainer"))])
    _show_work(work, console)
    seeds = several(len(parts.seeds), "seed")
    console.print(Text(f"At most, with {seeds}: an edit that fails trains nothing.", style="dim"))
    written = any(one.edits for one in work[0])
    prompts = contexts[: arguments.prompts or 1] if written else []
    for number, context in enumerate(prompts, start=1):
        title = f"The writer's prompt {number} of {len(contexts)} ({context.id})"
        show_prompt(console, title, engine.edit_prompt(context))
    if not written:
        console.print(Text("\nNo prompt of a writer: no arm has edits that are written."))
    console.print(Text("\nNothing was run. Without --dry, this starts.", style="bold"))


def _show_work(work: Sequence[Sequence[Work]], console: Console) -> None:
    """Show a table of the work of each arm, over all seeds."""
    sums = [
        (of_arm[0].arm, *(sum(values) for values in list(zip(*of_arm, strict=True))[1:]))
        for of_arm in zip(*work, strict=True)
    ]
    totals = [sum(column) for column in [*zip(*sums, strict=True)][2:]]
    rows = [
        [f"{cell:,}" if isinstance(cell, int) else cell for cell in row]
        for row in (*sums, ("all", "", *totals))
    ]
    console.print()
    name, *names = work[0][0]._fields
    console.print(table_of([name], names, rows, lined=True))
