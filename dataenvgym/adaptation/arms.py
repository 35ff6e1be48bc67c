"""Arms: ways to adapt a student to contexts, compared on the same contexts.

    base            no training
    context_only    trained on each context as it is: the passage, the demonstrations
    gold            trained on the questions with their gold answers: what can be reached
    self_edits      trained on edits that the student writes
    teacher_edits   trained on edits that a teacher writes
    rest_em_1, ...  trained on edits of the student after each round of RestEM, which is then also
                    the student that is trained

One seed is one run of all arms: it chooses the contexts, and draws the edits and the trainings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt

from dataenvgym.adaptation.rest_em import RestEM, StudentOf
from dataenvgym.adaptation.trials import EditResult, EditTrials, Work, asked, refuse_own_training
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TeacherInterface
from dataenvgym.records import Model
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import Context, Edit, WritesEdits
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.teacher import StudentTeacher

Arm = Literal["context_only", "gold", "self_edits", "teacher_edits", "rest_em"]


class ArmResult(Model):
    """One arm with one seed.

    Attributes:
        kept: of a round of RestEM: the number of edits from which the writer learned.
        edits: of the contexts that are evaluated.
    """

    arm: str
    seed: int
    kept: int | None = None
    edits: tuple[EditResult, ...]


@dataclass(frozen=True)
class Arms:
    """The arms to compare, and how; `base` is always among them.

    Args:
        names: "context_only", "gold", "self_edits", "teacher_edits" (with a teacher) and "rest_em",
            which stands for all its rounds.
        split: whose contexts and questions are evaluated.
        contexts: the number of contexts, a seeded choice. None takes all, or half of them if RestEM
            would learn from the same ones.
        edits: edits of each context.
        repeats: trainings of each edit, with different seeds.
        at_once: the number of contexts, or "all", that one adapter learns from all of their edits;
            it is asked all of their questions. None trains an adapter for each edit.
    """

    names: Sequence[Arm] = ("context_only", "self_edits", "rest_em")
    _: KW_ONLY
    split: Split = "validation"
    contexts: PositiveInt | None = None
    edits: PositiveInt = 1
    repeats: PositiveInt = 1
    at_once: PositiveInt | Literal["all"] | None = None

    def check(
        self, engine: WritesEdits, teacher: TeacherInterface | None, *, retry_errors: bool = False
    ) -> None:
        """Raise ConfigurationError if a teacher is missing, or edits cannot be learned at once."""
        if "teacher_edits" in self.names and teacher is None:
            raise ConfigurationError(
                "arms.names has teacher_edits, and there is no teacher: choose one, such as "
                "teacher=openai teacher.model=NAME, or leave teacher_edits out"
            )
        if self.writes and self.at_once is not None and getattr(engine, "chooses_training", False):
            refuse_own_training(self.at_once)

    @property
    def writes(self) -> bool:
        """Whether an arm needs edits that a model writes."""
        return bool({"self_edits", "teacher_edits", "rest_em"} & {*self.names})

    def chosen(
        self, task: Task, engine: WritesEdits, rest_em: RestEM, seed: int
    ) -> tuple[list[Context], list[Context]]:
        """The contexts to evaluate, and those from which RestEM learns: none is both.

        Raises:
            ConfigurationError: if there are too few.
        """
        found = shuffled_contexts(task, engine, self.split, seed)
        others = shuffled_contexts(task, engine, rest_em.split, seed)
        same = {context.id for context in found} & {context.id for context in others}
        count = self.contexts or (len(found) // 2 if same else len(found))
        evaluated = found[:count]
        ids = {context.id for context in evaluated}
        left = [context for context in others if context.id not in ids]
        wanted, learns = [("arms.contexts", self.contexts, found)], "rest_em" in self.names
        if learns:
            wanted.append(("rest_em.contexts", rest_em.contexts, left))
        for name, number, there in wanted:
            if number is not None and number > len(there):
                raise ConfigurationError(
                    f"{name} is {number}, and task {task.name!r} has {len(there)} contexts for it "
                    f"(those that are evaluated teach no writer): ask for {len(there)} at most"
                )
        if not evaluated or (learns and not left):
            raise ConfigurationError(
                f"task {task.name!r} has {len(found)} contexts in split {self.split!r}, and "
                f"{len(left)} others in split {rest_em.split!r} for RestEM: expected some of each. "
                "Set arms.contexts lower, take another split, or leave rest_em out of arms.names"
            )
        return evaluated, left[: rest_em.contexts]

    def work(self, task: Task, engine: WritesEdits, rest_em: RestEM, seed: int) -> Iterator[Work]:
        """The work of each arm for one seed, in the order of `run`; see `chosen`."""
        evaluated, learned_from = self.chosen(task, engine, rest_em, seed)
        n, questions = len(evaluated), asked(evaluated)

        def of(arm: str, edits: int, is_written: bool = True) -> Work:
            if self.at_once is None:
                trainings, sets = n * edits, edits
            else:
                trainings, sets = ceil(n / (n if self.at_once == "all" else self.at_once)), 1
            repeats = self.repeats
            written = n * edits if is_written else 0
            return Work(arm, n, written, trainings * repeats, questions * sets * repeats)

        yield Work("base", n, 0, 0, questions)
        for arm in ("context_only", "gold"):
            if arm in self.names:
                yield of(arm, 1, is_written=False)
        for arm in ("self_edits", "teacher_edits"):
            if arm in self.names:
                yield of(arm, self.edits)
        selected, asks = len(learned_from) * rest_em.edits, asked(learned_from)
        for number in range(1, rest_em.rounds + 1 if "rest_em" in self.names else 1):
            last = of(f"rest_em_{number}", self.edits)
            yield Work(
                last.arm,
                len(learned_from) + n,
                selected + last.edits,
                selected * rest_em.repeats + 1 + last.trainings,  # 1 of the writer
                # also those to both untouched students: the one that selects, and the trained one
                asks * (1 + rest_em.edits * rest_em.repeats) + questions + last.questions,
            )

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
    ) -> Iterator[ArmResult]:
        """Run the arms with one seed, one after another; what is in the folder is not done again.

        Args:
            student: makes the predictor of a student.
            directory: of this seed.

        Raises:
            ConfigurationError: if there are too few contexts, or a teacher is missing.
            BudgetSpentError: if the teacher's budget allows no request.
        """
        self.check(engine, teacher)
        evaluated, training = self.chosen(task, engine, rest_em, seed)

        def trials(number: int) -> EditTrials:
            folder = directory / f"round-{number}"
            return EditTrials(task, engine, predictor, folder, seed, retry_errors)

        def result(name: str, edits: Sequence[EditResult], kept: int | None = None) -> ArmResult:
            return ArmResult(arm=name, seed=seed, kept=kept, edits=tuple(edits))

        def alone(context: Context) -> Edit:
            return engine.read_edit(context, None, derive_rng(seed, "read", context.id))

        def gold(context: Context) -> Edit:
            records = map(task.gold_record, context.questions)
            return Edit([record for record in records if record is not None])

        at_once = len(evaluated) if self.at_once == "all" else self.at_once
        trained: Any = {"repeats": self.repeats, "at_once": at_once}
        predictor = student(None)
        first = trials(0)
        yield result("base", first.given("base", evaluated, lambda _: Edit(()), repeats=1))
        if "context_only" in self.names:
            yield result("context_only", first.given("context_only", evaluated, alone, **trained))
        if "gold" in self.names:
            yield result("gold", first.given("gold", evaluated, gold, **trained))
        numbers = {"edits": self.edits, **trained}
        if "self_edits" in self.names:
            writer: TeacherInterface = StudentTeacher(predictor)
            yield result("self_edits", first.written("self_edits", evaluated, writer, **numbers))
        if "teacher_edits" in self.names and teacher is not None:
            found = first.written("teacher_edits", evaluated, teacher, **numbers)
            yield result("teacher_edits", found)
        if "rest_em" not in self.names:
            return
        for number in range(1, rest_em.rounds + 1):
            folder = directory / f"round-{number}"
            predictor, kept = rest_em.improve(trials(number - 1), training, folder, student)
            writer = StudentTeacher(predictor)
            found = trials(number).written("self_edits", evaluated, writer, **numbers)
            yield result(f"rest_em_{number}", found, len(kept))


def shuffled_contexts(task: Task, engine: WritesEdits, split: Split, seed: int) -> list[Context]:
    """The contexts of a split in a seeded order; none if the task has no such split."""
    if split not in task.splits:
        return []
    contexts = engine.contexts(task.on(split).instances)
    order = derive_rng(seed, "contexts", split).permutation(len(contexts)).tolist()
    return [contexts[i] for i in order]
