"""Runs episodes in this process, one after another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

from dataenvgym import events
from dataenvgym.events import hearing_warnings, redact, warn_run
from dataenvgym.interfaces import TrainablePredictorInterface
from dataenvgym.runs.config.building import check_stored
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.runs.episodes.runner import run_episode, teaching_of
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome, build_episode
from dataenvgym.tasks.rollouts import close_speakers


class InProcessExecutor:
    """Runs episodes in this process, one after another.

    It needs no setup, and debuggers work.
    """

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        return [
            run_here(episode, open_run(episode.config, fresh=episode.fresh)) for episode in episodes
        ]


def run_here(
    episode: EpisodeJob,
    opened: AbstractContextManager[object],
    around: Callable[[TrainablePredictorInterface], TrainablePredictorInterface] | None = None,
) -> EpisodeOutcome:
    """Run one episode.

    Args:
        opened: locks the run directory. It is entered only after the configuration has been
            checked, so that a typo leaves no files.
        around: returns the student that takes the place of the configuration's.
    """
    config, directory = episode.config, episode.directory
    try:
        early = _EarlyWarnings()
        with events.secrets_apart(), ExitStack() as stack:
            with hearing_warnings(early.texts.append):
                environment, agent = build_episode(config, directory, around)
            stack.enter_context(opened)
            stack.enter_context(log_to(directory / "log.txt"))
            # the models that the task's environments ask were made with the task
            task = teaching_of(environment).task
            stack.callback(close_speakers, task.others)
            summary = run_episode(
                environment,
                agent,
                iterations=config.episode.iterations,
                seed=config.seed,
                test_each=bool(config.episode.get("test_each")),
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


_current: ContextVar[Path | None] = ContextVar("log", default=None)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Within the block, write the libraries' log messages to `path`, with tracebacks.

    Those of other episodes in this process are left out. The file is created with the first
    message.
    """
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    handler.addFilter(lambda record: _current.get() in (None, path))
    logging.getLogger().addHandler(handler)
    token = _current.set(path)
    try:
        yield
    finally:
        _current.reset(token)
        logging.getLogger().removeHandler(handler)
        handler.close()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
