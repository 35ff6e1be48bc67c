"""Checks that keep records out of training.

A malformed record invalidates its whole batch (`parse_training_data`). A well-formed record that
should not be trained on is dropped, and counted under the first reason that applies:

- `duplicate`: the same text, up to case, spacing and punctuation, as an earlier record;
- `near_duplicate`: nearly the same text as an earlier record, with the same numbers (see
  `overlap`). Scored records are exempt from both: each is one try of a student, and
  repeated tries count;
- `evaluation_overlap`: it gives away a problem that the student is evaluated on (see
  `overlap`);
- what the task finds wrong with it (`Task.record_fault`), such as `transcript`;
- the reason of a quality check that it fails (see `dataenvgym.agents.quality`);
- `over_budget`: it exceeds the episode's `max_records`.

Texts are compared without the template of the task's prompts, whose words could hide or cause a
duplicate or an overlap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import not_
from typing import Any

from pydantic import Field

from dataenvgym.environments.overlap import (
    EvaluatedProblems,
    EvaluationOverlap,
    Fingerprint,
    SeenTexts,
    normalized,
    record_text,
)
from dataenvgym.errors import (
    ConfigurationError,
    DataEnvGymError,
    InvalidActionError,
    InvalidRecordError,
    PredictionError,
)
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Failure, PredictorInterface, RecordCheckInterface
from dataenvgym.records import (
    CompletedTaskInstance,
    Model,
    ScoredDatum,
    TrainingDatum,
    parse_training_data,
)
from dataenvgym.students.llama_factory import stage_of
from dataenvgym.tasks.base import Task

_IN_WORDS = {
    "duplicate": "repeat an earlier record",
    "near_duplicate": "nearly repeat an earlier record",
    "evaluation_overlap": "give away a problem that the student is evaluated on",
    "transcript": "have the words of other speakers in the student's message",
    "over_budget": "are more than environment.max_records",
    "wrong_answer": "have a wrong answer",
    "already_known": "teach what the student solves already",
}


def reasons_in_words(reasons: Mapping[str, int]) -> str:
    """Why so many records were dropped, by reason: `3 repeat an earlier record (duplicate)`."""
    parts = (f"{n} {_IN_WORDS.get(name, 'dropped')} ({name})" for name, n in reasons.items())
    return ", ".join(parts)


def parse_action(action: Any, stage: str | None = None) -> tuple[TrainingDatum, ...]:
    """Parse the records of an action.

    Args:
        stage: the training stage of earlier records that the same training will use, if any.

    Raises:
        InvalidActionError: if the action is not a sequence of records.
        InvalidRecordError: if a record is malformed (the message names its index and field), or
            needs another training stage than the records before it.
    """
    if isinstance(action, str | bytes | Mapping) or not isinstance(action, Iterable):
        raise InvalidActionError(
            f"the action is {type(action).__name__}, expected a list of training records "
            "(models or mappings); does the agent return one?"
        )
    records = parse_training_data(action)
    for i, record in enumerate(records):
        found = stage_of(record)
        if found != (stage := stage or found):
            raise InvalidRecordError(
                f"record {i}, field kind: a record of kind {record.kind!r} needs training stage "
                f"{found}, and those that it would be trained with {stage}; send one stage a step "
                "(and one an episode in mode 'accumulate')",
                index=i,
                field="kind",
            )
    return records


def stamp(records: Sequence[TrainingDatum], iteration: int) -> list[TrainingDatum]:
    """Give the records ids, and write the iteration into their provenance."""
    stamped = []
    for i, record in enumerate(records):
        place = {"id": f"{iteration:03d}-{i:05d}", "iteration": iteration}
        provenance = record.provenance.model_copy(update=place)
        stamped.append(record.model_copy(update={"provenance": provenance}))
    return stamped


Judge = Callable[[Sequence[TrainingDatum]], Sequence[str | None]]
"""Returns for each record the reason to drop it, or None."""


ACCEPTED = "accepted"


class CheckedRecord(Model):
    """A record and the verdict on it.

    Attributes:
        verdict: `ACCEPTED`, or the reason why it was dropped; None before the check.
        record: as it reaches the student.
        submitted: as the agent wrote it, if a pressure of the task changed it.
        unjudged: the reasons of the quality checks that could not judge it.
    """

    verdict: str | None = None
    record: TrainingDatum
    submitted: TrainingDatum | None = Field(default=None, exclude_if=not_)
    unjudged: tuple[str, ...] = Field(default=(), exclude_if=not_)

    @property
    def is_accepted(self) -> bool:
        return self.verdict == ACCEPTED


class CheckedRecords(tuple[CheckedRecord, ...]):
    """A batch of records with their verdicts, in the order of the agent."""

    @property
    def accepted(self) -> tuple[TrainingDatum, ...]:
        """The records to train on."""
        return tuple(one.record for one in self if one.is_accepted)

    @property
    def reasons(self) -> dict[str, int]:
        """The number of dropped records by reason, sorted by name."""
        return _counts(one.verdict or "" for one in self if not one.is_accepted)

    @property
    def unjudged(self) -> dict[str, int]:
        """The number of accepted records that a quality check could not judge, by check."""
        return _counts(check for one in self if one.is_accepted for check in one.unjudged)


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


class RecordChecks:
    """Remembers the accepted records of an episode and checks new ones against them.

    Args:
        task: compares records with its evaluation problems, and leaves out the text of its prompts.
            None compares records with each other only.
        others: further tasks whose problems records must not give away. A warning says if test
            problems are unknown (see `EvaluatedProblems`).
        similarity: Jaccard threshold of `near_duplicate`, in (0, 1).
        max_records: the most records that an episode accepts, or None.
    """

    def __init__(
        self,
        task: Task | None = None,
        *,
        others: Sequence[Task] = (),
        similarity: float = 0.9,
        max_records: int | None = None,
    ) -> None:
        self._task = task
        self._problems = EvaluatedProblems(task, others) if task is not None else None
        self._overlap = self._problems.overlap() if self._problems else EvaluationOverlap()
        self._most = max_records
        self._seen = SeenTexts(similarity)
        self._starts: dict[int, int] = {}  # by iteration, the number seen before it
        self._checked: list[tuple[TrainingDatum, Fingerprint]] = []

    def check(
        self,
        records: Sequence[TrainingDatum],
        judge: Judge | None = None,
        *,
        iteration: int | None = None,
    ) -> CheckedRecords:
        """Check the records in order; remembers nothing until `accept`.

        Args:
            iteration: the iteration of the records. Remembered records of this iteration and of
                later ones do not count.
            judge: is asked about records that pass the other checks, at once as many as the budget
                has room for.
        """
        if iteration is not None:
            self._forget_from(iteration)
        plain = [self._unframed(record) for record in records]
        fingerprints = self._fingerprints(plain)
        self._checked = list(zip(records, fingerprints, strict=True))
        reasons: list[str | None] = []
        n_before = len(self._seen)
        try:
            for submitted, record, fingerprint in zip(records, plain, fingerprints, strict=True):
                is_try = isinstance(record, ScoredDatum)
                reasons.append(
                    (None if is_try else self._seen.repeats(fingerprint))
                    or ("evaluation_overlap" if record in self._overlap else None)
                    or (self._task.record_fault(submitted) if self._task else None)
                )
                if reasons[-1] is None:
                    self._seen.add(fingerprint)  # later records are compared with it too
        finally:
            self._seen.forget_from(n_before)
        waiting = [i for i, reason in enumerate(reasons) if reason is None]
        left = len(records) if self._most is None else max(0, self._most - n_before)
        while waiting and left:  # dropped records make room
            asked, waiting = waiting[:left], waiting[left:]
            verdicts = judge([records[i] for i in asked]) if judge else [None] * len(asked)
            for i, reason in zip(asked, verdicts, strict=True):
                reasons[i] = reason
            left -= sum(reason is None for reason in verdicts)
        for i in waiting:
            reasons[i] = "over_budget"
        rows = zip(records, reasons, strict=True)
        return CheckedRecords(
            CheckedRecord(record=record, verdict=reason or ACCEPTED) for record, reason in rows
        )

    @property
    def learns(self) -> bool:
        """True if problems are known only after they have been evaluated."""
        return self._problems is not None and self._problems.learns

    def learn(self, completed: Iterable[CompletedTaskInstance]) -> None:
        """From now on compare records with these evaluated problems, if the task offers none."""
        if self._problems and self._problems.learns and self._problems.learn(completed):
            self._overlap = self._problems.overlap()

    def accept(
        self,
        records: Sequence[TrainingDatum],
        *,
        iteration: int | None = None,
    ) -> None:
        """Remember records that are trained on.

        Args:
            iteration: their iteration; None takes the next one. Remembered records of this
                iteration and of later ones are forgotten.
        """
        if iteration is None:
            iteration = max(self._starts, default=-1) + 1
        self._forget_from(iteration)
        self._starts[iteration] = len(self._seen)
        known = {id(record): one for record, one in self._checked}
        if {id(record) for record in records} <= known.keys():
            fingerprints = [known[id(record)] for record in records]
        else:
            fingerprints = self._fingerprints(map(self._unframed, records))
        for fingerprint in fingerprints:
            self._seen.add(fingerprint)

    def _fingerprints(self, plain: Iterable[TrainingDatum]) -> list[Fingerprint]:
        return [self._seen.fingerprint(normalized(record_text(record))) for record in plain]

    def _unframed(self, record: TrainingDatum) -> TrainingDatum:
        if self._task is None:
            return record
        return self._task.domain_of(record.provenance).prompt_template.unframe(record)

    def _forget_from(self, iteration: int) -> None:
        if later := [n for n in self._starts if n >= iteration]:
            self._seen.forget_from(min(self._starts.pop(n) for n in later))


class RecordJudge:
    """Runs the quality checks on records; a record is dropped for the first check that it fails.

    A record that a check could not judge passes, and a warning counts it: a question failed, or a
    teacher's budget is spent. If the student or the teacher no longer answers at all, the
    `PredictionError` ends the run; the same command checks the records again.

    Attributes:
        unjudged: by the `id` of a record, the reasons of the checks that could not judge it.
    """

    def __init__(
        self, checks: Sequence[RecordCheckInterface], predictor: PredictorInterface
    ) -> None:
        self._checks = checks
        self._predictor = predictor
        self.unjudged: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)

    def __call__(self, records: Sequence[TrainingDatum]) -> list[str | None]:
        """For each record, return the reason of the first check that it fails, or None."""
        reasons: list[str | None] = [None] * len(records)
        for check in self._checks:
            if not (left := [i for i, reason in enumerate(reasons) if reason is None]):
                break
            verdicts: Sequence[bool | Failure]
            try:
                verdicts = check.passes([records[i] for i in left], self._predictor)
            except (ConfigurationError, PredictionError):
                raise
            except DataEnvGymError as error:
                verdicts = [Failure(reason=str(error) or type(error).__name__)] * len(left)
            if failures := [one.reason for one in verdicts if isinstance(one, Failure)]:
                warn_run(
                    f"quality check {check.reason}: {len(failures)} of {len(left)} records could "
                    f"not be judged, and pass: {failures[0]}"
                )
            for i, verdict in zip(left, verdicts, strict=True):
                if isinstance(verdict, Failure):
                    self.unjudged[id(records[i])] += (check.reason,)
                elif not verdict:
                    reasons[i] = check.reason
        return reasons
