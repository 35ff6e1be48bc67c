"""One episode: its student, its records so far, and the phases of its iterations.

restore -> evaluate -> finish, then for each action: check -> train -> evaluate -> gate -> finish

A trial trains and evaluates the student in the same way, and keeps nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dataenvgym.environments.checks import (
    CheckedRecords,
    RecordChecks,
    RecordJudge,
    reasons_in_words,
)
from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.gate import refusal
from dataenvgym.environments.history import History
from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.environments.options import TeachingOptions, stamp
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.environments.shown_student import ShownStudent, TimedPredictor
from dataenvgym.environments.student import Student
from dataenvgym.errors import RunDirectoryError
from dataenvgym.events import tell, warn_run
from dataenvgym.interfaces import (
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TrainablePredictorInterface,
)
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, Refusal, TrainingDatum
from dataenvgym.tasks.adapted_task import evaluated_by, report_of, task_of
from dataenvgym.tasks.base import Task, attempts_for

_TRIED = (
    "records were tried on the student without being kept: each trial costs a training and an "
    "evaluation on the validation split, which agents without trials do not have"
)


@dataclass
class TeachingEpisode:
    """The parts of an episode, and its progress so far.

    Attributes:
        task, predictor, options, labeler, quality: as in `TeachingEnvironment`.
        folder: has its files, and the adapters of the student.
        seed: of all its random choices.
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
    _marks: dict[Any, bytes] = field(default_factory=dict)  # of the problems evaluated so far

    def __post_init__(self) -> None:
        self.student = Student(self.predictor, self.folder, self.options)

    def restore(
        self, finished: Sequence[IterationFiles], test_tasks: Sequence[TaskInterface]
    ) -> None:
        """Restore the state after finished iterations from their files."""
        root = self.folder.iterations
        self.history = History.of(root, finished, self.options)
        self.checks = RecordChecks(
            self.task,
            others=test_tasks,
            similarity=self.options.similarity,
            max_records=self.options.max_records,
        )
        for one in finished if self.checks.learns else ():
            self.checks.learn(one.read_trained() or ())
        for one in finished[1:]:
            self.checks.accept(one.read_records(), iteration=one.number, bands=one.read_bands())
        self.student.take()
        self.predictor.reset()

    def continue_from(self, finished: Sequence[IterationFiles]) -> list[CompletedTaskInstance]:
        """Load the student of the last of these iterations; return its completed instances."""
        self.student.load(self.history.last.adapter)
        return self._answered(finished[-1])

    def open_next(self) -> IterationFiles:
        """Start timing the next or interrupted iteration, and return its files.

        If another episode has used the predictor since, its adapter is replaced by this one's.
        """
        self.student.hold(self.history.last.adapter)
        files = IterationFiles(self.folder.iterations, len(self.history.results))
        if self.clock.iteration != files.number:
            self.clock.start(files.number)
        return files

    # --- the phases of an iteration ---

    def check(self, files: IterationFiles, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the records, unless `files` already has the result."""
        with self.clock("check"):
            if (checked := files.read_checked()) is None:
                checked = self.judged(files.number, records)
                if checked and not checked.accepted:
                    warn_run(f"no record was accepted: {reasons_in_words(checked.reasons)}")
                files.write_records(checked)
        return checked

    def judged(self, number: int, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the stamped records of this iteration without writing files."""
        received = task_of(self.task).received(records, lambda: self.history.records)
        judge = RecordJudge(self.quality, ShownStudent(self.predictor))
        checked = self.checks.check(received, judge, iteration=number)
        rows = []
        for row, submitted in zip(checked, records, strict=True):
            changes = {"submitted": submitted} if row.record != submitted else {}
            unjudged = judge.unjudged.get(id(row.record), ())
            rows.append(row.model_copy(update={**changes, "unjudged": unjudged}))
        return CheckedRecords(rows)

    def train(self, files: IterationFiles, accepted: Sequence[TrainingDatum]) -> int | None:
        """Train on accepted records; return the iteration whose adapter is then active.

        An iteration that only gathers records does not train.
        """
        last = self.history.last
        if not self.options.trains_in(files.number, last.n_records_total + len(accepted)):
            return last.adapter
        with files.training():
            return self.student.train(
                accepted,
                files,
                self.history,
                seed=self.seed,
                clock=self.clock,
                as_trained=task_of(self.task).as_trained,
            )

    def evaluate(
        self, files: IterationFiles, adapter: int | None = None
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        """Evaluate the student on the validation split, unless `files` has its answers.

        A student that is unchanged and greedy would repeat its answers, and is not asked again; nor
        is any student in an iteration that only gathers records.

        Returns the completed instances, with the labeler's skills if there is one, and a report.

        Args:
            adapter: the iteration whose adapter the student has; None for the base.

        Raises:
            EvaluationError: if nothing could be scored. Nothing is saved then, so a resumed run
                tries again.
        """
        if self._repeats(files.number, adapter):
            files.repeat(self._last_files)
        completed, report = self._evaluated(files, self.clock)
        self.checks.learn(completed)
        return completed, report

    def refusal(
        self, completed: Sequence[CompletedTaskInstance], accepted: Sequence[TrainingDatum]
    ) -> Refusal | None:
        """The gate's reason to refuse a student trained on `accepted`, if there is a gate."""
        if self.options.gate is None:
            return None
        taught = {record.provenance.skill for record in (*self.history.gathered, *accepted)}
        if not taught:
            return None
        before = self._answered(self._last_files)
        held = () if self.options.held == "all" else taught
        return refusal(before, completed, self.options.gate, held)

    def turn_back(
        self, files: IterationFiles, refused: Refusal
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        """Return to the student before this iteration; its results become the iteration's."""
        last = self.history.last
        self.student.load(last.adapter)
        files.refuse(self._last_files)
        report = last.report.model_copy(update={"refused": refused})
        return self._answered(self._last_files), report

    def shown(
        self, number: int, completed: Sequence[CompletedTaskInstance], report: PerformanceReport
    ) -> tuple[Sequence[CompletedTaskInstance], PerformanceReport]:
        """The results that the agent sees after this iteration, and a report on them of its own."""
        shown = task_of(self.task).shown(completed, number)
        if len(shown) == len(completed):
            return shown, report.model_copy(deep=True)
        on_shown = report_of(self.task, shown)
        return shown, on_shown.model_copy(update={"refused": report.refused})

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

        `began` is its start, by `time.perf_counter`; the base student has no records and adapter.
        """
        checked = checked or CheckedRecords()
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

    # --- a trial ---

    def trial(self, records: Sequence[TrainingDatum]) -> PerformanceReport:
        """Report the result of a step with these records; see `TeachingEnvironment.trial`."""
        previous = self.history.last
        number = self.open_next().number
        began = time.perf_counter()
        warn_run(_TRIED)  # in each iteration, so that a resumed run has the same warnings
        clock = PhaseClock()  # its phases do not count for the iteration
        with self.folder.scratch() as folder:
            try:
                files = IterationFiles(folder, number)
                files.clear()
                accepted = self.judged(number, stamp(records, number)).accepted
                self.student.train(
                    accepted,
                    files,
                    self.history,
                    seed=self.seed,
                    clock=clock,
                    as_trained=task_of(self.task).as_trained,
                )
                completed, report = self._evaluated(files, clock, phase="trial")
                report = report.model_copy(update={"refused": self.refusal(completed, accepted)})
                self.student.load(previous.adapter)
            except BaseException as error:
                self.student.go_back(previous.adapter, error)
                raise
        seconds = time.perf_counter() - began
        self.clock.add("trial", seconds)
        gain = report.score - previous.report.score
        score = f"{report.score:.3f} ({gain:+.3f}){', refused' * (report.refused is not None)}"
        tell(f"trial: {len(records)} records, score {score}, {seconds:.0f} s")
        return self.shown(number, completed, report)[1]

    # --- the student's answers ---

    def _evaluated(
        self, files: IterationFiles, clock: PhaseClock, *, phase: str = "iteration"
    ) -> tuple[list[CompletedTaskInstance], PerformanceReport]:
        """Run an evaluation once; afterwards read it from its file.

        Args:
            phase: the purpose of the attempts (see `attempts_for`); the iteration's number
                follows.
        """
        if (completed := files.read_trained()) is not None:
            completed = self._labeled(completed, clock)
            return completed, report_of(self.task, completed)
        timed = TimedPredictor(self.predictor)
        run = files.directory.parent.parent.name
        with clock("generate"), attempts_for(run, f"{phase}-{files.number:03d}"):
            began = time.perf_counter()
            completed = evaluated_by(self.task, timed, self._marks)
            elapsed = time.perf_counter() - began
        clock.add("generate", timed.seconds - elapsed)
        clock.add("score", elapsed - timed.seconds)
        shown = self._labeled(completed, clock)
        report = report_of(self.task, shown)
        with clock("save"):
            files.write_completed(completed)  # as the task gave them
        return shown, report

    def _repeats(self, number: int, adapter: int | None) -> bool:
        """True if the results of the last iteration are this one's too."""
        if not number or adapter != self.history.last.adapter:
            return False
        task = self.task
        if number % self.options.generations_per_training:
            return True
        is_greedy = isinstance(task, Task) and not task.sampling.temperature and not task.others
        return is_greedy and not self.history.last.n_errors  # failed calls are tried again

    @property
    def _last_files(self) -> IterationFiles:
        return IterationFiles(self.folder.iterations, self.history.last.iteration)

    def _answered(self, files: IterationFiles) -> list[CompletedTaskInstance]:
        """The completed instances of a finished iteration."""
        if (completed := files.read_completed()) is None:
            raise RunDirectoryError(
                f"{files.directory} is finished but has no completed.jsonl; "
                "restore it, or start the run over"
            )
        return self._labeled(completed, self.clock)

    def _labeled(
        self, completed: Sequence[CompletedTaskInstance], clock: PhaseClock
    ) -> list[CompletedTaskInstance]:
        """Replace gold skills by the labeler's, if there is one."""
        if self.labeler is None:
            return list(completed)
        with clock("label"):
            labels = self.labeler.label([c.instance for c in completed])
            return [c.with_skill(*label) for c, label in zip(completed, labels, strict=True)]
