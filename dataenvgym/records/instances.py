"""Problems for the student, before and after the student has tried them."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, TypeVar

from pydantic import Field, ValidationError, model_validator

from dataenvgym.errors import EvaluationError, InvalidInstanceError, first_fault
from dataenvgym.records.conversations import Conversation
from dataenvgym.records.model import Finite, Frozen, JsonObject, Model, Note, Text
from dataenvgym.records.usage import NOTHING, Costs, Usage

ModelT = TypeVar("ModelT", bound=Model)
STUDENT, ENVIRONMENT, INFRASTRUCTURE = "student", "environment", "infrastructure"
FAULTS = (STUDENT, ENVIRONMENT, INFRASTRUCTURE)
"""The faults that are not the name of another speaker."""


def fault_of(completed: CompletedTaskInstance) -> str | None:
    """The party at fault; None if the instance was solved."""
    if completed.was_correct:
        return None
    if completed.error is None:
        return STUDENT
    return completed.fault or INFRASTRUCTURE


def count_faults(completed: Iterable[CompletedTaskInstance]) -> dict[str, int]:
    """The number of instances with an error, by fault, sorted by name; empty if there are none."""
    counts = Counter(fault_of(c) for c in completed if c.error is not None)
    return {fault: counts[fault] for fault in sorted(filter(None, counts))}


Scores = Frozen[dict[Text, Finite]]
"""By name."""


def checked_scores(scores: Any, where: str) -> dict[str, float]:
    """Check the scores from an environment, and return them.

    Args:
        where: their origin, such as "MyEnvironment.respond()".

    Raises:
        EvaluationError: if it is not a mapping from printable names to finite numbers.
    """
    if type(scores) is dict and not scores:  # most steps have none
        return {}
    if not isinstance(scores, Mapping) or not all(
        isinstance(name, str)
        and name.isprintable()
        and name
        and isinstance(value, Real)
        and math.isfinite(value)
        for name, value in scores.items()
    ):
        raise EvaluationError(
            f"{where} returned the scores {scores!r}, expected finite numbers by printable names; "
            "leave out what cannot be known"
        )
    return {name: float(value) for name, value in scores.items()}


class TaskInstance(Model):
    """One problem of a task.

    Attributes:
        id: unique within the task, stable across processes and machines.
        task: name of the task that it belongs to.
        instruction: the problem as the student reads it.
        answer: the gold answer, or None if there is none. Never shown to the student.
        skill, category: gold labels, or None if there are none.
        data: all other data of the task environment (tests, tools, personas), as JSON.
    """

    id: str = Field(min_length=1)
    task: str = Field(min_length=1)
    instruction: Text
    answer: str | None = None
    skill: str | None = None
    category: str | None = None
    data: JsonObject = {}

    def data_as(self, model: type[ModelT]) -> ModelT:
        """The data as a model.

        Raises:
            InvalidInstanceError: naming the instance and the field.
        """
        try:
            return model.model_validate(self.data)
        except ValidationError as error:
            raise InvalidInstanceError(f"instance {self.id!r}: {first_fault(error)}") from None


_ALWAYS_HASHED = frozenset({"id", "task", "instruction", "answer", "skill", "category", "data"})
"""The fields of the first version; do not add to them."""


def hashed_json(instance: TaskInstance) -> bytes:
    """The instance as JSON, to be hashed.

    Fields that are not in the first version are left out if they have their default value, so a
    new optional field does not change the hashes of instances that do not use it.
    """
    unused = {
        name
        for name, field in type(instance).model_fields.items()
        if name not in _ALWAYS_HASHED
        and getattr(instance, name) == field.get_default(call_default_factory=True)
    }
    return instance.model_dump_json(exclude=unused).encode()


def refuse_changed(
    instances: Iterable[tuple[Any, TaskInstance]], marks: dict[Any, bytes], where: str
) -> None:
    """Compare problems with their hashes in `marks`, and add those that are new.

    Args:
        instances: each with its key in `marks`: its position, or its id.
        where: the owner of the problems, such as "task 'mine'".

    Raises:
        InvalidInstanceError: naming the first one that has changed.
    """
    for key, instance in instances:
        mark = hashlib.sha256(hashed_json(instance)).digest()
        if marks.setdefault(key, mark) != mark:
            raise InvalidInstanceError(
                f"{where}: instance {instance.id!r} is not as it was before: something changed it "
                "in memory, or another problem has this id. Change a copy (copy.deepcopy), or give "
                "each problem an id of its own"
            )


def check_ids(instances: Iterable[TaskInstance], where: str) -> None:
    """Refuse two problems with the same id: their answers could not be distinguished.

    Args:
        where: the owner of the problems, such as "task 'mine'".

    Raises:
        InvalidInstanceError: naming the id.
    """
    seen: set[str] = set()
    for instance in instances:
        if instance.id in seen:
            raise InvalidInstanceError(
                f"{where}: two instances have the id {instance.id!r}, expected one for each id"
            )
        seen.add(instance.id)


class CompletedTaskInstance(Model):
    """One problem after the student has tried it.

    Attributes:
        instance: the problem.
        transcript: the whole conversation, the student's messages included.
        reward: the task's score of the finished instance; 0.0 if `error` is set.
        was_correct: whether the task counts it as solved; False if `error` is set.
        error: why the infrastructure failed, or None. An instance with an error is neither
            right nor wrong: reports exclude it from scores and count it separately.
        fault: the party at fault for the error (see `fault_of`); None without an error.
        note: a remark about the score, e.g. that checking the answer ran out of time, or None.
        scores: further scores by name, such as `tests_passed`; empty if `error` is set.
        usage: of each reply, by speaker; the student is "student". It is neither saved with the
            instance nor compared, because seconds cannot be repeated.

    In `error` and `note`, control characters and lone surrogates are escaped.
    """

    instance: TaskInstance
    transcript: Conversation
    reward: float = Field(allow_inf_nan=False)
    was_correct: bool
    error: Note | None = None
    fault: Text | None = Field(default=None, min_length=1, exclude_if=lambda fault: fault is None)
    note: Note | None = None
    scores: Scores = {}
    usage: Frozen[dict[str, tuple[Usage, ...]]] = Field(default={}, exclude=True, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompletedTaskInstance) and all(
            getattr(self, name) == getattr(other, name)
            for name in CompletedTaskInstance.model_fields
            if name != "usage"
        )

    @model_validator(mode="after")
    def _failed_is_not_scored(self) -> CompletedTaskInstance:
        if self.fault is not None and self.error is None:
            raise ValueError(f"fault is {self.fault!r} without an error: both say why it failed")
        if self.error is not None and (self.was_correct or self.reward or self.scores):
            raise ValueError(
                "an instance with an error has reward 0.0, was_correct False, and no scores"
            )
        return self

    def with_skill(self, skill: str | None, category: str | None) -> CompletedTaskInstance:
        """A copy with another skill of its instance."""
        changes = {"skill": skill, "category": category}
        return self.model_copy(update={"instance": self.instance.model_copy(update=changes)})

    @property
    def costs(self) -> Costs:
        """What each speaker took."""
        return {who: sum(replies, NOTHING) for who, replies in self.usage.items()}

    @property
    def response(self) -> str | None:
        """The student's last message, or None if it never answered."""
        return next((m.content for m in reversed(self.transcript) if m.role == "assistant"), None)
