"""The iterations of an episode: their files, their results, and the records taught so far.

    iterations/NNN/
        records.jsonl     the agent's records with id and iteration, and the verdict on each
                          (`CheckedRecord`)
        dataset/, training.yaml, adapter/    written by the predictor's training
        completed.jsonl   the evaluated validation instances
        refused.jsonl     those of the student that the gate refused; `completed.jsonl` then has
                          the answers of the student before
        files.json        size and hash of each of these files (see `checksums`)
        iteration.json    `IterationResult`; it exists once the iteration is finished

An environment may have further files (`load`, `save`; see `skill_tree.environment`).
Iteration 000 is the base student; it has no records and no training. Files are written atomically,
so an interrupted iteration continues after its last file, and a file damaged later is refused by
name. `History` has the finished ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import numpy as np

from dataenvgym.environments.checks import ACCEPTED, CheckedRecord, CheckedRecords
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.errors import RunDirectoryError
from dataenvgym.interfaces import TrainablePredictorInterface, can
from dataenvgym.records import (
    CompletedTaskInstance,
    Model,
    PerformanceReport,
    Refusal,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.records.checksums import MARKS_FILE, OF_TRAINING, MarkedFolder
from dataenvgym.records.model import Frozen
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import (
    hash_file,
    naming_damage,
    read_bytes,
    read_jsonl,
    read_model,
    write_bytes,
    write_json,
)
from dataenvgym.students.llama_factory import stage_of


class IterationResult(Model):
    """The result of one iteration.

    Attributes:
        iteration: its number; 0 is the base student.
        report: the student's results on the validation split, by skill.
        reward: the change in validation score since the iteration before (0.0 for the base).
        n_records: records accepted in this iteration, also if the gate refused it.
        n_records_total: records accepted so far.
        stage: the training stage of its accepted records, or None without any.
        dropped: records that were not accepted, by reason.
        unjudged: records accepted although a quality check could not judge them, by check.
        seconds: by phase, and `total`.
        adapter: iteration whose adapter is active, or None for the base student.
        fingerprint: a hash of the iteration's files, which differs once it was done again.
    """

    iteration: int
    report: PerformanceReport
    reward: float = 0.0
    n_records: int = 0
    n_records_total: int = 0
    stage: str | None = None
    dropped: Frozen[dict[str, int]] = {}
    unjudged: Frozen[dict[str, int]] = {}
    seconds: Frozen[dict[str, float]] = {}
    adapter: int | None = None
    fingerprint: str = ""

    @property
    def val_score(self) -> float:
        """Mean reward on the validation split, failed calls excluded."""
        return self.report.score

    @property
    def n_errors(self) -> int:
        return self.report.n_errors

    @property
    def refused(self) -> Refusal | None:
        """Why the gate refused the student that was trained, or None."""
        return self.report.refused


class IterationFiles:
    """The files of iteration `number` in `root`, the folder `iterations/`."""

    def __init__(self, root: Path, number: int) -> None:
        self.number = number
        self.directory = root / f"{number:03d}"
        self.marks = MarkedFolder(
            self.directory,
            f"restore it, or remove {self.directory.name} and all later folders in {root}: the "
            "same command then does these iterations again",
        )
        self.load, self.save = self.marks.load, self.marks.save

    @property
    def adapter(self) -> Path:
        return self.directory / "adapter"

    @property
    def is_finished(self) -> bool:
        return (self.directory / "iteration.json").exists()

    def clear(self) -> None:
        """Begin with an empty folder; remove any old files."""
        if self.directory.exists():
            shutil.rmtree(self.directory)
        self.directory.mkdir(parents=True)

    # --- records ---

    def read_submitted(self) -> list[TrainingDatum] | None:
        """The records as the agent gave them, stamped; None before it did."""
        if not (self.directory / "records.jsonl").exists():
            return None
        return [one.submitted or one.record for one in self._read_rows()]

    def read_checked(self) -> CheckedRecords | None:
        """The records with their verdicts, or None before the check."""
        rows = self._read_rows()
        return CheckedRecords(rows) if rows and rows[0].verdict is not None else None

    def read_records(self, numbers: Container[int] | None = None) -> list[TrainingDatum]:
        """The accepted records, or only those with these numbers, from 0 on."""
        path = self.directory / "records.jsonl"
        with naming_damage(path):
            rows = read_jsonl(path) if path.exists() else ()
            accepted = (row["record"] for row in rows if row["verdict"] == ACCEPTED)
            return [
                parse_training_datum(record, index=i)
                for i, record in enumerate(accepted)
                if numbers is None or i in numbers
            ]

    def _read_rows(self) -> list[CheckedRecord]:
        return self.load("records.jsonl", list[CheckedRecord]) or []

    # --- training ---

    @contextmanager
    def training(self) -> Iterator[None]:
        """Mark the files that the training in the block writes."""
        if not self.adapter.exists():
            self.marks.forget(n for n in self.marks.read() if n.startswith(OF_TRAINING))
        yield
        self.marks.mark_all()

    def check_adapter(self) -> None:
        """Refuse a damaged adapter (RunDirectoryError); a missing one is left to the predictor."""
        if self.is_finished:
            self.marks.check(below="adapter/", large=True)

    # --- evaluation ---

    def read_completed(self, name: str = "completed.jsonl") -> list[CompletedTaskInstance] | None:
        """The evaluated instances, or None before the evaluation."""
        found: list[CompletedTaskInstance] | None = self.load(name, list[CompletedTaskInstance])
        return found

    def read_trained(self) -> list[CompletedTaskInstance] | None:
        """The answers of the student trained here, even if it was refused; None before."""
        return self.read_completed("refused.jsonl") or self.read_completed()

    def refuse(self, before: IterationFiles) -> None:
        """Keep the evaluated instances as `refused.jsonl`, and replace them by those of `before`.

        Does nothing that was done already, so that it can be killed at any point.
        """
        if not (self.directory / "refused.jsonl").exists():
            self.repeat(self, "refused.jsonl")
        self.repeat(before)

    def repeat(self, other: IterationFiles, name: str = "completed.jsonl") -> None:
        """Write the evaluated instances of another iteration as this one's."""
        with self.marks.replacing(name) as path:
            write_bytes(path, read_bytes(other.directory / "completed.jsonl"))

    # --- result ---

    def read_result(self) -> IterationResult:
        """The result of the finished iteration; RunDirectoryError if its file is damaged."""
        return read_model(self.directory / "iteration.json", IterationResult)

    def write_result(self, result: IterationResult) -> IterationResult:
        """Finish the iteration; return the result with the hash of its files."""
        if self.is_finished:  # an environment of one's own did it again
            (self.directory / MARKS_FILE).unlink(missing_ok=True)
        self.marks.mark_all()
        marks = hash_file(self.directory / MARKS_FILE)
        result = result.model_copy(update={"fingerprint": marks[:16]})
        write_json(self.directory / "iteration.json", result)
        return result

    def check(self) -> None:
        """Refuse files that are not as marked, by a RunDirectoryError that names the first."""
        self.marks.check(missing=self.is_finished)


def finished_iterations(root: Path) -> list[IterationFiles]:
    """The finished iterations below `root`, from 000 on; RunDirectoryError if there is a gap."""
    numbers = sorted(int(p.parent.name) for p in root.glob("[0-9]*/iteration.json"))
    if missing := {*range(len(numbers))} - {*numbers}:
        raise RunDirectoryError(
            f"{root / f'{min(missing):03d}' / 'iteration.json'} is missing, and iteration "
            f"{numbers[-1]:03d} is finished: restore it, or start the run over"
        )
    return [IterationFiles(root, number) for number in numbers]


def checked_iterations(root: Path) -> list[IterationFiles]:
    """The finished iterations below `root`; checks their files and those of the next iteration."""
    finished = finished_iterations(root)
    for files in (*finished, IterationFiles(root, len(finished))):
        files.check()
    return finished


def refuse_damaged_run(directory: Path) -> None:
    """Check that all files of a finished run are as they were written (`IterationFiles.check`)."""
    checked_iterations(directory / "iterations")
    for name in ("agent", "test"):
        MarkedFolder(directory / name, "restore it, or run the episode again").check()


# --- the student of an iteration ---


def load_adapter(predictor: TrainablePredictorInterface, root: Path, adapter: int | None) -> None:
    """Load an iteration's adapter in `root`, the folder `iterations/`; None loads the base student.

    Raises:
        RunDirectoryError: if the adapter is damaged.
    """
    if adapter is None:
        predictor.reset()
        return
    files = IterationFiles(root, adapter)
    files.check_adapter()
    predictor.load(files.adapter)
    if can(predictor, "with_adapter"):
        predictor.remember_former(former_of(root, adapter))


def former_of(root: Path, adapter: int) -> Path | None:
    """The folder with the student's adapter from before the training of that iteration."""
    return folder_of(root, IterationFiles(root, adapter - 1).read_result().adapter)


def folder_of(root: Path, adapter: int | None) -> Path | None:
    """The folder with the adapter that was trained in that iteration; None for no training."""
    return None if adapter is None else IterationFiles(root, adapter).adapter


# --- all finished iterations ---


class History:
    """Finished iterations, the base student first, and the records trained on.

    Records are read from the folders when needed, so that the cost of a step does not grow with
    their number.

    Args:
        root: the folder `iterations/`.
        options: of the episode.
        finished: its finished iterations.
    """

    def __init__(
        self, root: Path, options: TeachingOptions, finished: Iterable[IterationFiles] = ()
    ) -> None:
        self.results: list[IterationResult] = []
        self._root, self._options = root, options
        self._taught: list[IterationResult] = []
        self._gathering: list[IterationResult] = []
        for files in finished:
            self.append(files.read_result())

    @property
    def last(self) -> IterationResult:
        """The last finished iteration."""
        return self.results[-1]

    @property
    def records(self) -> list[TrainingDatum]:
        """All accepted records, but none of a training that the gate refused."""
        return self._read([*self._taught, *self._gathering])

    @property
    def gathered(self) -> list[TrainingDatum]:
        """The accepted records since the last training (see `generations_per_training`)."""
        return self._read(self._gathering)

    @property
    def stage(self) -> str | None:
        """The training stage that the next records need; None for any."""
        earlier = self._taught if self._options.mode == "accumulate" else []
        return next((one.stage for one in (*earlier, *self._gathering)), None)

    def trains_in(self, iteration: int, records: int) -> bool:
        """True if the student is trained in this iteration, False if it only gathers records.

        Args:
            records: the number of the episode's records with those of this iteration. If they reach
                `max_records`, the episode ends, so the student is trained.
        """
        most, each = self._options.max_records, self._options.generations_per_training
        return (most is not None and records >= most) or iteration % each == 0

    def append(self, result: IterationResult) -> None:
        """Add a finished iteration."""
        self.results.append(result)
        self._gathering += [result] * bool(result.n_records)
        if self.trains_in(result.iteration, result.n_records_total):
            if result.refused is None:  # its records are not trained on again
                self._taught += self._gathering
            self._gathering = []

    def training_records(self, accepted: Sequence[TrainingDatum], seed: int) -> list[TrainingDatum]:
        """The records of the next training: earlier ones as the options say, then its own.

        Its own are those gathered since the last training, and `accepted`.
        """
        if self._options.mode == "accumulate":
            return [*self.records, *accepted]
        own = [*self.gathered, *accepted]
        rng = derive_rng(seed, len(self.results), "replay")
        return [*self.sample(self._options.replay, stage_of(own[0]), rng), *own]

    def sample(self, size: int, stage: str, rng: np.random.Generator) -> list[TrainingDatum]:
        """Draw up to `size` of the records taught in this training stage, and keep their order."""
        taught = [one for one in self._taught if one.stage == stage]
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
            for record in IterationFiles(self._root, taught[i].iteration).read_records(
                set(rows[iterations == i].tolist())
            )
        ]

    def _read(self, iterations: Iterable[IterationResult]) -> list[TrainingDatum]:
        files = (IterationFiles(self._root, one.iteration) for one in iterations)
        return [record for one in files for record in one.read_records()]


def aim_reached(
    score: float, records: int, target_score: float | None, max_records: int | None
) -> bool:
    """True if the validation score or the number of records ends an episode."""
    return (target_score is not None and score >= target_score) or (
        max_records is not None and records >= max_records
    )
