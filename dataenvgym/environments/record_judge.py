"""Runs quality checks; a record is dropped for the first check that it fails.

A record that a check could not judge passes, and a warning counts it. This happens if a question
failed, or if a teacher's budget is spent. If the student or the teacher no longer answers at all
(see `dataenvgym.quality.answering`), the `PredictionError` ends the run; the same command checks
the records again.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError, DataEnvGymError, PredictionError
from dataenvgym.interfaces import Failure, PredictorInterface, RecordCheckInterface
from dataenvgym.records import TrainingDatum
from dataenvgym.run_warnings import warn_run


class RecordJudge:
    """Runs the quality checks on records.

    Attributes:
        unjudged: records that a check could not judge, each with the check's reason.
    """

    def __init__(
        self, checks: Sequence[RecordCheckInterface], predictor: PredictorInterface
    ) -> None:
        self._checks = checks
        self._predictor = predictor
        self.unjudged: list[tuple[TrainingDatum, str]] = []

    def __call__(self, records: Sequence[TrainingDatum]) -> list[str | None]:
        """For each record, return the reason of the first check that it fails, or None.

        Each check runs once, on the records that passed the checks before it.

        Raises:
            ConfigurationError: if a check does not return one verdict per record.
            PredictionError: if the student, or a check's teacher, no longer answers at all.
        """
        reasons: list[str | None] = [None] * len(records)
        for check in self._checks:
            left = [i for i, reason in enumerate(reasons) if reason is None]
            if not left:
                break
            verdicts = _verdicts(check, self._predictor, [records[i] for i in left])
            for i, verdict in zip(left, verdicts, strict=True):
                if isinstance(verdict, Failure):
                    self.unjudged.append((records[i], check.reason))
                elif not verdict:
                    reasons[i] = check.reason
        return reasons


def _verdicts(
    check: RecordCheckInterface, predictor: PredictorInterface, records: Sequence[TrainingDatum]
) -> Sequence[bool | Failure]:
    verdicts: Sequence[bool | Failure]
    try:
        verdicts = check.passes(records, predictor)
    except (ConfigurationError, PredictionError):
        raise
    except DataEnvGymError as error:
        verdicts = [Failure(reason=str(error) or type(error).__name__)] * len(records)
    if len(verdicts) != len(records):
        raise ConfigurationError(
            f"quality check {check.reason!r} gave {len(verdicts)} verdicts on {len(records)} "
            "records, expected one for each"
        )
    failures = [verdict.reason for verdict in verdicts if isinstance(verdict, Failure)]
    if failures:
        warn_run(
            f"quality check {check.reason}: {len(failures)} of {len(records)} records could not "
            f"be judged, and pass: {failures[0]}"
        )
    return verdicts
