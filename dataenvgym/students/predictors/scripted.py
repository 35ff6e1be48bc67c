"""A student whose answers are a function; for tests and examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dataenvgym.errors import AdapterError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.storage import publishing, read_model, write_json

_STATE = "scripted.json"


class ScriptedPredictor:
    """Answers each conversation with `answer(conversation)`.

    `train` only counts, in files like a real student's: `run.directory/adapter` has the numbers of
    trainings and records, and `load` reads them again. `answer` may use them to imitate a student
    that improves.

    Args:
        answer: returns the reply's text, or a `Failure`.

    Attributes:
        trainings: number of trainings since the base.
        records: number of records in all trainings since the base.
    """

    def __init__(self, answer: Callable[[Conversation], str | Failure]) -> None:
        self.answer = answer
        self.trainings = 0
        self.records = 0

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation; only `stop` of `sampling` has an effect."""
        answers = map(self.answer, conversations)
        return [Reply(text=sampling.until_stop(a)) if isinstance(a, str) else a for a in answers]

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Count the training, from zero if it starts from the base."""
        with run.phase("train"):
            before = (self.trainings, self.records) if run.start == "adapter" else (0, 0)
            state = (before[0] + 1, before[1] + len(training_data))
            _write(run.directory / "adapter", *state)
        with run.phase("load"):
            self.trainings, self.records = state

    def save(self, path: Path) -> None:
        """Write the counts to the folder `path`."""
        _write(path, self.trainings, self.records)

    def load(self, path: Path) -> None:
        """Load the counts that `save` or `train` wrote.

        Raises:
            AdapterError: if there are none.
        """
        way_out = "load what a scripted student has saved"
        state = read_model(path / _STATE, dict[str, int], way_out, AdapterError)
        self.trainings, self.records = state["trainings"], state["records"]

    def reset(self) -> None:
        """Set the counts to zero."""
        self.trainings = 0
        self.records = 0

    def describe(self) -> dict[str, str]:
        """The settings of the student, for the run directory."""
        return {"name": type(self).__name__}


def _write(folder: Path, trainings: int, records: int) -> None:
    with publishing(folder) as new:
        write_json(new / _STATE, {"trainings": trainings, "records": records})
