"""`dataenvgym report`, `show` and `export`: the results of a run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.run_directory import find_run, runs_in
from dataenvgym.runs.documents import Document, File, show
from dataenvgym.runs.episodes.attribution import FOLDER
from dataenvgym.runs.evaluation.attribution import attribute_run

LISTED = 10
"""Runs that are listed, at most."""


def run_of(name: str | None, runs_dir: str) -> Path:
    """The folder of the run that is named; without a name, an error that lists those there are."""
    if name is not None:
        return find_run(name, runs_dir)
    if not (names := runs_in(runs_dir)):
        raise ConfigurationError(
            f"there are no runs in {runs_dir}: `dataenvgym run` makes one, --runs-dir names "
            "another folder"
        )
    raise ConfigurationError(
        f"which run? Those in {runs_dir}, the latest first: {', '.join(names[:LISTED])}"
        f"{', ...' if len(names) > LISTED else ''}"
    )


def show_report(
    run: str | None = None,
    *,
    runs_dir: str = "runs",
) -> Document:
    """Show the report of a run.

    Args:
        run: the run's folder, or its name in the folder of runs
    """
    from dataenvgym.runs.episodes import report
    from dataenvgym.studies.noise import spread_of_seeds

    directory = run_of(run, runs_dir)
    with suppress(OSError):  # a read-only folder is shown anyway
        report.write_missing_report(directory)
    return report.report(directory, *spread_of_seeds(directory))


def show_iteration(
    run: str | None = None,
    *,
    runs_dir: str = "runs",
    iteration: NonNegativeInt | None = None,
    skill: str | None = None,
    wrong: bool = False,
    calls: bool = False,
    limit: PositiveInt = 20,
    seed: NonNegativeInt | None = None,
) -> Document:
    """Show a run's records and transcripts, before and after side by side.

    Args:
        run: the run's folder, or its name in the folder of runs
        iteration: records and answers of iteration N (default: the best)
        skill: only this skill
        wrong: only wrong answers, no records
        calls: instead, the teacher's prompts and answers (--wrong: without an answer)
        limit: at most N of each
        seed: draw the answers at random with this seed (default: the first ones)
    """
    from dataenvgym.runs.episodes.show import calls_of, iteration_of

    directory = run_of(run, runs_dir)
    if not calls:
        return iteration_of(
            directory, iteration=iteration, skill=skill, seed=seed, wrong=wrong, limit=limit
        )
    if iteration is not None or skill is not None or seed is not None:
        raise ConfigurationError(
            "--calls shows the whole run: leave out --iteration, --skill and --seed"
        )
    return calls_of(directory, failed=wrong, limit=limit)


def export(
    run: str | None = None,
    *,
    runs_dir: str = "runs",
    output: str,
    adapter: bool = False,
    iteration: NonNegativeInt | None = None,
) -> Document:
    """Write a run's records as a Hugging Face dataset.

    Args:
        run: the run's folder, or its name in the folder of runs
        output: a new folder
        adapter: the adapter, not the records
        iteration: of the adapter
    """
    from dataenvgym.runs.episodes.export import export_adapter, export_records

    directory = run_of(run, runs_dir)
    folder = Path(output).expanduser()
    if adapter:
        export_adapter(directory, folder, iteration=iteration)
    else:
        export_records(directory, folder)
    return [File(folder)]


def attribute(
    run: str | None = None,
    *,
    runs_dir: str = "runs",
    iteration: NonNegativeInt | None = None,
    by: str | None = None,
    groups: str | None = None,
    limit: PositiveInt | None = None,
    seed: NonNegativeInt = 0,
    repeats: PositiveInt = 3,
    trust: bool = False,
) -> None:
    """Measure which of a run's records helped: train again without them.

    Examples:
      dataenvgym attribute RUN
      dataenvgym attribute RUN --by record --limit 50 --repeats 1

    The same command continues an interrupted one; more repeats or groups extend it.
    `report` and `show` then have the effects, too.

    Args:
        run: the run's folder, or its name in the folder of runs
        iteration: leave out records of iteration N's training (default: the best one)
        by: skill (the default), subskill, agent, iteration, kind or record
        groups: instead, a JSON file with lists of record ids by the group's name
        limit: at most N groups, drawn at random with --seed
        seed: of the draw
        repeats: trainings of each group, for the noise
        trust: accept all paths, servers and code that the config.yaml of a received run
            names
    """
    directory = run_of(run, runs_dir)
    console = Terminal()
    with console.working("training without records"):
        table = attribute_run(
            directory,
            iteration=iteration,
            by=by,
            groups=groups,
            limit=limit,
            seed=seed,
            repeats=repeats,
            trust=trust,
        )
    show([*table.document(), File(directory / FOLDER / "table.md")], console)
