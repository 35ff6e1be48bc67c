"""The teaching environments: the agent's action is training data, its reward is what they teach.

    reset() -> how the untouched student does
    step(action) -> records -> check -> train -> evaluate -> how it does now, change in score

`TeachingEnvironment` is that loop, and knows no action. In `OpenEnded` and `SkillList` (see
`record_environments`) the action is the records; `SkillTree` (see `skill_tree`) has them written as
the action says.

Everything an iteration produces is a file (see `iterations`): with a `directory`, an episode that
was killed goes on from the last finished phase (`reset(options={"resume": True})`, then `step`
with the same action).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, SupportsFloat, TypedDict

import gymnasium
from gymnasium.error import ResetNeeded

from dataenvgym.environments.actions import parse_action, stamp
from dataenvgym.environments.checks import CheckedRecords, RecordChecks
from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.evaluation import evaluated, labeled_by
from dataenvgym.environments.history import History, last_completed
from dataenvgym.environments.identity import identity_of, refuse_another, write_identity
from dataenvgym.environments.iterations import (
    IterationFiles,
    IterationResult,
    checked_iterations,
)
from dataenvgym.environments.options import Mode, TeachingOptions
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.environments.record_judge import RecordJudge
from dataenvgym.environments.rendering import RENDER_MODES, checked_mode, headline, skill_table
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.student import Student
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.format_version import check_format, raise_format
from dataenvgym.interfaces import (
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TrainablePredictorInterface,
)
from dataenvgym.progress import tell
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TrainingDatum
from dataenvgym.run_warnings import warn_run
from dataenvgym.spaces import CompletedInstancesSpace, ReportSpace

Observation = dict[str, Any]


class EnvironmentOptions(TypedDict, total=False):
    """Keyword arguments of `TeachingEnvironment` that each environment passes on."""

    directory: str | Path | None
    mode: Mode
    replay: int
    target_score: float | None
    max_records: int | None
    similarity: float
    labeler: SkillLabelerInterface | None
    quality: Sequence[RecordCheckInterface]
    render_mode: str | None


class TeachingEnvironment(gymnasium.Env[Observation, Any], ABC):
    """One student to be taught one task.

    The observation is `{"completed": tuple of CompletedTaskInstance, "report":
    PerformanceReport}`, both on the validation split. The reward is the change in validation
    score. `terminated` is True once `target_score` or `max_records` is reached; the number of
    iterations is limited by gymnasium's `TimeLimit`.

    A subclass has an `action_space` and says what an action is (`parse`, `records_of`,
    `pending_action`); one that sees more than the evaluated instances overrides `learn_from`,
    `go_on_from` and `observe`, too.

    Args:
        task: what the student is evaluated on.
        predictor: the student.
        directory: where `iterations/` goes; None is a temporary folder, gone after `close`.
        mode: "incremental" trains on, from the last adapter, on the new records and a sample of
            `replay` earlier ones; "accumulate" trains from the base on all records so far.
        replay: size of that sample.
        target_score: the validation score at which the episode ends, or None.
        max_records: the most records that the episode trains on, or None.
        similarity: Jaccard threshold of the near-duplicate check.
        labeler: says which skills the instances need, in place of the task's gold skills.
        quality: further checks of records, by which what fails is dropped.
        render_mode: "ansi" makes `render` return text: the score, and the skills as a table where
            the agent sees them.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # type: ignore[misc]
    shows_skills = True
    takes_records = True

    def __init__(
        self,
        task: TaskInterface,
        predictor: TrainablePredictorInterface,
        *,
        directory: str | Path | None = None,
        mode: Mode = "incremental",
        replay: int = 100,
        target_score: float | None = None,
        max_records: int | None = None,
        similarity: float = 0.9,
        labeler: SkillLabelerInterface | None = None,
        quality: Sequence[RecordCheckInterface] = (),
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = checked_mode(render_mode)
        self.task = task
        self.predictor = predictor
        self.options = TeachingOptions(mode, replay, target_score, max_records, similarity)
        self.labeler = labeler
        self.quality = tuple(quality)
        self.clock = PhaseClock()
        self.test_tasks: Sequence[TaskInterface] = ()
        """Further tasks whose problems records must not give away; a runner sets them."""
        self.observation_space = gymnasium.spaces.Dict(
            {"completed": CompletedInstancesSpace(), "report": ReportSpace()}
        )
        self._episode = EpisodeDirectory(directory)
        self._student = Student(predictor, self._episode, self.options)
        self._history = History()
        self._checks = RecordChecks()

    # --- gymnasium's side ---

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with the untouched student, or go on with one.

        Args:
            seed: from which every random choice of the episode derives.
            options: `{"resume": True}` goes on with what `directory` holds, if anything;
                `{"fresh": True}` lets a new episode replace it.

        Raises:
            RunDirectoryError: if `directory` holds an episode of somebody else and `options` do
                not say what to do with it, if it was begun with another student or task, or if
                one of its files is damaged or gone.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        resume, fresh = options.pop("resume", False), options.pop("fresh", False)
        if options:
            name = next(iter(options))
            raise ConfigurationError(
                f"reset() has no option {name!r}.{did_you_mean(name, ('resume', 'fresh'))} "
                "It has: resume, fresh."
            )
        if resume:
            check_format(self.directory)
        finished = checked_iterations(self._root) if resume else []
        if not resume and not fresh:
            self._episode.refuse_strange()
        files = IterationFiles(self._root, 0)
        identity = self._identity()
        if finished or (resume and files.read_completed() is not None):
            refuse_another(self.directory, identity)
        else:
            self._episode.clear()
            write_identity(self.directory, identity)
        self._episode.adopt()
        self._episode.clear_scratch()
        keeps_records = self.options.mode == "accumulate"
        self._history = History.of(self._root, finished, keeps_records=keeps_records)
        self._checks = RecordChecks.for_task(
            self.task,
            similarity=self.options.similarity,
            max_records=self.options.max_records,
            others=self.test_tasks,
        )
        for one in finished if self._checks.learns else ():
            self._checks.learn(one.read_completed() or ())
        for number, count in self._history.counts.items():
            if count:
                self._checks.accept(self._history.records_of(number), iteration=number)
        self.predictor.reset()
        if finished:
            return self._go_on_from(finished)
        self.clock.start(0)
        began = time.perf_counter()
        completed, report = self._evaluate(files)
        self.learn_from(files, (), completed, report)
        self._finish(files, IterationResult(iteration=0, report=report), (), began)
        return self._observation(completed), self._info()

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Train the student as `action` says and evaluate it again.

        Raises:
            InvalidRecordError: for a malformed record, naming its index and field, or one that
                needs another training stage than the first; the environment is as before.
            InvalidActionError: if the action is not in the action space; the environment is as
                before.
            ResetNeeded: before the first `reset`.
        """
        if not self._history.results:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        action = self.parse(action)
        previous = self._history.last
        number = previous.iteration + 1
        files = IterationFiles(self._root, number)
        if self.clock.iteration != number:
            self.clock.start(number)
        raise_format(self.directory)
        began = time.perf_counter() - self.clock.seconds.get("agent", 0.0)
        try:
            records = self.records_of(files, action)
            with self.clock("check"):
                checked = self._check(files, records)
            with files.training():
                adapter = self._student.train(
                    checked.accepted, files, self._history, seed=self._seed, clock=self.clock
                )
            completed, report = self._evaluate(files)
            self.learn_from(files, checked.accepted, completed, report)
        except BaseException as error:  # Ctrl-C in a notebook too
            self._student.go_back(previous.adapter, error)
            raise
        self._checks.accept(checked.accepted, iteration=number)
        result = IterationResult(
            iteration=number,
            report=report,
            reward=report.score - previous.report.score,
            n_records=len(checked.accepted),
            n_records_total=previous.n_records_total + len(checked.accepted),
            dropped=checked.reasons,
            unjudged=checked.unjudged,
            adapter=adapter,
        )
        self._finish(files, result, checked.accepted, began)
        return self._observation(completed), result.reward, self.is_over, False, self._info()

    def trial(self, records: Any) -> PerformanceReport:
        """How the student would do after a step with these records; nothing is kept of it.

        The records are checked, and the student is trained and evaluated, as in a step from here,
        so that a step with the same records gives the same report. Then the student, the folder
        and all counters are as before. Agents, policies and engines try records by
        `predictor.trial(records)`.

        The cost is that of a step: a training, an evaluation, and the questions of quality checks.
        Its seconds count as the phase "trial" of the iteration.

        Raises:
            InvalidRecordError: as `step`.
            ResetNeeded: before the first `reset`.
        """
        if not self._history.results:
            raise ResetNeeded("trial() needs an episode in progress: call reset() first")
        records = self._parse_records(records)
        previous = self._history.last
        number = previous.iteration + 1
        if self.clock.iteration != number:
            self.clock.start(number)
        began = time.perf_counter()
        warn_run(_TRIED)  # in each iteration, so that a resumed run has the same warnings
        with self._episode.scratch() as folder:
            try:
                report = self._tried(records, IterationFiles(folder, number))
                self._student.load(previous.adapter)
            except BaseException as error:
                self._student.go_back(previous.adapter, error)
                raise
        seconds = time.perf_counter() - began
        self.clock.add("trial", seconds)
        gain = report.score - previous.report.score
        score = f"{report.score:.3f} ({gain:+.3f})"
        tell(f"trial: {len(records)} records, score {score}, {seconds:.0f} s")
        shown: PerformanceReport = self.observe((), report)["report"]
        return shown

    def render(self) -> str | None:
        """The episode as text; None without a render mode, with a warning as gymnasium's own.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without render_mode="ansi"')
            return None
        if not self._history.results:
            raise ResetNeeded("render() needs an episode in progress: call reset() first")
        return f"{headline(self.results)}\n\n{self.picture()}\n"

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        self._episode.close()

    # --- what a subclass may override ---

    @abstractmethod
    def parse(self, action: Any) -> Any:
        """The action, if it can be taken.

        Raises:
            InvalidActionError, InvalidRecordError: if it cannot; nothing is changed.
        """

    @abstractmethod
    def records_of(self, files: IterationFiles, action: Any) -> Sequence[TrainingDatum]:
        """The records that a parsed action stands for, as `files` has them then.

        What `files` has of the same action, from an interrupted step, is gone on with.
        """

    @abstractmethod
    def pending_action(self) -> Any | None:
        """The action of an interrupted iteration, or None: resume by stepping with it again."""

    def learn_from(
        self,
        files: IterationFiles,
        accepted: Sequence[TrainingDatum],
        completed: Sequence[CompletedTaskInstance],
        report: PerformanceReport,
    ) -> None:
        """Called once the student is trained on `accepted` and evaluated."""

    def go_on_from(self, files: IterationFiles, completed: Sequence[CompletedTaskInstance]) -> None:
        """Called with the last finished iteration of an episode that is resumed."""

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        """What the agent sees of that."""
        return {"completed": completed, "report": report}

    def picture(self) -> str:
        """What `render` shows below the score: the skills as a table, if the agent sees them."""
        if not self.shows_skills:
            return "(this environment hides the skills)"
        return skill_table(self.results[0].report, self._history.last.report)

    # --- what a runner asks ---

    @property
    def directory(self) -> Path:
        """The folder that holds `iterations/`."""
        return self._episode.path

    @property
    def is_temporary(self) -> bool:
        """Whether the folder goes when the environment is closed."""
        return self._episode.is_temporary

    @property
    def results(self) -> tuple[IterationResult, ...]:
        """The finished iterations of this episode, the base student first."""
        return tuple(self._history.results)

    @property
    def is_over(self) -> bool:
        """Whether the target score or the record budget is reached."""
        return self.options.end_at(self._history.last)

    def keep_in(self, directory: str | Path) -> None:
        """Keep the next episode in that folder; for an environment made without one.

        Raises:
            ConfigurationError: if it has another directory.
        """
        self._episode.move_to(directory)

    def load_iteration(self, number: int) -> None:
        """Let the predictor answer as after that finished iteration."""
        self._student.load(self._history.results[number].adapter)

    # --- one step ---

    def _check(self, files: IterationFiles, records: Sequence[TrainingDatum]) -> CheckedRecords:
        if (checked := files.read_checked()) is None:
            checked = self._judged(files.number, records)
            if checked.dropped and not checked.accepted:
                warn_run(f"no record was accepted: {_counts(checked.reasons)}")
            files.write_checked(checked)
        return checked

    def _judged(self, number: int, records: Sequence[TrainingDatum]) -> CheckedRecords:
        judge = RecordJudge(self.quality, ShownStudent(self.predictor))
        checked = self._checks.check(stamp(records, number), judge, iteration=number)
        return checked.counting(judge.unjudged)

    def _tried(self, records: Sequence[TrainingDatum], files: IterationFiles) -> PerformanceReport:
        """The report after a training on the records, all of it in `files`."""
        files.clear()
        clock = PhaseClock()  # its phases are not those of the iteration
        accepted = self._judged(files.number, records).accepted
        self._student.train(accepted, files, self._history, seed=self._seed, clock=clock)
        _, report = evaluated(self.task, self.predictor, self.labeler, files, clock)
        return report

    def _evaluate(
        self, files: IterationFiles
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        completed, report = evaluated(self.task, self.predictor, self.labeler, files, self.clock)
        self._checks.learn(completed)
        return completed, report

    def _finish(
        self,
        files: IterationFiles,
        result: IterationResult,
        accepted: Sequence[TrainingDatum],
        began: float,
    ) -> None:
        seconds = {**self.clock.seconds, "total": time.perf_counter() - began}
        result = result.model_copy(update={"seconds": seconds})
        result = files.write_result(result)
        self._history.append(result, accepted)

    # --- the episode ---

    def _go_on_from(self, finished: list[IterationFiles]) -> tuple[Observation, dict[str, Any]]:
        self._student.load(self._history.last.adapter)
        completed = labeled_by(self.labeler, last_completed(finished), self.clock)
        self.go_on_from(finished[-1], completed)
        return self._observation(completed), self._info()

    def _identity(self) -> dict[str, Any]:
        options = {**self.options.described(), "seed": self._seed}
        if describe := getattr(self.labeler, "describe", None):
            options["skills"] = describe()
        if self.quality:
            options["quality"] = [check.reason for check in self.quality]
        return identity_of(type(self).__name__, self.task, self.predictor, options)

    @property
    def _files_of_next(self) -> IterationFiles:
        """Where the iteration is that comes next, or that was interrupted."""
        return IterationFiles(self._root, len(self._history.results))

    def _parse_records(self, records: Any) -> tuple[TrainingDatum, ...]:
        """Records that the next training can take; see `parse_action`."""
        # "accumulate" trains on the earlier records too, so all have to be of one stage there
        beside = self._history.records[:1] if self.options.mode == "accumulate" else ()
        return parse_action(records, beside=beside)

    @property
    def _root(self) -> Path:
        return self._episode.iterations

    @property
    def _seed(self) -> int:
        # gymnasium draws 128 bits where no seed was given; JSON holds 64
        return int(self.np_random_seed or 0) % 2**63

    # --- what the agent sees ---

    def _observation(self, completed: Sequence[CompletedTaskInstance]) -> Observation:
        return self.observe(tuple(completed), self._history.last.report)

    def _info(self) -> dict[str, Any]:
        last = self._history.last
        return {
            "iteration": float(last.iteration),
            "score": last.report.score,
            "n_errors": float(last.report.n_errors),
            "n_records": float(last.n_records),
            "n_records_total": float(last.n_records_total),
            "n_dropped": float(sum(last.dropped.values())),
        }


_TRIED = (
    "records were tried on the student without being kept: each trial costs a training and an "
    "evaluation on the validation split, which agents without trials do not have"
)


def _counts(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in reasons.items())
