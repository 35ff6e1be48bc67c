"""The history of an episode: its finished iterations, and the records trained on.

The results are kept in memory; the records stay in the iterations' folders and are read from there
when they are asked for, so that a step costs the same however many there are. Only where each
training takes all of them (`keeps_records`) are they in memory, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from dataenvgym.environments.iteration_result import IterationResult
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.errors import RunDirectoryError
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import CompletedTaskInstance, TrainingDatum


class History:
    """Results and accepted records, in the order of the iterations, the base student first.

    Args:
        root: the folder `iterations/`; None only before the first episode.
        keeps_records: whether the records are kept in memory.
    """

    def __init__(self, root: Path | None = None, *, keeps_records: bool = False) -> None:
        self.results: list[IterationResult] = []
        self._root = root
        self._kept: list[TrainingDatum] | None = [] if keeps_records else None
        self._taught: dict[str, list[IterationResult]] = {}
        """By stage, the iterations with records of it; a batch is of one stage."""

    @classmethod
    def of(
        cls, root: Path, finished: Sequence[IterationFiles], *, keeps_records: bool = False
    ) -> History:
        """Read the files of finished iterations."""
        history = cls(root, keeps_records=keeps_records)
        for files in finished:
            result = files.read_result()
            needed = None if keeps_records else (0,)
            history.append(result, files.read_records(needed) if result.n_records else ())
        return history

    @property
    def last(self) -> IterationResult:
        """The last finished iteration."""
        return self.results[-1]

    @property
    def counts(self) -> dict[int, int]:
        """How many records each iteration trained on."""
        return {result.iteration: result.n_records for result in self.results}

    @property
    def records(self) -> list[TrainingDatum]:
        """All accepted records; costs the reading of all of them unless they are kept."""
        if self._kept is not None:
            return self._kept
        return [record for n in self.counts for record in self.records_of(n)]

    def records_of(self, number: int) -> list[TrainingDatum]:
        """The accepted records of an iteration."""
        return self._files(number).read_records()

    def append(self, result: IterationResult, accepted: Sequence[TrainingDatum]) -> None:
        """One more iteration is finished.

        Args:
            accepted: its records, which its folder holds; unless they are kept, the first of them
                will do.
        """
        self.results.append(result)
        if accepted:
            self._taught.setdefault(stage_of(accepted[0]), []).append(result)
        if self._kept is not None:
            self._kept += accepted

    def sample(self, size: int, stage: str, rng: np.random.Generator) -> list[TrainingDatum]:
        """Up to `size` of the records that are trained in that stage, in their order."""
        taught = self._taught.get(stage, [])
        ends = list(accumulate(result.n_records for result in taught))
        size = min(size, ends[-1] if ends else 0)
        if not size:
            return []
        picks = np.sort(rng.choice(ends[-1], size, replace=False))
        iterations = np.searchsorted(ends, picks, side="right")
        rows = picks - np.array([0, *ends])[iterations]
        return [
            record
            for i in np.unique(iterations)
            for record in self._files(taught[i].iteration).read_records(
                rows[iterations == i].tolist()
            )
        ]

    def _files(self, number: int) -> IterationFiles:
        assert self._root is not None
        return IterationFiles(self._root, number)


def last_completed(finished: Sequence[IterationFiles]) -> list[CompletedTaskInstance]:
    """The evaluated instances of the last of these iterations.

    Raises:
        RunDirectoryError: if they are gone.
    """
    completed = finished[-1].read_completed()
    if completed is None:
        raise RunDirectoryError(
            f"{finished[-1].directory} is finished but has no completed.jsonl; "
            "restore it, or start the run afresh"
        )
    return completed
