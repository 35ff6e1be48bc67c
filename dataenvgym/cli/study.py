"""`dataenvgym study`: runs or resumes a study, and shows its table."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, IncompleteStudyError
from dataenvgym.runs.config.run_directory import find_run
from dataenvgym.runs.documents import File, Line, show


def study(arguments: Namespace) -> None:
    """Run the rest of the study, and show its table.

    Raises:
        IncompleteStudyError: if episodes failed; the table is shown first, and names them.
    """
    from dataenvgym.studies.budget import budget_warnings, plan_report
    from dataenvgym.studies.plan import plan_study
    from dataenvgym.studies.study import Study
    from dataenvgym.studies.tables import study_document

    console = Terminal(plain=arguments.plain)
    plan = plan_study(
        arguments.overrides,
        name=arguments.name,
        strategies=arguments.strategy,
        baseline=arguments.baseline,
        bounds=not arguments.no_bounds,
        test=arguments.test,
        race=arguments.race,
        allow_unequal=arguments.allow_unequal,
        looking_for=arguments.looking_for,
        noise_dir=arguments.noise_dir,
        workers=arguments.workers,
        studies_dir=arguments.studies_dir,
        config_dir=arguments.config_dir,
    )
    of_plan = Study(plan)
    of_plan.check()
    with console.working():
        of_plan.estimate()
    if arguments.plan:
        show(plan_report(plan), console)
        return
    show([Line(text, "warning") for text in budget_warnings(plan)], console)
    left = len(of_plan.unfinished())
    if left:
        most = " at most" if plan.race else ""
        expected = of_plan.expected_time()
        console.say(
            f"{plan.directory}: {left} of {len(plan.cells)} episodes to run{most}; {expected}"
        )
    of_plan.run(console)
    results = of_plan.finish()
    files = {"study.md": "the tables, and every run", "curves.png": "learning curves",
             "results.json": "all numbers"}  # fmt: skip
    links = [File(plan.directory / name, what) for name, what in files.items()]
    show(["", *study_document(results), "", *links], console)
    if missing := of_plan.missing():
        lines = [f"  {cell.label}: {reason}" for cell, reason in missing]
        raise IncompleteStudyError(
            f"{len(missing)} of {len(plan.cells)} episodes have no result:\n"
            + "\n".join(lines)
            + "\nThe same command tries them again; the others are kept."
        )
    if arguments.fit_noise:
        for path in of_plan.fit_noise():
            console.say(f"{path}  noise model")
    if not left:
        extend = "seeds" if plan.race else "seeds or strategies"
        console.say(f"\nThis study is finished. More {extend} extend it.")


def compare(arguments: Namespace) -> None:
    """Show the table of these runs, or of evaluations; with `--output`, write all numbers."""
    from dataenvgym.cli.evaluation_tables import folder_of_evaluations, show_comparisons
    from dataenvgym.studies.comparison import compare_runs
    from dataenvgym.studies.tables import study_document, write_results

    console = Terminal()
    output = None if arguments.output is None else Path(arguments.output).expanduser()
    evaluations = [folder_of_evaluations(name, arguments.runs_dir) for name in arguments.runs]
    if any(evaluations):
        show_comparisons(arguments, evaluations, console, output)
        return
    if arguments.cluster is not None:
        raise ConfigurationError("--cluster is for evaluations, and these are runs: leave it out")
    words = ["dataenvgym", "compare", *arguments.runs]
    for name, values in (
        ("--baseline", [arguments.baseline]),
        ("--test", [arguments.test]),
        ("--allow-unequal", arguments.allow_unequal),
    ):
        words += [word for value in values if value is not None for word in (name, value)]
    results = compare_runs(
        [find_run(run, arguments.runs_dir) for run in arguments.runs],
        baseline=arguments.baseline,
        test=arguments.test,
        allow_unequal=arguments.allow_unequal,
        noise_dir=arguments.noise_dir,
        name="comparison" if output is None else output.name,
        command=shlex.join(words),
    )
    show(study_document(results), console)
    if output is not None:
        write_results(results, output)
        show(["", File(output / "study.md", "the tables, and every run")], console)
