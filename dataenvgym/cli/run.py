"""`dataenvgym run`: runs or resumes one episode."""

from __future__ import annotations

import json

from omegaconf import DictConfig
from pydantic import PositiveInt

from dataenvgym.cli.console import Terminal
from dataenvgym.runs import config as configuration
from dataenvgym.runs.config.run_directory import check_run, run_directory
from dataenvgym.runs.config.workspaces import warn_of_changes
from dataenvgym.runs.documents import File, Line, show
from dataenvgym.workspace import noting_interrupt


def run(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    name: str | None = None,
    fresh: bool = False,
    dry: bool = False,
    prompts: PositiveInt | None = None,
    plain: bool = False,
) -> None:
    """Run an episode: an agent teaches a student.

    Examples:
      dataenvgym run
      dataenvgym run agent=open_ended episode.iterations=8 seed=1
      dataenvgym run agent=my_module.MyAgent

    The same command resumes an interrupted run and shows the report of a finished
    one; with more iterations, it extends the run.

    Args:
        name: the run's folder, as name=NAME (default: made of its options)
        dry: show what would run, and the first prompts; asks no model
        prompts: the same, with the first N prompts of the teacher
    """
    console = Terminal(plain=plain)

    def composed() -> DictConfig:
        named = [] if name is None else [f"name={json.dumps(name)}"]
        config = configuration.compose([*overrides, *named], config_dir=config_dir)
        if not fresh:
            check_run(config)
        return config

    if dry or prompts is not None:
        from dataenvgym.cli.dry import plan_of_run, show_plans

        show_plans(console, lambda: [plan_of_run(composed(), fresh=fresh, most=prompts or 1)])
        return
    config = composed()
    if not fresh:
        with console.working():
            warn_of_changes(config, run_directory(config))
        if configuration.is_done(config):
            _show_finished(config, console)
            return
    _run(config, fresh=fresh, console=console)


def _run(config: DictConfig, *, fresh: bool, console: Terminal) -> None:
    from dataenvgym.runs.episodes.callbacks import EpisodeCallback, MetricsCallback
    from dataenvgym.runs.episodes.display import EpisodeDisplay
    from dataenvgym.runs.episodes.outcome import warnings_of
    from dataenvgym.runs.episodes.report import gain_text
    from dataenvgym.runs.episodes.summary import read_summary
    from dataenvgym.studies.executors.interface import EpisodeJob, build_executor
    from dataenvgym.studies.noise import spread_of_seeds

    directory = run_directory(config)
    executor = build_executor(config)
    callbacks: list[EpisodeCallback] = [EpisodeDisplay(console)]
    if (backend := config.episode.metrics) is not None:
        callbacks.append(MetricsCallback(backend, directory=directory / "tensorboard"))
    with noting_interrupt(directory):
        (outcome,) = executor.run([EpisodeJob(config, callbacks, fresh)])
    outcome.result()  # the scores are already shown
    files = {"report.md": "the results, skill by skill", "curve.png": "the learning curve",
             "summary.json": "the same in figures"}  # fmt: skip
    document: list[str | Line | File] = [
        gain_text(directory, *spread_of_seeds(directory)) or "",
        *warnings_of(read_summary(directory)),
        *(File(directory / name, what) for name, what in files.items()),
        f"More: dataenvgym show {directory.name} --wrong",
    ]
    show(document, console)


def _show_finished(config: DictConfig, console: Terminal) -> None:
    from dataenvgym.environments.iterations import refuse_damaged_run
    from dataenvgym.runs.episodes.report import report, write_missing_report
    from dataenvgym.studies.noise import spread_of_seeds

    directory = run_directory(config)
    refuse_damaged_run(directory)
    write_missing_report(directory)
    end = "This run is finished. A larger episode.iterations extends it, --fresh starts over."
    show([*report(directory, *spread_of_seeds(directory)), end], console)
