"""Episodes in this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.config.run_directory import open_run
from dataenvgym.episodes.log import log_to
from dataenvgym.executors.early_warnings import EarlyWarnings
from dataenvgym.executors.interface import Episode, Outcome, build_episode


class InProcessExecutor:
    """The default: needs nothing, and everything is where one looks for it with a debugger."""

    def run(self, episodes: Sequence[Episode]) -> list[Outcome]:
        """Run the episodes, one after the other."""
        return [_run(episode) for episode in episodes]


def _run(episode: Episode) -> Outcome:
    from dataenvgym.episodes.report import write_report
    from dataenvgym.episodes.runner import run_episode

    config, directory = episode.config, episode.directory
    try:
        # everything is made before the run directory is touched: a typo leaves nothing behind
        early = EarlyWarnings()
        with early.gathering():
            environment, agent = build_episode(config, directory)
        with open_run(config, fresh=episode.fresh), log_to(directory / "log.txt"):
            summary = run_episode(
                environment,
                agent,
                iterations=config.episode.iterations,
                seed=config.seed,
                callbacks=(*episode.callbacks, early),
                progress=False,
                lock=False,  # `open_run` holds it
            )
            environment.close()
            write_report(directory)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(summary=summary)
