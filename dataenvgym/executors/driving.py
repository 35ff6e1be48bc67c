"""The driver's side of an episode that runs elsewhere: its run directory, and who watches it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from dataenvgym.config.resolved import resolved_yaml
from dataenvgym.config.run_directory import open_run
from dataenvgym.episodes.bookkeeping import described
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, EventLog
from dataenvgym.episodes.log import log_to
from dataenvgym.episodes.report import write_report
from dataenvgym.episodes.summary import Status, Summary, whole_summary
from dataenvgym.episodes.warning_log import read_warnings
from dataenvgym.executors.early_warnings import EarlyWarnings
from dataenvgym.executors.interface import Episode, build_episode
from dataenvgym.executors.parcels import Parcel
from dataenvgym.executors.ray_worker import Told
from dataenvgym.storage import write_json


class DrivenEpisode:
    """Opens and locks the run directory, brings it up to date, tells the callbacks, closes it."""

    def __init__(self, episode: Episode) -> None:
        self.config = episode.config
        self.directory = episode.directory
        self._episode = episode
        self._open = ExitStack()
        self._plan: EpisodePlan | None = None
        self._started: list[EpisodeCallback] = []
        self._n_announced = 0
        self._has_ended = False

    @property
    def config_text(self) -> str:
        """The configuration's values, as YAML."""
        return resolved_yaml(self.config)

    def open(self) -> None:
        """Check the configuration; then, and only then, lock the run directory and open it."""
        with EarlyWarnings().gathering():  # the worker builds it again, and warns then
            build_episode(self.config, self.directory)
        self._open.enter_context(open_run(self.config, fresh=self._episode.fresh))

    def files(self) -> Parcel:
        """All that the run directory holds."""
        return Parcel.of(self.directory)

    def take(self, told: Told) -> None:
        """Write the files, then tell the callbacks."""
        if told.files is not None:
            told.files.write(self.directory)
        match told.method:
            case "on_start":
                self._on_start(*told.arguments)
            case "on_iteration" if told.arguments[0].iteration < self._n_announced:
                pass  # a second worker tells of what the first one did
            case "on_end":
                self._on_end(*told.arguments)
            case str(method):
                self._n_announced += method == "on_iteration"
                for callback in self._started:
                    getattr(callback, method)(*told.arguments)

    def finish(self) -> None:
        """Write the report, and let go of the run directory."""
        with self._open, log_to(self.directory / "log.txt"):
            write_report(self.directory)

    def fail(self, error: BaseException) -> None:
        """Say in the run directory and to the callbacks what ended the episode, and let it go."""
        with self._open:
            if self._plan is None or self._has_ended:
                return
            summary = self._failed_summary(self._plan, error)
            write_json(self.directory / "summary.json", summary.model_dump(mode="json"))
            EventLog(self.directory / "events.jsonl").on_end(summary)
            self._on_end(summary)

    def _on_start(self, plan: EpisodePlan) -> None:
        if self._plan is not None:
            return
        self._plan = replace(plan, directory=self.directory)
        for callback in self._episode.callbacks:
            self._started.append(callback)
            callback.on_start(self._plan)

    def _on_end(self, summary: Summary) -> None:
        """Every callback hears of the end, whatever another one raises then."""
        self._has_ended = True
        with ExitStack() as stack:
            for callback in self._started:
                stack.callback(callback.on_end, summary)

    def _failed_summary(self, plan: EpisodePlan, error: BaseException) -> Summary:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        changes: dict[str, Any] = {
            "status": status,
            "error": described(error),
            "warnings": read_warnings(self.directory),
        }
        if (before := whole_summary(self.directory)) is not None:
            return before.model_copy(update=changes)
        return Summary(
            task=plan.task,
            agent=plan.agent,
            seed=plan.seed,
            iterations=(),
            best_iteration=0,
            **changes,
        )
