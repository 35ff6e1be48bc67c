"""The student of an episode: trained in each iteration, and restored to any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from weakref import WeakValueDictionary

from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.history import History
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import PhaseFactory, SharesBase, TrainablePredictorInterface, TrainingRun
from dataenvgym.records import TrainingDatum
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.students.llama_factory import stage_of

_HOLDERS: WeakValueDictionary[int, Student] = WeakValueDictionary()
"""The episode whose adapter a predictor has, by the `id` of the predictor: a fact about the
predictor, which episodes of several contexts may use in turn."""

_IN_USE: set[int] = set()


@contextmanager
def used_alone(predictor: TrainablePredictorInterface) -> Iterator[None]:
    """Let only one episode of this process run with the predictor; else ConfigurationError."""
    if id(predictor) in _IN_USE:
        raise ConfigurationError(
            f"another episode in this process runs with the same {type(predictor).__name__} "
            "object: give each episode a predictor of its own, or run them one after another"
        )
    _IN_USE.add(id(predictor))
    try:
        yield
    finally:
        _IN_USE.discard(id(predictor))


class Student:
    """A predictor that learns within an episode's folder, where its adapters are.

    Several episodes may use one predictor in turn: each loads its own adapter again (`hold`).
    """

    def __init__(
        self,
        predictor: TrainablePredictorInterface,
        episode: EpisodeDirectory,
        options: TeachingOptions,
    ) -> None:
        self._predictor = predictor
        self._episode = episode
        self._options = options
        self._is_lost = False  # to another episode

    def take(self) -> None:
        """Claim the predictor for this episode; the one that had it must load its adapter again."""
        holder = _HOLDERS.get(id(self._predictor))
        if holder is not None and holder is not self:
            holder._is_lost = True
        _HOLDERS[id(self._predictor)] = self
        self._is_lost = False

    def hold(self, adapter: int | None) -> None:
        """Load the adapter of an iteration, if another episode took the predictor since."""
        if self._is_lost:
            self.load(adapter)
            self.take()

    def load(self, adapter: int | None) -> None:
        """Load the adapter of an iteration; None loads the base student."""
        load_adapter(self._predictor, self._episode.iterations, adapter)

    def go_back(self, adapter: int | None, error: BaseException) -> None:
        """Restore the student after a failed step; a failure here becomes a note on `error`."""
        try:
            self.load(adapter)
        except DataEnvGymError as another:
            error.add_note(f"the student could not be restored either: {another}")

    def train(
        self,
        accepted: Sequence[TrainingDatum],
        files: IterationFiles,
        history: History,
        *,
        seed: int,
        clock: PhaseClock,
        as_trained: Callable[[Sequence[TrainingDatum]], Sequence[TrainingDatum]],
    ) -> int | None:
        """Train on the accepted records; return the iteration whose adapter is then active.

        `as_trained` is `Task.as_trained`.
        """
        if not (accepted or history.gathered):
            return history.last.adapter
        run = training_run(self._options, files.number, files.directory, seed=seed, phase=clock)
        records = training_records(self._options, files.number, accepted, history, seed=seed)
        self._predictor.train(as_trained(records), run)
        if isinstance(self._predictor, SharesBase):
            before = folder_of(self._episode.iterations, history.last.adapter)
            self._predictor.remember_former(before)
        return files.number


def training_run(
    options: TeachingOptions,
    number: int,
    directory: Path,
    *,
    seed: int,
    phase: PhaseFactory = lambda name: nullcontext(),
) -> TrainingRun:
    """The training of an iteration, whose files go into `directory`."""
    return TrainingRun(
        directory=directory,
        seed=derive_seed(seed, number, "train"),
        start="adapter" if options.mode == "incremental" else "base",
        phase=phase,
    )


def training_records(
    options: TeachingOptions,
    number: int,
    accepted: Sequence[TrainingDatum],
    history: History,
    *,
    seed: int,
) -> list[TrainingDatum]:
    """The records of an iteration's training: earlier ones as `options` say, then its own.

    Its own are those gathered since the last training, and `accepted`.

    Args:
        history: of the iterations before this one.
    """
    if options.mode == "incremental":
        rng = derive_rng(seed, number, "replay")
        own = [*history.gathered, *accepted]
        return [*history.sample(options.replay, stage_of(own[0]), rng), *own]
    return [*history.records, *accepted]


def load_adapter(predictor: TrainablePredictorInterface, root: Path, adapter: int | None) -> None:
    """Load an iteration's adapter in `root`, the folder `iterations/`; None loads the base student.

    Raises:
        RunDirectoryError: if the adapter is damaged.
    """
    if adapter is None:
        predictor.reset()
    else:
        files = IterationFiles(root, adapter)
        files.check_adapter()
        predictor.load(files.adapter)
        if isinstance(predictor, SharesBase):
            predictor.remember_former(former_of(root, adapter))


def former_of(root: Path, adapter: int) -> Path | None:
    """The folder with the student's adapter from before the training of that iteration."""
    return folder_of(root, IterationFiles(root, adapter - 1).read_result().adapter)


def folder_of(root: Path, adapter: int | None) -> Path | None:
    """The folder with the adapter that was trained in that iteration; None for no training."""
    return None if adapter is None else IterationFiles(root, adapter).adapter
