"""`dataenvgym run`: runs or resumes one episode."""

from __future__ import annotations

import json
from argparse import Namespace

from omegaconf import DictConfig

from dataenvgym.cli.console import Terminal
from dataenvgym.runs import config as configuration
from dataenvgym.runs.config.run_directory import check_run, run_directory
from dataenvgym.runs.config.workspaces import warn_of_changes
from dataenvgym.runs.documents import File, Line, show
from dataenvgym.workspace import noting_interrupt


def run(arguments: Namespace) -> None:
    """Run the episode, or show the report of a finished one."""
    console = Terminal(plain=arguments.plain)
    if arguments.dry or arguments.prompts is not None:
        from dataenvgym.cli.dry import plan_of_run, show_plans

        fresh, most = arguments.fresh, arguments.prompts or 1
        show_plans(console, lambda: [plan_of_run(_composed(arguments), fresh=fresh, most=most)])
        return
    config = _composed(arguments)
    if not arguments.fresh:
        with console.working():
            warn_of_changes(config, run_directory(config))
        if configuration.is_done(config):
            _show_finished(config, console)
            return
    _run(config, fresh=arguments.fresh, console=console)


def _composed(arguments: Namespace) -> DictConfig:
    named = [] if arguments.name is None else [f"name={json.dumps(arguments.name)}"]
    config = configuration.compose([*arguments.overrides, *named], config_dir=arguments.config_dir)
    if not arguments.fresh:
        check_run(config)
    return config


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
