"""One episode: its student, its records so far, and the phases of its iterations.

begin -> evaluate -> finish, then for each action: check -> train -> evaluate -> gate -> finish

A trial trains and evaluates the student in the same way, and keeps nothing of it. Several episodes
may use one predictor in turn: each loads its own adapter again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from dataenvgym.environments.checks import (
    CheckedRecords,
    RecordChecks,
    RecordJudge,
    reasons_in_words,
    stamp,
)
from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.gate import refusal
from dataenvgym.environments.interface import PhaseClock
from dataenvgym.environments.iterations import (
    History,
    IterationFiles,
    IterationResult,
    folder_of,
    load_adapter,
)
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.shown_student import ShownStudent, TimedPredictor
from dataenvgym.errors import ConfigurationError, DataEnvGymError, RunDirectoryError
from dataenvgym.events import tell, warn_run
from dataenvgym.interfaces import (
    PhaseFactory,
    RecordCheckInterface,
    SkillLabelerInterface,
    TrainablePredictorInterface,
    TrainingRun,
    can,
)
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, Refusal, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.students.llama_factory import stage_of
from dataenvgym.tasks.adapted_task import AdaptedTask, evaluated_by, report_of
from dataenvgym.tasks.base import Task, attempts_for

Results = tuple[list[CompletedTaskInstance], PerformanceReport]

_HOLDERS: WeakValueDictionary[int, TeachingEpisode] = WeakValueDictionary()
"""The episode whose adapter a predictor has, by the `id` of the predictor: a fact about the
predictor, which episodes of several contexts may use in turn."""
_IN_USE: set[int] = set()


@contextmanager
def used_alone(predictor: TrainablePredictorInterface) -> Iterator[None]:
    """Let only one episode of this process run with the predictor; else ConfigurationError."""
    if id(predictor) in _IN_USE:
        raise ConfigurationError(
            f"another episode in this process runs with the same {type(predictor).__name__} "
            "object: give each episode a predictor of its own, or run them one after another"
        )
    _IN_USE.add(id(predictor))
    try:
        yield
    finally:
        _IN_USE.discard(id(predictor))


@dataclass
class TeachingEpisode:
    """An episode in a folder, and its progress so far, restored from its finished iterations.

    Attributes:
        task, predictor, options, labeler, quality: as in `TeachingEnvironment`.
        folder: has its files, and the adapters of the student.
        seed: of all its random choices.
        finished: its finished iterations.
        test_tasks: further tasks whose problems the records must not give away.
    """

    task: Task
    predictor: TrainablePredictorInterface
    options: TeachingOptions
    labeler: SkillLabelerInterface | None
    quality: tuple[RecordCheckInterface, ...]
    folder: EpisodeDirectory
    seed: int
    clock: PhaseClock
    finished: Sequence[IterationFiles]
    test_tasks: Sequence[Task]
    history: History = field(init=False)
    checks: RecordChecks = field(init=False)
    _marks: dict[Any, bytes] = field(default_factory=dict)  # of the problems evaluated so far

    def __post_init__(self) -> None:
        self.root = self.folder.iterations
        self.history = History(self.root, self.options, self.finished)
        self.checks = RecordChecks(
            self.task,
            others=self.test_tasks,
            similarity=self.options.similarity,
            max_records=self.options.max_records,
        )
        for one in self.finished:
            if self.checks.learns:
                self.checks.learn(one.read_trained() or ())
            if one.number:
                self.checks.accept(one.read_records(), iteration=one.number)
        _HOLDERS[id(self.predictor)] = self
        self.predictor.reset()

    def files(self, number: int) -> IterationFiles:
        """The files of an iteration."""
        return IterationFiles(self.root, number)

    def go_back(self) -> Results:
        """Load the student of the last finished iteration, and read its results."""
        self._load()
        last = self.history.last
        return self._answered(self._last_files), last.report

    def _load(self) -> None:
        load_adapter(self.predictor, self.root, self.history.last.adapter)

    @contextmanager
    def undone_if_it_fails(self) -> Iterator[None]:
        """Restore the student if the block fails; if that fails too, a note on the error says so.

        Even an interrupt (Ctrl-C in a notebook) leaves the student as before.
        """
        try:
            yield
        except BaseException as error:
            try:
                self._load()
            except DataEnvGymError as another:
                error.add_note(f"the student could not be restored either: {another}")
            raise

    def open_next(self) -> IterationFiles:
        """Start timing the next or interrupted iteration, and return its files.

        If another episode has used the predictor since, its adapter is replaced by this one's.
        """
        if _HOLDERS.get(id(self.predictor)) is not self:
            self._load()
            _HOLDERS[id(self.predictor)] = self
        files = self.files(len(self.history.results))
        if self.clock.iteration != files.number:
            self.clock.start(files.number)
        return files

    # --- the phases of an iteration ---

    def check(self, files: IterationFiles, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the records, unless `files` already has the result."""
        with self.clock("check"):
            if (checked := files.read_checked()) is None:
                checked = self._judged(files.number, records)
                if checked and not checked.accepted:
                    warn_run(f"no record was accepted: {reasons_in_words(checked.reasons)}")
                files.save("records.jsonl", checked)
        return checked

    def _judged(self, number: int, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Check the stamped records of this iteration without writing files."""
        received = self.task.received(records, lambda: self.history.records)
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
        if not self.history.trains_in(files.number, last.n_records_total + len(accepted)):
            return last.adapter
        with files.training():
            return self._train(files, accepted, self.clock)

    def _train(
        self, files: IterationFiles, accepted: Sequence[TrainingDatum], clock: PhaseClock
    ) -> int | None:
        last = self.history.last
        if not (accepted or self.history.gathered):
            return last.adapter
        records = self.history.training_records(accepted, self.seed)
        run = training_run(self.options, files.number, files.directory, self.seed, clock)
        self.predictor.train(self.task.as_trained(records), run)
        if can(self.predictor, "with_adapter"):
            self.predictor.remember_former(folder_of(self.root, last.adapter))
        return files.number

    def evaluate(self, files: IterationFiles, adapter: int | None = None) -> Results:
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
        if files.number and adapter == self.history.last.adapter:
            task, n_failed = self.task, self.history.last.n_errors  # which are tried again
            drawn = isinstance(task, AdaptedTask) or task.sampling.temperature or task.others
            is_same = not (drawn or n_failed)
            if is_same or files.number % self.options.generations_per_training:
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

    def turn_back(self, files: IterationFiles, refused: Refusal) -> Results:
        """Return to the student before this iteration; its results become the iteration's."""
        files.refuse(self._last_files)
        completed, report = self.go_back()
        return completed, report.model_copy(update={"refused": refused})

    def shown(
        self, number: int, completed: Sequence[CompletedTaskInstance], report: PerformanceReport
    ) -> tuple[Sequence[CompletedTaskInstance], PerformanceReport]:
        """The results that the agent sees after this iteration, and a report on them of its own."""
        shown = self.task.shown(completed, number)
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
            self.checks.accept(accepted, iteration=files.number)
            reward = report.score - self.history.last.report.score
            total = self.history.last.n_records_total
        result = IterationResult(
            iteration=files.number,
            report=report,
            reward=reward,
            n_records=len(accepted),
            n_records_total=total + len(accepted),
            stage=stage_of(accepted[0]) if accepted else None,
            dropped=checked.reasons,
            unjudged=checked.unjudged,
            seconds={**self.clock.seconds, "total": time.perf_counter() - began},
            adapter=adapter,
        )
        result = files.write_result(result)
        self.history.append(result)
        return result

    def trial(self, records: Sequence[TrainingDatum]) -> PerformanceReport:
        """Report the result of a step with these records; see `TeachingEnvironment.trial`."""
        number = self.open_next().number
        began = time.perf_counter()
        # in each iteration, so that a resumed run has the same warnings
        warn_run(
            "records were tried on the student without being kept: each trial costs a training and "
            "an evaluation on the validation split, which agents without trials do not have"
        )
        clock = PhaseClock()  # its phases do not count for the iteration
        with self.folder.scratch() as folder, self.undone_if_it_fails():
            files = IterationFiles(folder, number)
            files.clear()
            accepted = self._judged(number, stamp(records, number)).accepted
            self._train(files, accepted, clock)
            completed, report = self._evaluated(files, clock, phase="trial")
            report = report.model_copy(update={"refused": self.refusal(completed, accepted)})
            self._load()
        seconds = time.perf_counter() - began
        self.clock.add("trial", seconds)
        gain = report.score - self.history.last.report.score
        score = f"{report.score:.3f} ({gain:+.3f}){', refused' * (report.refused is not None)}"
        tell(f"trial: {len(records)} records, score {score}, {seconds:.0f} s")
        return self.shown(number, completed, report)[1]

    # --- the student's answers ---

    def _evaluated(
        self, files: IterationFiles, clock: PhaseClock, *, phase: str = "iteration"
    ) -> Results:
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
            files.save("completed.jsonl", completed)  # as the task gave them
        return shown, report

    @property
    def _last_files(self) -> IterationFiles:
        return self.files(self.history.last.iteration)

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


def training_run(
    options: TeachingOptions,
    number: int,
    directory: Path,
    seed: int,
    phase: PhaseFactory = lambda name: nullcontext(),
) -> TrainingRun:
    """The training of an iteration, whose files go into `directory`."""
    return TrainingRun(
        directory=directory,
        seed=derive_seed(seed, number, "train"),
        start="adapter" if options.mode == "incremental" else "base",
        phase=phase,
    )
