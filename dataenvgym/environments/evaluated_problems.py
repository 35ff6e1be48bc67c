"""The problems that the student is evaluated on, as far as they are known.

A task with `instances` (and with `on`, for other splits) offers them. For any other task, problems
become known through the completed instances of an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dataenvgym.environments.evaluation_overlap import EvaluationOverlap
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.run_warnings import warn_run
from dataenvgym.tasks.adapted import known_instances, task_of


class EvaluatedProblems:
    """Makes the overlap check of a task, and keeps it up to date.

    Args:
        task: the task that the student is evaluated on.
        others: further tasks that it is scored on, such as a separate test task.
    """

    def __init__(self, task: TaskInterface, others: Sequence[TaskInterface] = ()) -> None:
        adapted = task_of(task)
        has_key = adapted.offers("overlap_key") or adapted.offers("domain")
        self._overlap_key = adapted.domain.overlap_key if has_key else None
        self._overlap_answer = adapted.domain.overlap_answer
        self._name = adapted.name
        has_test = adapted.offers("on") and "test" in adapted.splits
        self._unknown: list[str] = []
        self._instances = list(known_instances(adapted.on("validation")))
        self.learns = not self._instances
        """True if the validation problems are known only from evaluations."""
        for test in (*([adapted.on("test")] if has_test else []), *map(task_of, others)):
            self._instances += known_instances(test)
            if not test.offers("instances"):
                self._unknown.append(test.name)
        self._known = {(i.id, i.instruction) for i in self._instances}

    def overlap(self) -> EvaluationOverlap:
        """Return the overlap check against all known problems."""
        instances = [i for i in self._instances if i.instruction.strip()]
        return EvaluationOverlap(
            (instance.instruction for instance in instances),
            answers=filter(None, map(self._overlap_answer, instances)),
            overlap_key=self._overlap_key,
        )

    def learn(self, completed: Iterable[CompletedTaskInstance]) -> bool:
        """Add the problems of an evaluation; return True if some of them are new."""
        new = [
            c.instance
            for c in completed
            if (c.instance.id, c.instance.instruction) not in self._known
        ]
        self._known |= {(i.id, i.instruction) for i in new}
        self._instances += new
        return bool(new)

    def warn_of_unknown_tests(self) -> None:
        """Warn if it is unknown which problems the student is tested on."""
        for name in self._unknown:
            warn_run(
                f"NOT CHECKED for overlap: the test problems of task {name!r} are unknown, because "
                "it has no `instances`, so training records may give them away. Give the task an "
                "attribute `instances`, or keep the two apart yourself"
            )

    def warn_of_no_texts(self) -> None:
        """Warn if no validation problem has a text to compare records with."""
        if not any(i.instruction.strip() for i in self._instances):
            warn_run(
                f"NOT CHECKED for overlap: no evaluated instance of task {self._name!r} has an "
                "`instruction`, so training records may give away what the student is evaluated "
                "on. Put the problem's text there"
            )
