"""One episode: its student, its records so far, and the phases of its iterations.

restore -> evaluate -> finish, then for each action: check -> train -> evaluate -> finish
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from dataenvgym.environments.actions import stamp
from dataenvgym.environments.checks import CheckedRecords, RecordChecks, reasons_in_words
from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.evaluation import evaluated, labeled_by
from dataenvgym.environments.history import History, last_completed
from dataenvgym.environments.iteration_result import IterationResult
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.environments.record_judge import RecordJudge
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.student import Student
from dataenvgym.interfaces import (
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TrainablePredictorInterface,
)
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TrainingDatum
from dataenvgym.run_warnings import warn_run


@dataclass
class Episode:
    """The parts of an episode, and its progress so far.

    Attributes:
        task, predictor, options, labeler, quality: as in `TeachingEnvironment`.
        folder: has its files.
        seed: of all its random choices.
        clock: times its phases.
        history: the finished iterations, and their records.
        checks: for new records.
        student: the predictor; its adapters are in `folder`.
    """

    task: TaskInterface
    predictor: TrainablePredictorInterface
    options: TeachingOptions
    labeler: SkillLabelerInterface | None
    quality: tuple[RecordCheckInterface, ...]
    folder: EpisodeDirectory
    seed: int
    clock: PhaseClock
    history: History = field(default_factory=History)
    checks: RecordChecks = field(default_factory=RecordChecks)
    student: Student = field(init=False)

    def __post_init__(self) -> None:
        self.student = Student(self.predictor, self.folder, self.options)

    def restore(
        self, finished: Sequence[IterationFiles], test_tasks: Sequence[TaskInterface]
    ) -> None:
        """Restore the state after finished iterations from their files.

        Args:
            test_tasks: further tasks whose problems the records must not give away.
        """
        root = self.folder.iterations
        keeps_records = self.options.mode == "accumulate"
        self.history = History.of(root, finished, keeps_records=keeps_records)
        self.checks = RecordChecks.for_task(
            self.task,
            similarity=self.options.similarity,
            max_records=self.options.max_records,
            others=test_tasks,
        )
        for one in finished if self.checks.learns else ():
            self.checks.learn(one.read_completed() or ())
        for one in finished[1:]:
            self.checks.accept(one.read_records(), iteration=one.number, bands=one.read_bands())
        self.student.take()
        self.predictor.reset()

    def continue_from(self, finished: Sequence[IterationFiles]) -> list[CompletedTaskInstance]:
        """Load the student of the last of these iterations; return its completed instances."""
        self.student.load(self.history.last.adapter)
        return labeled_by(self.labeler, last_completed(finished), self.clock)

    def open_next(self) -> IterationFiles:
        """Start timing the next or interrupted iteration, and return its files.

        If another episode has used the predictor since, its adapter is replaced by this one's.
        """
        self.student.hold(self.history.last.adapter)
        files = self.files_of_next
        if self.clock.iteration != files.number:
            self.clock.start(files.number)
        return files

    @property
    def files_of_next(self) -> IterationFiles:
        return IterationFiles(self.folder.iterations, len(self.history.results))

    # --- the phases of an iteration ---

    def check(self, files: IterationFiles, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the records, unless `files` already has the result."""
        with self.clock("check"):
            if (checked := files.read_checked()) is None:
                checked = self.judged(files.number, records)
                if checked.dropped and not checked.accepted:
                    warn_run(f"no record was accepted: {reasons_in_words(checked.reasons)}")
                files.write_checked(checked)
        return checked

    def judged(self, number: int, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the records of this iteration without writing files."""
        judge = RecordJudge(self.quality, ShownStudent(self.predictor))
        checked = self.checks.check(stamp(records, number), judge, iteration=number)
        return checked.counting(judge.unjudged)

    def train(self, files: IterationFiles, accepted: Sequence[TrainingDatum]) -> int | None:
        """Train on accepted records; return the iteration whose adapter is then active."""
        with files.training():
            return self.student.train(
                accepted, files, self.history, seed=self.seed, clock=self.clock
            )

    def evaluate(
        self, files: IterationFiles
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        """Evaluate the student on the validation split, unless `files` has its answers."""
        completed, report = evaluated(self.task, self.predictor, self.labeler, files, self.clock)
        self.checks.learn(completed)
        return completed, report

    def finish(
        self,
        files: IterationFiles,
        report: PerformanceReport,
        *,
        began: float,
        checked: CheckedRecords | None = None,
        adapter: int | None = None,
    ) -> IterationResult:
        """Write and remember the iteration's result.

        Args:
            began: the start of the iteration, by `time.perf_counter`.
            checked, adapter: results of `check` and `train`; the base student has neither.
        """
        checked = checked or CheckedRecords((), ())
        accepted, reward, total = checked.accepted, 0.0, 0
        if files.number:
            files.write_bands(self.checks.accept(accepted, iteration=files.number))
            reward = report.score - self.history.last.report.score
            total = self.history.last.n_records_total
        result = IterationResult(
            iteration=files.number,
            report=report,
            reward=reward,
            n_records=len(accepted),
            n_records_total=total + len(accepted),
            dropped=checked.reasons,
            unjudged=checked.unjudged,
            seconds={**self.clock.seconds, "total": time.perf_counter() - began},
            adapter=adapter,
        )
        result = files.write_result(result)
        self.history.append(result, accepted)
        return result

    def go_back(self, error: BaseException) -> None:
        """Load the student of the last finished iteration after a step failed with this error."""
        self.student.go_back(self.history.last.adapter, error)
