"""The teaching environments: the agent's action is training data, its reward is what they teach.

    reset() -> how the untouched student does
    step(records) -> check -> train -> evaluate -> how it does now, and the change in score

`TeachingEnvironment` is that loop. `OpenEnded` shows the evaluated instances without their gold
skills; `SkillList` shows the skills, and the report grouped by them.

Everything an iteration produces is a file (see `iterations`): with a `directory`, an episode that
was killed goes on from the last finished phase (`reset(options={"resume": True})`, then `step`
with the same records).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, SupportsFloat

import gymnasium
from gymnasium.error import ResetNeeded

from dataenvgym.environments.actions import parse_action, stamp
from dataenvgym.environments.checks import CheckedRecords, RecordChecks
from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.identity import identity_of, refuse_another, write_identity
from dataenvgym.environments.iterations import (
    IterationFiles,
    IterationResult,
    finished_iterations,
)
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.environments.timed_predictor import TimedPredictor
from dataenvgym.errors import (
    ConfigurationError,
    DataEnvGymError,
    RunDirectoryError,
    did_you_mean,
)
from dataenvgym.interfaces import (
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TrainablePredictorInterface,
    TrainingRun,
)
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TrainingDatum
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.spaces import CompletedInstancesSpace, RecordsSpace, ReportSpace

Observation = dict[str, Any]
Mode = Literal["incremental", "accumulate"]


class TeachingEnvironment(gymnasium.Env[Observation, Sequence[TrainingDatum]]):
    """One student to be taught one task.

    The observation is `{"completed": tuple of CompletedTaskInstance, "report":
    PerformanceReport}`, both on the validation split. The action is a batch of training records
    (models or mappings). The reward is the change in validation score. `terminated` is True once
    `target_score` or `max_records` is reached; the number of iterations is limited by gymnasium's
    `TimeLimit`.

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
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]
    shows_skills = False

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
    ) -> None:
        if mode not in ("incremental", "accumulate"):
            raise ConfigurationError(
                f"mode is {mode!r}, expected 'incremental' or 'accumulate'."
                f"{did_you_mean(str(mode), ('incremental', 'accumulate'))}"
            )
        if replay < 0:
            raise ConfigurationError(f"replay is {replay}, expected 0 or more records")
        if not 0 < similarity < 1:
            raise ConfigurationError(f"similarity is {similarity}, expected between 0 and 1")
        if max_records is not None and max_records < 0:
            raise ConfigurationError(f"max_records is {max_records}, expected 0 or more, or None")
        self.task = task
        self.predictor = predictor
        self.mode = mode
        self.replay = replay
        self.target_score = target_score
        self.max_records = max_records
        self.similarity = similarity
        self.labeler = labeler
        self.quality = tuple(quality)
        self.clock = PhaseClock()
        self.action_space = RecordsSpace()
        self.observation_space = gymnasium.spaces.Dict(
            {"completed": CompletedInstancesSpace(), "report": ReportSpace()}
        )
        self._episode = EpisodeDirectory(directory)
        self._results: list[IterationResult] = []
        self._records: list[TrainingDatum] = []
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
                not say what to do with it, or if it was begun with another student or task.
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
        finished = finished_iterations(self._root) if resume else []
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
        self._results, self._records = [], []
        self._checks = RecordChecks.for_task(
            self.task, similarity=self.similarity, max_records=self.max_records
        )
        self.predictor.reset()
        if finished:
            return self._go_on_from(finished)
        self.clock.start(0)
        began = time.perf_counter()
        completed, report = self._evaluate(files)
        self._finish(files, IterationResult(iteration=0, report=report), began)
        return self._observation(completed), self._info()

    def step(
        self, action: Sequence[TrainingDatum]
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Train the student on `action` and evaluate it again.

        Raises:
            InvalidRecordError: for a malformed record, naming its index and field, or one that
                needs another training stage than the first; the environment is as before.
            InvalidActionError: if the action is no sequence of records.
            ResetNeeded: before the first `reset`.
        """
        if not self._results:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        # "accumulate" trains on the earlier records too, so all have to be of one stage there
        beside = self._records if self.mode == "accumulate" else ()
        records = parse_action(action, beside=beside)
        previous = self._results[-1]
        number = previous.iteration + 1
        files = IterationFiles(self._root, number)
        if self.clock.iteration != number:
            self.clock.start(number)
        began = time.perf_counter() - self.clock.seconds.get("agent", 0.0)
        if files.read_submitted() != list(records):
            files.clear()
            files.write_submitted(records)
        try:
            with self.clock("check"):
                checked = self._check(files, records)
            adapter = self._train(files, checked.accepted, previous.adapter)
            completed, report = self._evaluate(files)
        except BaseException as error:  # Ctrl-C in a notebook too
            self._go_back(previous.adapter, error)
            raise
        self._records += checked.accepted
        self._checks.accept(checked.accepted)
        result = IterationResult(
            iteration=number,
            report=report,
            reward=report.score - previous.report.score,
            n_records=len(checked.accepted),
            n_records_total=previous.n_records_total + len(checked.accepted),
            dropped=checked.reasons,
            adapter=adapter,
        )
        self._finish(files, result, began)
        return self._observation(completed), result.reward, self.is_over, False, self._info()

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        self._episode.close()

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
        return tuple(self._results)

    @property
    def is_over(self) -> bool:
        """Whether the target score or the record budget is reached."""
        last = self._results[-1]
        return (self.target_score is not None and last.report.score >= self.target_score) or (
            self.max_records is not None and last.n_records_total >= self.max_records
        )

    def pending_records(self) -> list[TrainingDatum] | None:
        """The records of an interrupted iteration: resume by stepping with them again."""
        return IterationFiles(self._root, self._results[-1].iteration + 1).read_submitted()

    def load_iteration(self, number: int) -> None:
        """Let the predictor answer as after that finished iteration."""
        self._load(self._results[number].adapter)

    # --- one step ---

    def _check(self, files: IterationFiles, records: Sequence[TrainingDatum]) -> CheckedRecords:
        checked = self._checks.check(stamp(records, files.number))
        files.write_checked(checked)
        return checked

    def _train(
        self, files: IterationFiles, accepted: Sequence[TrainingDatum], active: int | None
    ) -> int | None:
        """Train on what was accepted; the iteration whose adapter is active afterwards."""
        if not accepted:
            return active
        incremental = self.mode == "incremental"
        run = TrainingRun(
            directory=files.directory,
            seed=derive_seed(self._seed, files.number, "train"),
            start="adapter" if incremental else "base",
            phase=self.clock,
        )
        stage = stage_of(accepted[0])
        earlier = self._replayed(files.number, stage) if incremental else self._records
        self.predictor.train([*earlier, *accepted], run)
        return files.number

    def _replayed(self, iteration: int, stage: str) -> list[TrainingDatum]:
        """A sample of earlier records that are trained in the same stage."""
        candidates = [record for record in self._records if stage_of(record) == stage]
        rng = derive_rng(self._seed, iteration, "replay")
        size = min(self.replay, len(candidates))
        picks = rng.choice(len(candidates), size, replace=False) if size else ()
        return [candidates[int(i)] for i in sorted(picks)]

    def _evaluate(
        self, files: IterationFiles
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        if (completed := files.read_completed()) is not None:
            return completed, self.task.generate_performance_report(completed)
        predictor = TimedPredictor(self.predictor)
        with self.clock("generate"):
            began = time.perf_counter()
            completed = list(self.task.evaluate(predictor))
            elapsed = time.perf_counter() - began
        self.clock.add("generate", predictor.seconds - elapsed)
        self.clock.add("score", elapsed - predictor.seconds)
        # raises if nothing could be scored; saved only then, so that a resumed run tries again
        report = self.task.generate_performance_report(completed)
        with self.clock("save"):
            files.write_completed(completed)
        return completed, report

    def _finish(self, files: IterationFiles, result: IterationResult, began: float) -> None:
        seconds = {**self.clock.seconds, "total": time.perf_counter() - began}
        result = result.model_copy(update={"seconds": seconds})
        files.write_result(result)
        self._results.append(result)

    # --- the episode ---

    def _go_on_from(self, finished: list[IterationFiles]) -> tuple[Observation, dict[str, Any]]:
        for files in finished:
            self._results.append(files.read_result())
            self._records += files.read_records()
        self._checks.accept(self._records)
        self._load(self._results[-1].adapter)
        completed = finished[-1].read_completed()
        if completed is None:
            raise RunDirectoryError(
                f"{finished[-1].directory} is finished but has no completed.jsonl; "
                "restore it, or start the run afresh"
            )
        return self._observation(completed), self._info()

    def _identity(self) -> dict[str, Any]:
        options = {
            name: getattr(self, name)
            for name in ("mode", "replay", "target_score", "max_records", "similarity")
        }
        options["seed"] = self._seed
        return identity_of(type(self).__name__, self.task, self.predictor, options)

    def _load(self, adapter: int | None) -> None:
        if adapter is None:
            self.predictor.reset()
        else:
            self.predictor.load(IterationFiles(self._root, adapter).adapter)

    def _go_back(self, adapter: int | None, error: BaseException) -> None:
        """Let the predictor answer as before the step; the step's own error is what counts."""
        try:
            self._load(adapter)
        except DataEnvGymError as another:
            error.add_note(f"the student could not be brought back either: {another}")

    @property
    def _root(self) -> Path:
        return self._episode.iterations

    @property
    def _seed(self) -> int:
        # gymnasium draws 128 bits where no seed was given; JSON holds 64
        return int(self.np_random_seed or 0) % 2**63

    # --- what the agent sees ---

    def _observation(self, completed: Sequence[CompletedTaskInstance]) -> Observation:
        report = self._results[-1].report
        if self.shows_skills:
            return {"completed": tuple(completed), "report": report}
        return {
            "completed": tuple(_without_skill(c) for c in completed),
            "report": report.model_copy(update={"skills": ()}),
        }

    def _info(self) -> dict[str, Any]:
        last = self._results[-1]
        return {
            "iteration": float(last.iteration),
            "score": last.report.score,
            "n_errors": float(last.report.n_errors),
            "n_records": float(last.n_records),
            "n_records_total": float(last.n_records_total),
            "n_dropped": float(sum(last.dropped.values())),
        }


class OpenEnded(TeachingEnvironment):
    """The agent sees the evaluated instances and the overall score, and no gold skills."""


class SkillList(TeachingEnvironment):
    """The agent sees the evaluated instances with their skills, and the report by skill."""

    shows_skills = True


def _without_skill(completed: CompletedTaskInstance) -> CompletedTaskInstance:
    instance = completed.instance.model_copy(update={"skill": None, "category": None})
    return completed.model_copy(update={"instance": instance})
