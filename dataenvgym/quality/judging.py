"""How quality checks act: a record is dropped for the first check that it does not pass.

A check that cannot judge keeps nothing from training: where a teacher's budget is spent, or its
server is gone, its records pass, and a warning says so (it stands in the run's `log.txt`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import PredictorInterface, RecordCheckInterface
from dataenvgym.records import TrainingDatum

_log = logging.getLogger(__name__)


def judge_records(
    checks: Sequence[RecordCheckInterface],
    predictor: PredictorInterface,
    records: Sequence[TrainingDatum],
) -> list[str | None]:
    """For each record the reason of the first check that it does not pass, or None.

    Each check is asked once, about the records that passed those before it.

    Raises:
        ConfigurationError: if a check does not answer for each record.
    """
    reasons: list[str | None] = [None] * len(records)
    for check in checks:
        left = [i for i, reason in enumerate(reasons) if reason is None]
        if not left:
            break
        verdicts = _verdicts(check, predictor, [records[i] for i in left])
        for i, passes in zip(left, verdicts, strict=True):
            if not passes:
                reasons[i] = check.reason
    return reasons


def _verdicts(
    check: RecordCheckInterface, predictor: PredictorInterface, records: Sequence[TrainingDatum]
) -> Sequence[bool]:
    try:
        verdicts = check.passes(records, predictor)
    except ConfigurationError:
        raise
    except DataEnvGymError as error:
        n = len(records)
        _log.warning("quality check %s: %d records were not judged: %s", check.reason, n, error)
        return [True] * n
    if len(verdicts) != len(records):
        raise ConfigurationError(
            f"quality check {check.reason!r} gave {len(verdicts)} verdicts on {len(records)} "
            "records, expected one for each"
        )
    return verdicts
