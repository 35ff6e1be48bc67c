"""The folder of an evaluation: its files, and how to read them.

    config.yaml, environment.json    the student and the task (see `evaluation.directory`)
    instances.jsonl                  the problems
    samples/SSS-CCCC.jsonl           sample SSS of the CCCC-th chunk of instances, one per line
    usage/SSS-CCCC.json              tokens and seconds of the student for these samples, and what
                                     each speaker took for each of them
    costs.json                       tokens, money and seconds of each speaker (see `usage`)
    tallies.jsonl                    the counted samples of each instance
    results.json                     metrics, and scores by skill, of the last command
    judged-HASH/SSS-CCCC.jsonl       the judges' verdicts on each sample; judges.json names them
    rescored-NNN/                    the samples judged again: scores.jsonl, tallies, results, the
                                     settings, and costs of the speakers that were asked
                                     again and of the verdicts

Files are written atomically, so finished samples need not be drawn again. Problems, samples and
verdicts are marked as they are written (`files.json`, see `checksums`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model, TaskInstance
from dataenvgym.records.checksums import load, save
from dataenvgym.tasks.metrics.samples import Sample

T = TypeVar("T", bound=Model)
_ANEW = "--fresh starts the evaluation over"
_DRAWN_AGAIN = "remove the file, and the command that began the evaluation draws it again"


class EvaluationFiles:
    """The files of one evaluation.

    Args:
        directory: its folder; it need not exist yet.
        chunk: the most instances in a file of samples; None puts all into one file.
    """

    def __init__(self, directory: Path, chunk: int | None) -> None:
        self.directory = directory
        self.chunk = chunk

    # --- instances ---

    def read_instances(self) -> tuple[TaskInstance, ...]:
        """The problems, in order; RunDirectoryError if their file is missing or damaged."""
        path = self._instances
        if not path.exists():
            raise RunDirectoryError(
                f"{self.directory} has no instances.jsonl: the evaluation has not begun"
            )
        instances = tuple(load(path, list[TaskInstance], _ANEW) or ())
        if not instances:
            raise RunDirectoryError(f"{path} is empty, so it is damaged: {_ANEW}")
        return instances

    def write_instances(self, instances: Iterable[TaskInstance]) -> None:
        save(self._instances, instances)

    def begin_with(self, instances: Sequence[TaskInstance]) -> None:
        """Write the problems; RunDirectoryError if there are samples of other problems."""
        if not self.is_begun or not self._instances.exists():
            self.write_instances(instances)
            return
        there, wanted = ([i.id for i in them] for them in (self.read_instances(), instances))
        if there != wanted:
            raise RunDirectoryError(
                f"{self._instances} has {len(there)} problems with samples; they are not "
                f"the {len(wanted)} problems of this evaluation: {_ANEW}"
            )

    @property
    def _instances(self) -> Path:
        return self.directory / "instances.jsonl"

    def chunks(self, instances: Sequence[T]) -> list[Sequence[T]]:
        """Cut items, in the instances' order, into chunks."""
        size = self.chunk or max(1, len(instances))
        return [instances[i : i + size] for i in range(0, len(instances), size)]

    # --- samples ---

    def part(self, sample: int, chunk: int) -> Path:
        """The file of this sample of this chunk."""
        return self.directory / "samples" / f"{sample:03d}-{chunk:04d}.jsonl"

    def read_part(self, sample: int, chunk: int, instances: Sequence[TaskInstance]) -> list[Sample]:
        """Read this sample of this chunk.

        Args:
            instances: the problems of the chunk.

        Raises:
            RunDirectoryError: if the file is damaged, or is about other problems.
        """
        path = self.part(sample, chunk)
        samples = load(path, list[Sample], _DRAWN_AGAIN) or []
        if [(s.sample, s.instance_id) for s in samples] != [(sample, i.id) for i in instances]:
            raise RunDirectoryError(
                f"{path} is not about sample {sample} of {len(instances)} problems of "
                f"{self._instances}: {_DRAWN_AGAIN}; if it says the same then, {_ANEW}"
            )
        return samples

    def read_samples(self, samples: int) -> Iterator[Sample]:
        """Read the first samples of every instance: sample by sample, in the instances' order.

        Raises:
            RunDirectoryError: if a file is missing or damaged.
        """
        chunks = self.chunks(self.read_instances())
        for sample in range(samples):
            for chunk, instances in enumerate(chunks):
                if not self.part(sample, chunk).exists():
                    raise RunDirectoryError(
                        f"{self.part(sample, chunk)} is missing: the evaluation is not finished. "
                        "The command that began it resumes it"
                    )
                yield from self.read_part(sample, chunk, instances)

    def has(self, samples: int) -> bool:
        """True if there are this many samples of every instance."""
        if not self._instances.exists():
            return False
        n_chunks = len(self.chunks(self.read_instances()))
        return all(
            self.part(sample, chunk).exists()
            for sample in range(samples)
            for chunk in range(n_chunks)
        )

    def count_complete(self) -> int:
        """The number of samples that every instance has; 0 before the evaluation begins."""
        count = 0
        while self.is_begun and self.has(count + 1):
            count += 1
        return count

    @property
    def is_begun(self) -> bool:
        """True if there is any sample."""
        return any((self.directory / "samples").glob("*.jsonl"))
