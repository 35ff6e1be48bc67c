"""What keeps a record out of training.

A malformed record refuses its whole batch (`parse_training_data`); a well-formed one that should
not be trained on is dropped and counted by reason, the first of these that holds:

- `duplicate`: the same text, up to case, spacing and punctuation, as an earlier record;
- `near_duplicate`: nearly the text of an earlier record, with the same numbers (see
  `near_duplicates`);
- `evaluation_overlap`: it gives away a problem that the student is evaluated on (see
  `evaluation_overlap`, and `evaluated_problems` for how these are known);
- the reason of a quality check that it does not pass (see `dataenvgym.quality`);
- `over_budget`: beyond the episode's `max_records`.

Texts are compared without the template of the task's prompts: its words neither hide nor cause a
duplicate or an overlap.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dataenvgym.environments.evaluated_problems import EvaluatedProblems
from dataenvgym.environments.evaluation_overlap import EvaluationOverlap
from dataenvgym.environments.near_duplicates import Fingerprint, Fingerprints
from dataenvgym.environments.record_index import RecordIndex
from dataenvgym.environments.record_texts import normalized, record_text
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.tasks.adapted import task_of
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate

Judge = Callable[[Sequence[TrainingDatum]], Sequence[str | None]]
"""For each record the reason to drop it, or None."""


class CheckedRecords(NamedTuple):
    """The records that may be trained on, and the others with the reason for each.

    `unjudged` counts the accepted records that a quality check could not judge, by check.
    """

    accepted: tuple[TrainingDatum, ...]
    dropped: tuple[tuple[TrainingDatum, str], ...]
    unjudged: dict[str, int] = {}

    @property
    def reasons(self) -> dict[str, int]:
        """How many records were dropped, by reason, sorted by name."""
        counts: dict[str, int] = {}
        for _, reason in self.dropped:
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))

    def counting(self, unjudged: Iterable[tuple[TrainingDatum, str]]) -> CheckedRecords:
        """The same, with the count of those accepted records that a check could not judge."""
        accepted = {id(record) for record in self.accepted}
        counts = Counter(reason for record, reason in unjudged if id(record) in accepted)
        return self._replace(unjudged=dict(sorted(counts.items())))


class RecordChecks:
    """Remembers the accepted records of an episode and judges new ones against them.

    Args:
        problems: what the student is evaluated on, or None.
        template: what the prompts of the task have around an instruction; it is left out of
            comparisons.
        similarity: Jaccard threshold of `near_duplicate`, in (0, 1).
        max_records: the most records that an episode accepts, or None.
        index: where accepted records are remembered; None remembers them in memory.
    """

    def __init__(
        self,
        *,
        problems: EvaluatedProblems | None = None,
        template: PromptTemplate = PLAIN,
        similarity: float = 0.9,
        max_records: int | None = None,
        index: RecordIndex | None = None,
    ) -> None:
        self._problems = problems
        self._overlap = EvaluationOverlap() if problems is None else problems.overlap()
        self._template = template
        self._fingerprints = Fingerprints(similarity)
        self._max_records = max_records
        self._index = index or RecordIndex(None, similarity)
        self._checked: dict[str, Fingerprint] = {}

    @classmethod
    def for_task(
        cls,
        task: TaskInterface,
        *,
        similarity: float = 0.9,
        max_records: int | None = None,
        index: RecordIndex | None = None,
        others: Sequence[TaskInterface] = (),
    ) -> RecordChecks:
        """Checks against everything that `task`, and `others`, evaluate on.

        Warns of test problems that are not known (see `evaluated_problems`).
        """
        problems = EvaluatedProblems(task, others)
        problems.warn_of_unknown_tests()
        return cls(
            problems=problems,
            template=task_of(task).domain.prompt_template,
            similarity=similarity,
            max_records=max_records,
            index=index,
        )

    def check(
        self,
        records: Sequence[TrainingDatum],
        judge: Judge | None = None,
        *,
        iteration: int | None = None,
    ) -> CheckedRecords:
        """Judge the records in their order; remembers nothing until `accept`.

        Args:
            iteration: theirs, whose earlier records, and later ones, do not count.
            judge: asked about the records that nothing else speaks against, as many at once as
                there is room for in the budget.
        """
        if iteration is not None:
            self._index.forget_from(iteration)
        plain = [self._template.unframe(record) for record in records]
        texts = [normalized(record_text(record)) for record in plain]
        self._checked = {text: self._fingerprints.of(text) for text in texts}
        batch = _Batch(self._index, self._fingerprints, list(self._checked.values()))
        reasons: list[str | None] = [None] * len(records)
        left = math.inf if self._max_records is None else self._max_records - self._index.count()
        accepted: list[int] = []
        waiting: list[int] = []

        def settle() -> None:
            judged = judge([records[i] for i in waiting]) if judge and waiting else []
            for i, reason in zip(waiting, judged or [None] * len(waiting), strict=True):
                reasons[i] = reason
                if reason is None:
                    accepted.append(i)
            waiting.clear()

        for i, record in enumerate(plain):
            fingerprint = self._checked[texts[i]]
            reasons[i] = batch.repeats(fingerprint) or (
                "evaluation_overlap" if record in self._overlap else None
            )
            if reasons[i] is None:
                if len(accepted) + len(waiting) >= left:
                    settle()  # what is dropped makes room
                if len(accepted) >= left:
                    reasons[i] = "over_budget"
                else:
                    waiting.append(i)
                    batch.add(fingerprint)
        settle()
        return CheckedRecords(
            tuple(records[i] for i in accepted),
            tuple((r, why) for r, why in zip(records, reasons, strict=True) if why is not None),
        )

    @property
    def learns(self) -> bool:
        """Whether problems are known only once they have been evaluated."""
        return self._problems is not None and self._problems.learns

    def learn(self, completed: Iterable[CompletedTaskInstance]) -> None:
        """Compare records with these evaluated problems from now on, if the task offers none."""
        if self._problems is not None and self.learns:
            if self._problems.learn(completed):
                self._overlap = self._problems.overlap()
            self._problems.warn_of_no_texts()

    def accept(self, records: Iterable[TrainingDatum], *, iteration: int | None = None) -> None:
        """Remember records that are trained on.

        Args:
            iteration: theirs; None takes the next one. What is known of it, and of later ones, is
                replaced.
        """
        plain = (self._template.unframe(record) for record in records)
        texts = [normalized(record_text(record)) for record in plain]
        fingerprints = [self._checked.get(text) or self._fingerprints.of(text) for text in texts]
        self._index.add(iteration, fingerprints)

    def go_on_from(
        self, counts: Mapping[int, int], records_of: Callable[[int], Sequence[TrainingDatum]]
    ) -> None:
        """Remember the records of finished iterations: those in the index, if it holds just them.

        Args:
            counts: how many each of the iterations has.
            records_of: reads those of an iteration, for an index that has to be made anew.
        """
        if not self._index.agrees_with(counts):
            self._index.clear()
            for iteration in counts:
                if counts[iteration]:
                    self.accept(records_of(iteration), iteration=iteration)


class _Batch:
    """The records of one check, against the accepted ones and against each other.

    Args:
        fingerprints: those of all the records that will be asked about.
    """

    def __init__(
        self, index: RecordIndex, comparison: Fingerprints, fingerprints: Sequence[Fingerprint]
    ) -> None:
        self._comparison = comparison
        self._known = index.known([one.digest for one in fingerprints])
        new = [one for one in fingerprints if one.bands and one.digest not in self._known]
        self._earlier = index.candidates(new)
        self._by_band: dict[int, list[str]] = {}

    def repeats(self, one: Fingerprint) -> str | None:
        """Why it is no new text, or None."""
        if one.digest in self._known:
            return "duplicate"
        if one.text is None:
            return None
        here = (text for band in one.bands for text in self._by_band.get(band, ()))
        candidates = dict.fromkeys([*self._earlier.get(one.digest, ()), *here])
        near = any(self._comparison.are_near(one.text, other) for other in candidates)
        return "near_duplicate" if near else None

    def add(self, one: Fingerprint) -> None:
        """From now on its text is no new one."""
        self._known.add(one.digest)
        if one.text is not None:
            for band in one.bands:
                self._by_band.setdefault(band, []).append(one.text)
