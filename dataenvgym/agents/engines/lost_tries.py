"""Counts tries of the student that gave no record, and warns the user of the run why."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.records import CompletedTaskInstance, ScoredDatum, TrainingDatum
from dataenvgym.run_warnings import warn_run


class LostTries:
    """The lost tries of one iteration.

    Args:
        engine: the engine's name, for the messages.
    """

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.n_tries = 0
        self.failed: list[str] = []
        self.unscored: list[str] = []
        self.astray: list[str] = []

    def keeps(self, done: CompletedTaskInstance) -> bool:
        """True if a try has a score; counts the try as failed if not."""
        self.n_tries += 1
        if done.error is not None:
            self.failed.append(done.error)
        return done.error is None

    def warn(self, records: Sequence[TrainingDatum]) -> None:
        """Warn the user of the run about lost tries, and if nothing can be learned."""
        lost = [
            f"{len(reasons)} {what} (the last one: {reasons[-1]})"
            for what, reasons in (
                ("failed", self.failed),
                ("have no verdict of the judge", self.unscored),
                ("cannot be compared", self.astray),
            )
            if reasons
        ]
        if lost:
            warn_run(
                f"{self.engine}: of {self.n_tries} tries, {' and '.join(lost)}; they are left out"
            )
        if self.n_tries and not records:
            warn_run(f"{self.engine}: {self.n_tries} tries gave no record")
        scored = [record for record in records if isinstance(record, ScoredDatum)]
        if scored and not any(weight for record in scored for weight in record.weights):
            warn_run(
                f"{self.engine}: all weights of {len(scored)} records are 0, so nothing is "
                "learned from them: the tries at each problem have the same reward, or all have 0"
            )
