"""`dataenvgym compare`: compares existing runs as a study does."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

from dataenvgym.cli.study import wide_console
from dataenvgym.config.run_directory import find_run


def compare(arguments: Namespace) -> None:
    """Show the table of these runs; with `--output`, write it with plot and numbers."""
    from dataenvgym.studies.comparison import compare_runs
    from dataenvgym.studies.report import write_results
    from dataenvgym.studies.tables import render

    console = wide_console()
    output = None if arguments.output is None else Path(arguments.output).expanduser()
    words = ["dataenvgym", "compare", *arguments.runs]
    if arguments.baseline is not None:
        words += ["--baseline", arguments.baseline]
    if arguments.test is not None:
        words += ["--test", arguments.test]
    for key in arguments.allow_unequal:
        words += ["--allow-unequal", key]
    results = compare_runs(
        [find_run(run, arguments.runs_dir) for run in arguments.runs],
        baseline=arguments.baseline,
        test=arguments.test,
        allow_unequal=arguments.allow_unequal,
        name="comparison" if output is None else output.name,
        command=shlex.join(words),
    )
    console.print(render(results, console.width))
    if output is not None:
        write_results(results, output)
        console.print(f"\n{output / 'study.md'}", soft_wrap=True)
