"""The history of an episode: its finished iterations, and the records trained on.

Results are kept in memory. Records are read from the iterations' folders when needed, so the cost
of a step does not grow with their number. They are kept in memory only if each training uses all
of them (`keeps_records`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import TrainingDatum


class History:
    """Results and accepted records, in the order of the iterations, the base student first.

    `root` is the folder `iterations/`; None only before the first episode.
    """

    def __init__(self, root: Path | None = None, *, keeps_records: bool = False) -> None:
        self.results: list[IterationResult] = []
        self._root = root
        self._kept: list[TrainingDatum] | None = [] if keeps_records else None
        self._taught: dict[str, list[IterationResult]] = {}
        """By training stage, the iterations with its records; a batch has one stage."""

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
    def records(self) -> list[TrainingDatum]:
        """All accepted records, but none of an iteration that the gate refused.

        Reads all files unless the records are kept in memory.
        """
        if self._kept is not None:
            return self._kept
        kept = (one for one in self.results if one.refused is None)
        return [r for one in kept for r in self._files(one.iteration).read_records()]

    def append(self, result: IterationResult, accepted: Sequence[TrainingDatum]) -> None:
        """Add a finished iteration; unless records are kept, the first accepted one is enough."""
        self.results.append(result)
        if result.refused is not None:  # its records are not trained on again
            return
        if accepted:
            self._taught.setdefault(stage_of(accepted[0]), []).append(result)
        if self._kept is not None:
            self._kept += accepted

    def sample(self, size: int, stage: str, rng: np.random.Generator) -> list[TrainingDatum]:
        """Draw up to `size` of the records of this training stage, and keep their order."""
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
