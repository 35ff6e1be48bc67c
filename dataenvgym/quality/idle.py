"""A check that has nothing to say about any record of an iteration is named in a warning."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.records import TrainingDatum
from dataenvgym.run_warnings import warn_run


def warn_of_idle_check(reason: str, records: Sequence[TrainingDatum], n_judged: int) -> None:
    """Warn the run if the check of that `reason` judged none of the records."""
    if records and not n_judged:
        kinds = ", ".join(sorted({record.kind for record in records}))
        warn_run(
            f"quality check {reason}: it can judge none of the {len(records)} records (of kind "
            f"{kinds}), and they all pass"
        )
