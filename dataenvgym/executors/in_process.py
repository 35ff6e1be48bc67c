"""Runs episodes in this process, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack

from dataenvgym import secrets
from dataenvgym.config.run_directory import open_run
from dataenvgym.config.storing import check_stored
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan
from dataenvgym.episodes.log import log_to
from dataenvgym.executors.interface import Episode, EpisodeOutcome, build_episode, close_speakers_of
from dataenvgym.run_warnings import listening, warn_run


class InProcessExecutor:
    """The default executor: it needs no setup, and debuggers work."""

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeOutcome]:
        """Run the episodes, one after another."""
        return [
            run_here(episode, open_run(episode.config, fresh=episode.fresh)) for episode in episodes
        ]


def run_here(episode: Episode, opened: AbstractContextManager[object]) -> EpisodeOutcome:
    """Run one episode.

    Args:
        opened: locks the run directory. It is entered only after the configuration has been
            checked, so that a typo leaves no files.
    """
    from dataenvgym.episodes.report import write_report
    from dataenvgym.episodes.runner import run_episode, teaching_of

    config, directory = episode.config, episode.directory
    try:
        early = _EarlyWarnings()
        with secrets.apart(), ExitStack() as stack:
            with listening(early.texts.append):
                environment, agent = build_episode(config, directory)
            stack.enter_context(opened)
            stack.enter_context(log_to(directory / "log.txt"))
            stack.callback(close_speakers_of, environment)
            summary = run_episode(
                environment,
                agent,
                iterations=config.episode.iterations,
                seed=config.seed,
                callbacks=(*episode.callbacks, early),
                progress=False,
                lock=False,  # `opened` holds it
            )
            environment.close()
            write_report(directory)
            check_stored(teaching_of(environment).task, directory)
    except Exception as error:  # noqa: BLE001  the error is the outcome
        return EpisodeOutcome(error=error)
    return EpisodeOutcome(summary=summary)


class _EarlyWarnings(EpisodeCallback):
    """Collects warnings while an episode is built, and repeats them once its run has started."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_start(self, plan: EpisodePlan) -> None:
        for text in self.texts:
            warn_run(text)
