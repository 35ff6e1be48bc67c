"""`dataenvgym attribute`: measures which of a run's records helped."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.cli.console import quieten, showing_warnings
from dataenvgym.cli.inspect import run_of
from dataenvgym.cli.study import wide_console
from dataenvgym.episodes.attribution import FOLDER, print_table
from dataenvgym.episodes.display import showing_progress
from dataenvgym.evaluation.attribution import attribute_run


def attribute(arguments: Namespace) -> None:
    """Train again without each group of records, and show the effects."""
    quieten()
    directory = run_of(arguments)
    console = wide_console()
    with showing_warnings(console), showing_progress(console, "training without records"):
        table = attribute_run(
            directory,
            iteration=arguments.iteration,
            by=arguments.by,
            groups=arguments.groups,
            limit=arguments.limit,
            seed=arguments.seed,
            repeats=arguments.repeats,
            trust=arguments.trust,
        )
    print_table(table, console)
    console.print(f"\n{directory / FOLDER / 'table.md'}", soft_wrap=True)
