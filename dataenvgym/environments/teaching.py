"""The base of the teaching environments: actions are training data, rewards the student's gain.

    reset() -> the base student's results
    step(action) -> records -> check -> train -> evaluate -> new results, change in score

`TeachingEnvironment` is this loop, for any kind of action. In `OpenEnded` and `SkillList` the
action is the records; in `SkillTree` (see `skill_tree`) an engine writes them.

All results of an iteration are files (see `iterations`). With a `directory`, a killed episode
continues after the last finished phase (`reset(options={"resume": True})`, then `step` with the
same action).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, SupportsFloat

import gymnasium
from gymnasium.error import ResetNeeded

from dataenvgym.environments.checks import CheckedRecord, parse_action, stamp
from dataenvgym.environments.episode_directory import EpisodeDirectory, identity_of
from dataenvgym.environments.interface import PhaseClock
from dataenvgym.environments.iterations import IterationFiles, IterationResult, aim_reached
from dataenvgym.environments.options import EnvironmentOptions, TeachingOptions
from dataenvgym.environments.rendering import headline, skill_table
from dataenvgym.environments.teaching_episode import TeachingEpisode
from dataenvgym.interfaces import TaskInterface, TrainablePredictorInterface, can, expect
from dataenvgym.options import takes
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TrainingDatum
from dataenvgym.records.spaces import CompletedInstancesSpace, RecordsSpace, ReportSpace
from dataenvgym.students.predictors.prompts import check_prompts
from dataenvgym.tasks.adapted_task import task_of

Observation = dict[str, Any]


class TeachingEnvironment(gymnasium.Env[Observation, Any], ABC):
    """An environment with one student to teach and one task.

    The observation is `{"completed": tuple of CompletedTaskInstance, "report":
    PerformanceReport}`, both on the validation split, or on what a pressure of the task shows of
    it (`Pressure.shown`). The reward is the change in validation score. `terminated` is True once
    `target_score` or `max_records` is reached; the number of iterations is limited by gymnasium's
    `TimeLimit`.

    A subclass has an `action_space` and handles actions (`parse`, `records_of`, `pending_action`).
    If it shows more than the evaluated instances, it also overrides `before_training`,
    `learn_from`, `go_on_from` and `observe`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "render_fps": 1,
        "shows_skills": True,
    }

    @takes(EnvironmentOptions)
    def __init__(self, given: EnvironmentOptions) -> None:
        self.set_up(given)

    def set_up(self, given: EnvironmentOptions) -> None:
        """Set the options; constructors of subclasses call it."""
        expect(given.task, TaskInterface, "task")
        expect(given.predictor, TrainablePredictorInterface, "predictor")
        self.options: TeachingOptions = given
        self.task = task_of(given.task)
        self.predictor = given.predictor
        self.labeler = given.labeler
        self.quality = tuple(given.quality)
        self.render_mode = given.render_mode
        self.clock = PhaseClock()
        self.observation_space = gymnasium.spaces.Dict(
            {"completed": CompletedInstancesSpace(), "report": ReportSpace()}
        )
        self._folder = EpisodeDirectory(given.directory)
        self._episode: TeachingEpisode | None = None

    # --- gymnasium's side ---

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with the base student, or continue one.

        Args:
            seed: of all random choices of the episode.
            options: `{"resume": True}` continues the episode in `directory`, if there is one;
                `{"fresh": True}` lets a new episode replace it. `TeachingEnvironmentInterface`
                describes the others, and the contents of `info`.

        Raises:
            TypeError: for an unknown option.
            RunDirectoryError: if `directory` has an episode and `options` neither resume nor
                replace it, if it began with another student or task, or if one of its files is
                damaged or missing.
        """
        super().reset(seed=seed)
        return self._begin(**(options or {}))

    def _begin(
        self,
        *,
        resume: bool = False,
        fresh: bool = False,
        directory: str | Path | None = None,
        test_tasks: Sequence[TaskInterface] = (),
        clock: PhaseClock | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin or continue an episode with these options of `reset`."""
        if directory is not None:
            self._folder.move_to(directory)
        finished = self._folder.claim(self._identity, resume=resume, fresh=fresh)
        self.clock = clock or PhaseClock()
        episode = self._episode = TeachingEpisode(
            task=self.task,
            predictor=self.predictor,
            options=self.options,
            labeler=self.labeler,
            quality=self.quality,
            folder=self._folder,
            seed=self._seed,
            clock=self.clock,
            finished=finished,
            test_tasks=[task_of(test) for test in test_tasks],
        )
        if finished:
            shown = episode.shown(finished[-1].number, *episode.go_back())
            self.go_on_from(finished[-1], shown[0])
        else:
            check_prompts(self.predictor, self.task)
            files = episode.files(0)
            self.clock.start(0)
            began = time.perf_counter()
            completed, report = episode.evaluate(files)
            shown = episode.shown(0, completed, report)
            self.learn_from(files, (), *shown)
            episode.finish(files, report, began=began)
        info = {**self._info(), "is_over": self.is_over}
        if (action := self.pending_action()) is not None:
            info["pending_action"] = action
        return self.observe(tuple(shown[0]), shown[1]), info

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Train the student on the action's records, and evaluate it again.

        Raises:
            InvalidRecordError: for a malformed record (the message names its index and field), or
                one that needs another training stage than the first; the environment is unchanged.
            InvalidActionError: if the action is not in the action space; the environment is
                unchanged.
            ResetNeeded: before the first `reset`.
        """
        episode = self._in_progress("step")
        action = self.parse(action)
        files = episode.open_next()
        began = time.perf_counter() - self.clock.seconds.get("agent", 0.0)
        with episode.undone_if_it_fails():
            records = self.records_of(files, action)
            checked = episode.check(files, records)
            self.before_training(files, checked.accepted)
            taught = checked.accepted
            adapter = episode.train(files, taught)
            completed, report = episode.evaluate(files, adapter)
            if refused := episode.refusal(completed, taught):
                taught, adapter = (), episode.history.last.adapter
                completed, report = episode.turn_back(files, refused)
            shown = episode.shown(files.number, completed, report)
            self.learn_from(files, taught, *shown)
        result = episode.finish(files, report, began=began, checked=checked, adapter=adapter)
        observation = self.observe(tuple(shown[0]), shown[1])
        return observation, result.reward, self.is_over, False, self._info()

    def trial(self, records: Any) -> PerformanceReport:
        """Report the student's results after a step with these records, without keeping anything.

        The records are checked, and the student is trained and evaluated, as in a step, so a step
        with the same records gives the same report, unless the gate would refuse the student: then
        `refused` of the report is set. A trial also trains where a step would only gather records
        (`generations_per_training`), on them and the gathered ones. Afterwards the student, the
        folder and all counters are as before. Agents, policies and engines call
        `predictor.trial(records)`.

        It costs as much as a step: a training, an evaluation, and the questions of quality checks.
        Its seconds count as the phase "trial" of the iteration.

        Raises:
            InvalidRecordError, ResetNeeded: as `step`.
        """
        episode = self._in_progress("trial")
        report = episode.trial(self._parse_records(records))
        shown: PerformanceReport = self.observe((), report)["report"]
        return shown

    def render(self) -> str | None:
        """The episode as text; None and a gymnasium warning without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without render_mode="ansi"')
            return None
        self._in_progress("render")
        return f"{headline(self.results)}\n\n{self.picture()}\n"

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        self._folder.close()

    # --- what a subclass may override ---

    @abstractmethod
    def parse(self, action: Any) -> Any:
        """Parse an action; InvalidActionError or InvalidRecordError if it is invalid."""

    @abstractmethod
    def records_of(self, files: IterationFiles, action: Any) -> Sequence[TrainingDatum]:
        """Return the records of a parsed action, and save them in `files`.

        Continues an interrupted step on the same action, whose results are in `files`.
        """

    @abstractmethod
    def pending_action(self) -> Any | None:
        """The action of an interrupted iteration, or None; step with it again to resume."""

    def before_training(self, files: IterationFiles, accepted: Sequence[TrainingDatum]) -> None:
        """Called before the student is trained on `accepted`."""

    def learn_from(
        self,
        files: IterationFiles,
        accepted: Sequence[TrainingDatum],
        completed: Sequence[CompletedTaskInstance],
        report: PerformanceReport,
    ) -> None:
        """Called after the student was trained on `accepted` and evaluated.

        If the gate refused it, this is called without records, with the student before it.
        """

    def go_on_from(self, files: IterationFiles, completed: Sequence[CompletedTaskInstance]) -> None:
        """Called with the last finished iteration of a resumed episode."""

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        """The agent's observation of these results."""
        return {"completed": completed, "report": report}

    def picture(self) -> str:
        """The lines of `render` below the score: the skills as a table, if the agent sees them."""
        if not self.metadata["shows_skills"]:
            return "(this environment hides the skills)"
        return skill_table(self.results[0].report, self.results[-1].report)

    # --- for runners (see `TeachingEnvironmentInterface`) ---

    @property
    def directory(self) -> Path:
        return self._folder.path

    @property
    def is_temporary(self) -> bool:
        return self._folder.is_temporary

    @property
    def results(self) -> tuple[IterationResult, ...]:
        return tuple(self._episode.history.results) if self._episode else ()

    @property
    def generations_per_training(self) -> int:
        return self.options.generations_per_training

    @property
    def is_over(self) -> bool:
        """True if the target score or the record budget is reached."""
        last, options = self.results[-1], self.options
        return aim_reached(
            last.val_score, last.n_records_total, options.target_score, options.max_records
        )

    def _in_progress(self, method: str) -> TeachingEpisode:
        """The episode; ResetNeeded before the first `reset`."""
        if self._episode is None or not self._episode.history.results:
            raise ResetNeeded(f"{method}() needs an episode in progress: call reset() first")
        return self._episode

    def _identity(self) -> dict[str, Any]:
        options = {**self.options.values(), "seed": self._seed}
        if self.labeler is not None and can(self.labeler, "describe"):
            options["skills"] = self.labeler.describe()
        if self.quality:
            options["quality"] = [check.reason for check in self.quality]
        return identity_of(type(self).__name__, self.task, self.predictor, options)

    @property
    def _files_of_next(self) -> IterationFiles:
        return IterationFiles(self._folder.iterations, len(self.results))

    def _parse_records(self, records: Any) -> tuple[TrainingDatum, ...]:
        # records that are trained on together must have the same stage
        return parse_action(records, self._in_progress("step").history.stage)

    @property
    def _seed(self) -> int:
        # gymnasium draws 128 bits if no seed was given; JSON numbers have 64
        return int(self.np_random_seed or 0) % 2**63

    def _info(self) -> dict[str, Any]:
        last = self.results[-1]
        return {
            "iteration": float(last.iteration),
            "score": last.report.score,
            "n_errors": float(last.report.n_errors),
            "n_records": float(last.n_records),
            "n_records_total": float(last.n_records_total),
            "n_dropped": float(sum(last.dropped.values())),
            "refused": float(last.refused is not None),
        }


# --- environments in which the agent writes the records itself ---


class RecordEnvironment(TeachingEnvironment):
    """The action is a batch of training records (models or mappings)."""

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        return RecordsSpace()

    def parse(self, action: Any) -> tuple[TrainingDatum, ...]:
        return self._parse_records(action)

    def records_of(
        self, files: IterationFiles, action: Sequence[TrainingDatum]
    ) -> Sequence[TrainingDatum]:
        records = stamp(action, files.number)
        if files.read_submitted() != records:
            files.clear()
            files.save("records.jsonl", [CheckedRecord(record=one) for one in records])
        return records

    def pending_action(self) -> list[TrainingDatum] | None:
        return self._files_of_next.read_submitted()


class OpenEnded(RecordEnvironment):
    """The agent sees the evaluated instances and the overall score, but no skills."""

    metadata: ClassVar[dict[str, Any]] = {**TeachingEnvironment.metadata, "shows_skills": False}  # type: ignore[misc]

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        shown = tuple(each.with_skill(None, None) for each in completed)
        hidden: dict[str, Any] = {"skills": ()}
        if report.refused is not None:
            hidden["refused"] = report.refused.model_copy(update={"skills": ()})
        return {"completed": shown, "report": report.model_copy(update=hidden)}


class SkillList(RecordEnvironment):
    """The agent sees the evaluated instances with their skills, and the report by skill."""
