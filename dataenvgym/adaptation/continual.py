"""Continual adaptation: contexts are learned one after another, and earlier ones are asked again.

    the student edits context 1 -> adapter -> joined -> it edits context 2 -> ... -> context K

Each seed is a sequence of contexts. Its accuracies are a matrix: row 0 is the untouched student on
all K contexts, row k the student after k contexts on the first k of them.

    merged    each adapter is trained on the student with the earlier ones, and merged into it
    stacked   each adapter is trained on the untouched student; their effects are added up
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.adaptation.arms import shuffled_contexts
from dataenvgym.adaptation.inner_loop import Answer, accuracy, trained_by, trainer_of
from dataenvgym.adaptation.rest_em import RestEM, StudentOf, write_merged_student
from dataenvgym.adaptation.trials import Work, asked
from dataenvgym.errors import (
    ConfigurationError,
    RunDirectoryError,
    TrainingError,
)
from dataenvgym.events import counting
from dataenvgym.interfaces import TeacherInterface, TrainablePredictorInterface, TrainingRun, can
from dataenvgym.records import Model, TrainingDatum
from dataenvgym.records.checksums import MarkedFolder, load, save
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.storage import publishing, remove_folder
from dataenvgym.students.llama_factory.training_config import trainer_with
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import Context, Edit, WritesEdits, write_edits
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.teacher import StudentTeacher

Join = Literal["merged", "stacked"]


class Row(Model):
    """The student after some contexts of a sequence.

    Attributes:
        accuracies: on the contexts, in the order of the sequence; None if none could be scored.
        n_unscored: questions for which a call failed.
        failure: why nothing was learned from the last context, or "".
    """

    accuracies: tuple[float | None, ...]
    n_unscored: int = 0
    failure: str = ""


class SequenceResult(Model):
    """One sequence of contexts, with one way to join adapters.

    Attributes:
        arm: the way, such as "merged" or "stacked, replay 20".
        contexts: their ids, in the order in which they are learned.
        rows: one more than there are contexts; row 0 is the untouched student.
    """

    arm: str
    seed: int
    contexts: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Continual:
    """Sequences of contexts, and the ways to join their adapters.

    Args:
        names: "merged" and "stacked".
        contexts: the length of a sequence: a seeded choice in a seeded order.
        split: whose contexts and questions are used.
        edits: edits of each context; its adapter is trained on all of them.
        replays: for each number, train also on so many records of earlier contexts, drawn anew for
            each context; 0 is without replay.
    """

    names: Annotated[Sequence[Join], MinLen(1)] = ("merged", "stacked")
    _: KW_ONLY
    contexts: PositiveInt = 8
    split: Split = "validation"
    edits: PositiveInt = 1
    replays: Annotated[Sequence[NonNegativeInt], MinLen(1)] = (0,)

    writes = True
    """Whether a model writes edits."""

    def check(
        self, engine: WritesEdits, teacher: TeacherInterface | None, *, retry_errors: bool = False
    ) -> None:
        """Raise ConfigurationError if errors are to be tried again."""
        if retry_errors:
            raise ConfigurationError(
                "retry_errors is set, and in a sequence later contexts build on earlier ones: "
                "leave it out, or start over (--fresh)"
            )

    def chosen(
        self, task: Task, engine: WritesEdits, rest_em: RestEM, seed: int
    ) -> tuple[list[Context], list[Context]]:
        """The contexts of that sequence, in their order, and none for RestEM; see `Arms.chosen`.

        Raises:
            ConfigurationError: if there are too few.
        """
        found = shuffled_contexts(task, engine, self.split, seed)
        if len(found) < self.contexts:
            raise ConfigurationError(
                f"arms.contexts is {self.contexts}, and task {task.name!r} has {len(found)} "
                f"contexts in split {self.split!r}: ask for {len(found)} at most"
            )
        return found[: self.contexts], []

    def work(self, task: Task, engine: WritesEdits, rest_em: RestEM, seed: int) -> Iterator[Work]:
        """The work of each way to join adapters for one seed, in the order of `run`."""
        (contexts, _), n = self.chosen(task, engine, rest_em, seed), self.contexts
        questions = asked(contexts) + sum(asked(contexts[:k]) for k in range(1, n + 1))
        for name, replay in product(self.names, self.replays):
            yield Work(_arm(name, replay), n, n * self.edits, n, questions)

    def run(
        self,
        task: Task,
        engine: WritesEdits,
        student: StudentOf,
        directory: Path,
        *,
        rest_em: RestEM,
        teacher: TeacherInterface | None = None,
        seed: int = 0,
        retry_errors: bool = False,
    ) -> Iterator[SequenceResult]:
        """Run the sequence of one seed in all ways, as `Arms.run`; without RestEM.

        Args:
            teacher: writes the edits; None is the student in its present state.

        Raises:
            ConfigurationError: if there are too few contexts; or with `retry_errors`, because in a
                sequence later contexts build on earlier ones.
        """
        self.check(engine, teacher, retry_errors=retry_errors)
        contexts, _ = self.chosen(task, engine, rest_em, seed)
        for name, replay in product(self.names, self.replays):
            arm = _arm(name, replay)
            sequence = _Sequence(
                task,
                engine,
                student,
                directory / (f"{name}-replay-{replay}" if replay else name),
                contexts,
                self.edits,
                teacher,
                seed,
                name,
                replay,
            )
            rows = []
            with counting(f"contexts, {arm}", len(contexts) + 1) as count:
                for row in sequence.rows():
                    rows.append(row)
                    count.add(1)
            ids = tuple(context.id for context in contexts)
            yield SequenceResult(arm=arm, seed=seed, contexts=ids, rows=tuple(rows))


def _arm(name: Join, replay: int) -> str:
    return f"{name}, replay {replay}" if replay else name


class _Sequence:
    """The student of one sequence, which learns context after context.

    `step-NN/` has the edits of a context, its training, `row.json`, and `student/`, the student
    afterwards: a whole student if adapters are merged, else an adapter. Only the newest is kept.
    """

    def __init__(
        self,
        task: Task,
        engine: WritesEdits,
        of: StudentOf,
        directory: Path,
        contexts: Sequence[Context],
        edits: int,
        teacher: TeacherInterface | None,
        seed: int,
        join: Join,
        replay: int,
    ) -> None:
        self._task, self._engine, self._of, self._directory = task, engine, of, directory
        self._contexts, self._seed, self._join = contexts, seed, join
        self._edits, self._replay, self._teacher = edits, replay, teacher
        self._again = f"remove {directory}, and the same command does the sequence again"
        self._newest: Path | None = None
        self._student: TrainablePredictorInterface | None = None
        self._whole: Path | None = None

    def rows(self) -> Iterator[Row]:
        """Learn the contexts that were not learned yet; the rows of the matrix, in their order."""
        has_learned = False
        for number in range(len(self._contexts) + 1):
            folder = self._step(number)
            file, before = folder / "row.json", self._newest
            row = load(file, Row, self._again)
            failure = ""
            learns = number > 0 and row is None and not (folder / "student").is_dir()
            if learns and has_learned and self._newest is None:
                raise RunDirectoryError(
                    f"{file} is missing, and the students from before that step were removed: "
                    f"{self._again}"
                )
            if learns:
                failure = self._learn(number)
            if (folder / "student").is_dir():
                MarkedFolder(folder / "student", self._again).check(large=True)
                self._newest = folder / "student"
            if row is None:
                row = self._asked(self._contexts[:number] or self._contexts, failure)
                save(file, row)
            has_learned = has_learned or (number > 0 and not row.failure)
            if before is not None and before != self._newest:
                remove_folder(before)
            yield row

    def _step(self, number: int) -> Path:
        return self._directory / f"step-{number:02}"

    @property
    def _present(self) -> TrainablePredictorInterface:
        """The student with everything that it has learned."""
        whole = self._newest if self._join == "merged" else None
        student, self._student = self._student, None  # one at a time is in memory
        if student is not None and self._whole != whole:
            if can(student, "close"):
                student.close()
            student = None
        if student is None:
            student, self._whole = self._of(whole), whole
        if self._join == "stacked":
            if getattr(student, "adapter", None) is not None:
                raise ConfigurationError(
                    "the student begins with an adapter, which every stacked adapter would "
                    "contain: leave student.adapter out, or set arms.names=[merged]"
                )
            if self._newest is None:
                student.reset()
            else:
                student.load(self._newest)
        self._student = student
        return student

    def _asked(self, contexts: Sequence[Context], failure: str) -> Row:
        questions = [question for context in contexts for question in context.questions]
        answers = iter([Answer.of(c) for c in self._task.attempt(self._present, questions)])
        each = [[next(answers) for _ in context.questions] for context in contexts]
        return Row(
            accuracies=tuple(map(accuracy, each)),
            n_unscored=sum(answer.error is not None for of in each for answer in of),
            failure=failure,
        )

    def _learn(self, number: int) -> str:
        """Train an adapter on edits of a context, and join it; return why it failed, or ""."""
        folder, context = self._step(number), self._contexts[number - 1]
        edits = self._read_edits(number)
        records = [record for edit in edits for record in edit.records]
        options = [edit.options for edit in edits if edit.options]
        if len(edits) > 1 and options:
            raise ConfigurationError(
                f"edits of context {context.id!r} choose options of their training, and one "
                "adapter learns from all of them: set arms.edits=1"
            )
        if not records:
            return next((e.failure for e in edits if e.failure), "") or "there are no records"
        student = self._present
        if self._join == "stacked":
            student.reset()  # to the untouched student, from which each adapter starts
        (training := folder / "training").mkdir(parents=True, exist_ok=True)
        run = TrainingRun(training, derive_seed(self._seed, "training", number))
        own = trainer_with(trainer_of(student), options[0]) if options else None
        try:
            with trained_by(student, own):
                student.train([*records, *self._replayed(number)], run)
        except TrainingError as error:
            return f"{type(error).__name__}: {error}"
        finally:
            student.reset()
        if self._join == "merged":
            write_merged_student(student, training / "adapter", folder / "student")
        else:
            _write_stacked(self._newest, training / "adapter", folder / "student")
        return ""

    def _read_edits(self, number: int) -> list[Edit]:
        """The edits of a context; those that are in its folder are not written again."""
        written = write_edits(
            self._engine,
            [self._contexts[number - 1]],
            self._teacher or StudentTeacher(self._present),
            self._step(number) / "edits.jsonl",
            samples=self._edits,
            seed=self._seed,
        )
        return [
            edit or Edit((), failure=f"no edit was written: {one.error}") for one, edit in written
        ]

    def _replayed(self, number: int) -> list[TrainingDatum]:
        """Records of earlier contexts, drawn at random."""
        if not self._replay:
            return []
        earlier = [
            record
            for before in range(1, number)
            for edit in self._read_edits(before)
            for record in edit.records
        ]
        rng = derive_rng(self._seed, "replay", number)
        chosen = rng.permutation(len(earlier))[: self._replay]
        return [earlier[int(i)] for i in chosen]


def _write_stacked(before: Path | None, adapter: Path, folder: Path) -> None:
    from dataenvgym.students.trainers.adapters import Adapter, stacked

    parts = [Adapter.read(path) for path in (before, adapter) if path is not None]
    with publishing(folder) as new:
        stacked(parts).write(new)
        MarkedFolder(new, "").mark_all()
