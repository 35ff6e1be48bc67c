"""`dataenvgym report`, `show` and `export`: the results of a run."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.run_directory import find_run, runs_in
from dataenvgym.runs.episodes.attribution import FOLDER, print_table
from dataenvgym.runs.evaluation.attribution import attribute_run

LISTED = 10
"""Runs that are listed, at most."""


def run_of(arguments: Namespace) -> Path:
    """The folder of the run that is named; without a name, an error that lists those there are."""
    if arguments.run is not None:
        return find_run(arguments.run, arguments.runs_dir)
    if not (names := runs_in(arguments.runs_dir)):
        raise ConfigurationError(
            f"there are no runs in {arguments.runs_dir}: `dataenvgym run` makes one, --runs-dir "
            "names another folder"
        )
    raise ConfigurationError(
        f"which run? Those in {arguments.runs_dir}, the latest first: {', '.join(names[:LISTED])}"
        f"{', ...' if len(names) > LISTED else ''}. Name one: dataenvgym {arguments.command} "
        f"{names[0]}"
    )


def report(arguments: Namespace) -> None:
    """Show the report of a run; write its report and its curve if they are missing."""
    from dataenvgym.runs.episodes.report import render_report, write_missing_report
    from dataenvgym.studies.noise import spread_of_seeds

    directory = run_of(arguments)
    with suppress(OSError):  # a read-only folder is shown anyway
        write_missing_report(directory)
    render_report(directory, Terminal(), *spread_of_seeds(directory))


def show(arguments: Namespace) -> None:
    """Show records and transcripts of one iteration, beside those of the base student."""
    from dataenvgym.runs.episodes.show import show_calls, show_iteration

    wrong, limit = arguments.wrong, arguments.limit
    own = {name: getattr(arguments, name) for name in ("iteration", "skill", "seed")}
    if not arguments.calls:
        show_iteration(run_of(arguments), Terminal(), **own, wrong=wrong, limit=limit)
        return
    if given := [f"--{name}" for name, value in own.items() if value is not None]:
        raise ConfigurationError(f"--calls shows the whole run: leave out {', '.join(given)}")
    show_calls(run_of(arguments), Terminal(), failed=wrong, limit=limit)


def export(arguments: Namespace) -> None:
    """Write the records, or the adapter, to a folder that is ready to upload."""
    from dataenvgym.runs.episodes.export import export_adapter, export_records

    directory = run_of(arguments)
    output = Path(arguments.output).expanduser()
    if arguments.adapter:
        export_adapter(directory, output, iteration=arguments.iteration)
    else:
        export_records(directory, output)
    print(output)


def attribute(arguments: Namespace) -> None:
    """Train again without each group of records, and show the effects."""
    directory = run_of(arguments)
    console = Terminal(wide=True)
    names = ("iteration", "by", "groups", "limit", "seed", "repeats", "trust")
    with console.working("training without records"):
        options = {name: getattr(arguments, name) for name in names}
        table = attribute_run(directory, **options)
    print_table(table, console)
    console.say(f"\n{directory / FOLDER / 'table.md'}")
