"""The folder of an episode's iterations: its files, and how to read them.

    iterations/NNN/
        records.jsonl     the agent's records with id and iteration, and the verdict on each
                          (`CheckedRecord`)
        dataset/, training.yaml, adapter/    written by the predictor's training
        completed.jsonl   the evaluated validation instances
        refused.jsonl     those of the student that the gate refused; `completed.jsonl` then has
                          the answers of the student before
        bands.npy         hashes for finding near duplicates of the accepted records
        iteration.json    `IterationResult`; it exists once the iteration is finished
        files.json        until then: size and hash of each written file (see `checksums`)

Iteration 000 is the base student; it has no records and no training. Files are written atomically,
so an interrupted iteration continues after its last file. `iteration.json` has the hashes of the
other files, so that a file damaged later is refused by name.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dataenvgym import exact_json
from dataenvgym.environments.checks import ACCEPTED, CheckedRecord, CheckedRecords
from dataenvgym.environments.near_duplicates import Bands
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import (
    CompletedTaskInstance,
    Model,
    PerformanceReport,
    Refusal,
    Scores,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.records.checksums import OF_TRAINING, FileMark, MarkedFolder, refuse_damage
from dataenvgym.records.model import Frozen
from dataenvgym.records.reports import Faults
from dataenvgym.storage import (
    open_file,
    read_bytes,
    read_json,
    read_jsonl,
    write_bytes,
    write_json,
    write_jsonl,
)
from dataenvgym.workspace import naming_damage


class IterationResult(Model):
    """The result of one iteration.

    Attributes:
        iteration: its number; 0 is the base student.
        report: the student's results on the validation split, by skill.
        reward: the change in validation score since the iteration before (0.0 for the base).
        n_records: records accepted in this iteration, also if the gate refused it.
        n_records_total: records accepted so far.
        dropped: records that were not accepted, by reason.
        unjudged: records accepted although a quality check could not judge them, by check.
        seconds: by phase, and `total`.
        adapter: iteration whose adapter is active, or None for the base student.
        files: marks (size and hash) of the iteration's files.
    """

    iteration: int
    report: PerformanceReport
    reward: float = 0.0
    n_records: int = 0
    n_records_total: int = 0
    dropped: Frozen[dict[str, int]] = {}
    unjudged: Frozen[dict[str, int]] = {}
    seconds: Frozen[dict[str, float]] = {}
    adapter: int | None = None
    files: Frozen[dict[str, FileMark]] = {}

    @property
    def val_score(self) -> float:
        """Mean reward on the validation split, failed calls excluded."""
        return self.report.score

    @property
    def n_val(self) -> int:
        return self.report.n

    @property
    def n_errors(self) -> int:
        return self.report.n_errors

    @property
    def refused(self) -> Refusal | None:
        """Why the gate refused the student that was trained, or None."""
        return self.report.refused

    @property
    def faults(self) -> Faults:
        return self.report.faults

    @property
    def no_answer_rate(self) -> float | None:
        """The share of replies without an answer; None if the task does not tell."""
        return self.report.no_answer_rate

    @property
    def answered_score(self) -> float | None:
        """The mean reward of the replies with an answer; None if none gives one."""
        return self.report.answered_score

    @property
    def val_score_by_skill(self) -> dict[str, float | None]:
        """Mean reward by skill; None if every call failed."""
        return {skill.skill: skill.score for skill in self.report.skills}

    @property
    def named_scores(self) -> Scores:
        return self.report.scores


def write_completed(path: Path, completed: Iterable[CompletedTaskInstance]) -> None:
    """Write completed instances, one per line, atomically."""
    # pydantic writes the same bytes as orjson, and needs no dictionary in between
    write_jsonl(path, (exact_json.Fragment(c.model_dump_json()) for c in completed))


def read_completed(path: Path) -> list[CompletedTaskInstance]:
    """Read a file that `write_completed` wrote; RunDirectoryError if it is damaged."""
    with naming_damage(path):
        return [CompletedTaskInstance.model_validate(value) for value in read_jsonl(path)]


class IterationFiles:
    """The files of iteration `number` in `root`, the folder `iterations/`."""

    def __init__(self, root: Path, number: int) -> None:
        self.number = number
        self.directory = root / f"{number:03d}"
        self.marks = MarkedFolder(
            self.directory,
            f"restore it, or remove the folder {self.directory}: the same command then does this "
            "iteration again",
        )

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
        if (first := next(rows, None)) is None or first.verdict is None:
            return None
        return CheckedRecords((first, *rows))

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

    def write_records(self, rows: Iterable[CheckedRecord]) -> None:
        """Write the records; before the check without verdicts."""
        with self.marks.replacing("records.jsonl") as path:
            write_jsonl(path, (row.model_dump(mode="json") for row in rows))

    def _read_rows(self) -> Iterator[CheckedRecord]:
        path = self.directory / "records.jsonl"
        with naming_damage(path):
            for row in read_jsonl(path) if path.exists() else ():
                yield CheckedRecord.model_validate(row)

    def read_bands(self) -> Bands | None:
        """The bands of the accepted records, for finding near duplicates; None if not written."""
        path = self.directory / "bands.npy"
        with naming_damage(path):
            return np.load(open_file(path), allow_pickle=False) if path.exists() else None

    def write_bands(self, bands: Bands) -> None:
        """Save the bands so that a resumed episode need not compute them; nothing if empty."""
        if len(bands):
            content = io.BytesIO()
            np.save(content, bands)
            with self.marks.replacing("bands.npy") as path:
                write_bytes(path, content.getvalue())

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
            self._refuse_damage(self.read_result(), below="adapter/", large=True)

    # --- evaluation ---

    def read_completed(self, name: str = "completed.jsonl") -> list[CompletedTaskInstance] | None:
        """The evaluated instances, or None before the evaluation."""
        path = self.directory / name
        return read_completed(path) if path.exists() else None

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
        content = read_bytes(other.directory / "completed.jsonl")
        with self.marks.replacing(name) as path:
            write_bytes(path, content)

    def write_completed(self, completed: Iterable[CompletedTaskInstance]) -> None:
        with self.marks.replacing("completed.jsonl") as path:
            write_completed(path, completed)

    # --- result ---

    def read_result(self) -> IterationResult:
        """The result of the finished iteration; RunDirectoryError if its file is damaged."""
        path = self.directory / "iteration.json"
        with naming_damage(path):
            return IterationResult.model_validate(read_json(path))

    def write_result(self, result: IterationResult) -> IterationResult:
        """Finish the iteration; return the result with the marks of its files."""
        result = result.model_copy(update={"files": self.marks.complete()})
        self.marks.remove()
        write_json(self.directory / "iteration.json", result.model_dump(mode="json"))
        return result

    def check(self) -> None:
        """Refuse files that are not as marked, by a RunDirectoryError that names the first."""
        if self.is_finished:
            self._refuse_damage(self.read_result())
        else:
            self.marks.check(missing=False)

    def _refuse_damage(
        self, result: IterationResult, *, below: str = "", large: bool = False
    ) -> None:
        way_out = (
            f"restore it, or remove {self.directory.name} and all later folders in "
            f"{self.directory.parent}: the same command then does these iterations again"
        )
        refuse_damage(self.directory, result.files, way_out, below=below, large=large)


def finished_iterations(root: Path) -> list[IterationFiles]:
    """The finished iterations below `root`, from 000 on; RunDirectoryError if there is a gap."""
    numbers = sorted(int(p.parent.name) for p in root.glob("[0-9]*/iteration.json"))
    for expected, number in enumerate(numbers):
        if number != expected:
            raise RunDirectoryError(
                f"{root / f'{expected:03d}' / 'iteration.json'} is missing, and iteration "
                f"{number:03d} is finished: restore it, or start the run over"
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
    MarkedFolder(directory, "restore it, or run the episode again").check()
