"""`dataenvgym report`, `show` and `export`: the results of a run."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.run_directory import find_run, runs_in
from dataenvgym.runs.documents import File, show
from dataenvgym.runs.episodes.attribution import FOLDER
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


def show_report(arguments: Namespace) -> None:
    """Show the report of a run; write its report and its curve if they are missing."""
    from dataenvgym.runs.episodes import report
    from dataenvgym.studies.noise import spread_of_seeds

    directory = run_of(arguments)
    with suppress(OSError):  # a read-only folder is shown anyway
        report.write_missing_report(directory)
    show(report.report(directory, *spread_of_seeds(directory)), Terminal())


def show_iteration(arguments: Namespace) -> None:
    """Show records and transcripts of one iteration, beside those of the base student."""
    from dataenvgym.runs.episodes.show import calls_of, iteration_of

    wrong, limit = arguments.wrong, arguments.limit
    own = {name: getattr(arguments, name) for name in ("iteration", "skill", "seed")}
    if not arguments.calls:
        show(iteration_of(run_of(arguments), **own, wrong=wrong, limit=limit), Terminal())
        return
    if given := [f"--{name}" for name, value in own.items() if value is not None]:
        raise ConfigurationError(f"--calls shows the whole run: leave out {', '.join(given)}")
    show(calls_of(run_of(arguments), failed=wrong, limit=limit), Terminal())


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
    console = Terminal()
    names = ("iteration", "by", "groups", "limit", "seed", "repeats", "trust")
    with console.working("training without records"):
        options = {name: getattr(arguments, name) for name in names}
        table = attribute_run(directory, **options)
    show([*table.document(), File(directory / FOLDER / "table.md")], console)
