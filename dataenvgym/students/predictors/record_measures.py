"""Losses and influences of records, for predictors whose student is in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import TrainingDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors.learner import Learner
from dataenvgym.students.trainers import TrainerInterface
from dataenvgym.students.trainers.interface import options_of, trainer_with
from dataenvgym.students.trainers.support import refuse_unsupported


class MeasuresHere(Learner):
    """The methods of `AblePredictor`.

    Files are written as for a training, in a temporary folder. So a record is measured in the form
    in which the trainer would learn it.
    """

    device: str
    _current: Callable[[TrainingRun], Path | None]

    def losses(
        self,
        records: Sequence[TrainingDatum],
        *,
        learned: Sequence[TrainingDatum] = (),
        seed: int = 0,
    ) -> list[float]:
        """See `AblePredictor`."""
        from dataenvgym.students.trainers.record_measures import losses

        with TemporaryDirectory() as scratch:
            folder, start = Path(scratch), None
            if learned:
                run = TrainingRun(_made(folder / "learned"), seed)
                start = self.train_on(learned, run, trainer=self._without_curriculum)
            config = self._file(records, _made(folder / "records"), start=start)
            return losses(config, self.threads, self.device)

    def influences(
        self,
        records: Sequence[TrainingDatum],
        targets: Sequence[Sequence[TrainingDatum]],
        *,
        warmup: Sequence[TrainingDatum],
        epochs: int,
        seed: int = 0,
    ) -> list[float]:
        """See `AblePredictor`.

        Raises:
            UnsupportedStageError: for options of the trainer that only LLaMA-Factory has.
        """
        from dataenvgym.students.trainers.record_measures import influences

        trainer = trainer_with(
            self.trainer, {"num_train_epochs": epochs, "max_steps": -1, "curriculum": None}
        )
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            first = self._file(warmup, _made(folder / "warmup"), seed=seed, trainer=trainer)
            refuse_unsupported(first)
            pool, *groups = (
                self._file(each, _made(folder / str(i)))
                for i, each in enumerate([records, *targets])
            )
            return influences(first, pool, groups, self.threads, self.device)

    @property
    def _without_curriculum(self) -> TrainerInterface:
        """The trainer for all records at once: a curriculum names those of an iteration."""
        if options_of(self.trainer).curriculum is None:
            return self.trainer
        return trainer_with(self.trainer, {"curriculum": None})

    def _file(
        self,
        records: Sequence[TrainingDatum],
        directory: Path,
        *,
        start: Path | None = None,
        seed: int = 0,
        trainer: TrainerInterface | None = None,
    ) -> TrainingConfig:
        """The file of a training on the records, which begins at `start` or the present student."""
        strange = next((r.kind for r in records if r.kind not in ("supervised", "chat")), None)
        if strange is not None or not records:
            found = f", one of kind {strange!r}" if strange is not None else ""
            raise ConfigurationError(
                f"{len(records)} records to measure{found}, expected at least one, and only "
                "supervised records and chats: select others with agent=pool_random or pool_diverse"
            )
        run = TrainingRun(directory, seed, "adapter")
        start = self._current(run) if start is None else start
        path = self.write_training(records, run, start, trainer=trainer or self._without_curriculum)
        assert path is not None  # there are records, and no adapter yet
        return TrainingConfig.read(path)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
