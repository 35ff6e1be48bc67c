"""What happens on a worker: one episode in a temporary folder, told as it goes.

The driver sends an `EpisodeOrder`, with all that the run directory holds; what comes back is a
stream of `Told`, each with the files that are new, and at the end `Done` with the summary or a
`CarriedError`. The worker knows nothing of the run directory, which may be on another machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, Literal

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.warning_log import RunWarning
from dataenvgym.executors.errors import CarriedError, Done
from dataenvgym.executors.narration import Tell, narrate
from dataenvgym.executors.parcels import FolderWatch, Parcel
from dataenvgym.executors.predictor_host import Host
from dataenvgym.executors.ray_host import RayHost, Surroundings
from dataenvgym.executors.remote_predictor import RemotePredictor

_PATIENCE = 5.0  # seconds that a cancelled episode gets to see that its student is gone


@dataclass(frozen=True)
class EpisodeOrder:
    """An episode to be gone on with.

    Attributes:
        name: of the run directory.
        config: the configuration, resolved, as YAML text.
        files: what the run directory holds.
        gpus: for the student.
        max_restarts: of the student's process, for one call.
    """

    name: str
    config: str
    files: Parcel
    surroundings: Surroundings
    gpus: float
    max_restarts: int


Method = Literal["on_start", "on_phase", "on_warning", "on_iteration", "on_end"]


@dataclass(frozen=True)
class Told:
    """A callback's method was called with these arguments; the files are new or changed since."""

    method: Method | None
    arguments: tuple[Any, ...]
    files: Parcel | None


def run_order(order: EpisodeOrder) -> Iterator[Told | Done | CarriedError]:
    """Run the episode, its student in an actor; closed early, it ends the actor and cleans up."""
    order.surroundings.enter()
    with ExitStack() as stack:
        # in the opposite order at the end: the student, whoever waits for it, the folder
        temporary = tempfile.TemporaryDirectory(prefix="dataenvgym-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        has_ended = Event()
        stack.callback(has_ended.wait, _PATIENCE)
        directory = folder.resolve() / order.name
        order.files.write(directory)
        numbers = count()

        def make_host() -> Host:
            its_folder = folder / f"student-{next(numbers)}"
            return RayHost(order.config, order.surroundings, its_folder, num_gpus=order.gpus)

        def work(tell: Tell) -> Summary:
            try:
                predictor = RemotePredictor(make_host, max_restarts=order.max_restarts)
                stack.enter_context(closing(predictor))
                return _run(order, directory, predictor, tell)
            finally:
                has_ended.set()

        root = str(directory)
        yield from narrate(
            work, lambda error: CarriedError.of(error, root=root, here=order.files.root)
        )


def _run(order: EpisodeOrder, directory: Path, predictor: RemotePredictor, tell: Tell) -> Summary:
    from omegaconf import OmegaConf

    from dataenvgym.episodes.log import log_to
    from dataenvgym.episodes.runner import run_episode
    from dataenvgym.executors.early_warnings import EarlyWarnings
    from dataenvgym.executors.interface import build_episode, close_speakers_of

    config: Any = OmegaConf.create(order.config)
    watch = FolderWatch(directory)
    with log_to(directory / "log.txt"):
        early = EarlyWarnings()
        with early.gathering():
            environment, agent = build_episode(config, directory, predictor=predictor)
        try:
            return run_episode(
                environment,
                agent,
                iterations=config.episode.iterations,
                seed=config.seed,
                callbacks=[_Relay(tell, watch), early],
                progress=False,
            )
        finally:
            close_speakers_of(environment)
            tell(Told(None, (), watch.changes()))


class _Relay(EpisodeCallback):
    """Tells what it hears, and what has become of the files."""

    def __init__(self, tell: Tell, watch: FolderWatch) -> None:
        self._tell = tell
        self._watch = watch

    def on_start(self, plan: EpisodePlan) -> None:
        self._tell(Told("on_start", (plan,), self._watch.changes()))

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        files = self._watch.changes() if event == "end" else None
        self._tell(Told("on_phase", (event, iteration, phase, seconds), files))

    def on_warning(self, warning: RunWarning) -> None:
        self._tell(Told("on_warning", (warning,), None))  # its file comes with the phase's

    def on_iteration(self, summary: IterationSummary) -> None:
        self._tell(Told("on_iteration", (summary,), self._watch.changes()))

    def on_end(self, summary: Summary) -> None:
        self._tell(Told("on_end", (summary,), self._watch.changes()))
