"""`dataenvgym run`: runs or resumes one episode."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from dataenvgym.cli.console import open_console, showing_warnings
from dataenvgym.errors import ConfigurationError, noting_needs
from dataenvgym.runs import config as configuration
from dataenvgym.runs.config.own_classes import warn_of_changes
from dataenvgym.runs.config.run_directory import check_run, run_directory
from dataenvgym.workspace import noting_interrupt


def run(arguments: Namespace) -> None:
    """Run the episode, or show the report of a finished one."""
    if arguments.prompts is not None and not arguments.dry:
        raise ConfigurationError("--prompts shows prompts without running: add --dry")
    console = open_console(plain=arguments.plain)
    if arguments.dry:
        from dataenvgym.cli.dry import show_plan

        with showing_warnings(console), noting_needs() as needs:
            config = _composed(arguments)
            prompts = arguments.prompts or 1
            show_plan(config, console, needs, fresh=arguments.fresh, prompts=prompts)
        return
    config = _composed(arguments)
    if not arguments.fresh:
        with showing_warnings(console):
            warn_of_changes(config, run_directory(config))
        if configuration.is_done(config):
            _show_finished(run_directory(config), console)
            return
    _run(config, fresh=arguments.fresh, console=console)


def _composed(arguments: Namespace) -> DictConfig:
    named = [] if arguments.name is None else [f"name={json.dumps(arguments.name)}"]
    config = configuration.compose([*arguments.overrides, *named], config_dir=arguments.config_dir)
    if not arguments.fresh:
        check_run(config)
    return config


def _run(config: DictConfig, *, fresh: bool, console: Console) -> None:
    from dataenvgym.runs.episodes.callbacks import EpisodeCallback, MetricsCallback
    from dataenvgym.runs.episodes.display import EpisodeDisplay
    from dataenvgym.studies.executors.interface import EpisodeJob, build_executor

    directory = run_directory(config)
    executor = build_executor(config)
    callbacks: list[EpisodeCallback] = [EpisodeDisplay(console)]
    if (backend := config.episode.metrics) is not None:
        callbacks.append(MetricsCallback(backend, directory=directory / "tensorboard"))
    with noting_interrupt(directory):
        (outcome,) = executor.run([EpisodeJob(config, callbacks, fresh)])
    outcome.result()
    _show_end(directory, console)


def _show_end(directory: Path, console: Console) -> None:
    """Show the noise of the gain, the warnings and the files; the scores are already above."""
    from dataenvgym.runs.episodes.report import gain_text
    from dataenvgym.runs.episodes.summary import read_summary
    from dataenvgym.runs.episodes.tables import print_warnings
    from dataenvgym.studies.noise import spread_of_seeds

    if text := gain_text(directory, *spread_of_seeds(directory)):
        console.print(text, markup=False, soft_wrap=True)
    print_warnings(read_summary(directory), console)
    console.print(f"\n{directory}", soft_wrap=True)
    for name, what in (
        ("report.md", "the results, skill by skill"),
        ("curve.png", "the learning curve"),
        ("summary.json", "the same in figures"),
    ):
        console.print(f"  {name:14}{what}")
    console.print(f"\nMore: dataenvgym show {directory.name} --wrong", soft_wrap=True)


def _show_finished(directory: Path, console: Console) -> None:
    from dataenvgym.environments.iterations import refuse_damaged_run
    from dataenvgym.runs.episodes.report import render_report, write_missing_report
    from dataenvgym.studies.noise import spread_of_seeds

    refuse_damaged_run(directory)
    write_missing_report(directory)
    render_report(directory, console, *spread_of_seeds(directory))
    console.print(
        "\nThis run is finished. A larger episode.iterations extends it, --fresh starts over.",
        soft_wrap=True,
    )
