"""The history of an episode: its finished iterations, and the records trained on.

Results are kept in memory. Records are read from the iterations' folders when needed, so the cost
of a step does not grow with their number. They are kept in memory only if each training uses all
of them (mode "accumulate").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.records import TrainingDatum
from dataenvgym.students.llama_factory import stage_of


class History:
    """Results and accepted records, in the order of the iterations, the base student first.

    `root` is the folder `iterations/`; None only before the first episode.
    """

    def __init__(self, root: Path | None = None, options: TeachingOptions | None = None) -> None:
        self.results: list[IterationResult] = []
        self._options = options or TeachingOptions()
        self._root = root
        keeps_records = self._options.mode == "accumulate"
        self._kept: list[TrainingDatum] | None = [] if keeps_records else None
        self._taught: dict[str, list[IterationResult]] = {}
        """By training stage, the iterations with its records; a batch has one stage."""
        self._gathering: list[IterationResult] = []
        self._untaught: set[int] = set()

    @classmethod
    def of(
        cls, root: Path, finished: Sequence[IterationFiles], options: TeachingOptions
    ) -> History:
        """Read the files of finished iterations."""
        history = cls(root, options)
        for files in finished:
            result = files.read_result()
            needed = (0,) if history._kept is None else None
            history.append(result, files.read_records(needed) if result.n_records else ())
        return history

    @property
    def last(self) -> IterationResult:
        """The last finished iteration."""
        return self.results[-1]

    @property
    def records(self) -> list[TrainingDatum]:
        """All accepted records, but none of a training that the gate refused.

        Reads all files unless the records are kept in memory.
        """
        if self._kept is not None:
            return [*self._kept, *self.gathered]
        return self._read(one for one in self.results if one.iteration not in self._untaught)

    @property
    def gathered(self) -> list[TrainingDatum]:
        """The accepted records since the last training (see `generations_per_training`)."""
        return self._read(self._gathering)

    def append(self, result: IterationResult, accepted: Sequence[TrainingDatum]) -> None:
        """Add a finished iteration; unless records are kept, the first accepted one is enough."""
        self.results.append(result)
        if not self._options.trains_in(result.iteration, result.n_records_total):
            self._gathering += [result] * bool(accepted)
            return
        gathered = self.gathered
        batch = [*self._gathering, *[result] * bool(accepted)]
        self._gathering = []
        if result.refused is not None:  # its records are not trained on again
            self._untaught.update(one.iteration for one in batch)
            return
        if batch:
            stage = stage_of([*gathered[:1], *accepted[:1]][0])
            self._taught.setdefault(stage, []).extend(batch)
        if self._kept is not None:
            self._kept += [*gathered, *accepted]

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
                set(rows[iterations == i].tolist())
            )
        ]

    def _read(self, iterations: Iterable[IterationResult]) -> list[TrainingDatum]:
        return [r for one in iterations for r in self._files(one.iteration).read_records()]

    def _files(self, number: int) -> IterationFiles:
        assert self._root is not None
        return IterationFiles(self._root, number)
