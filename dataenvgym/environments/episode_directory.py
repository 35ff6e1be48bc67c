"""The folder of an episode: a run directory, or a temporary one.

Its identity (see `workspace`) is everything that determines the episode. States of agents and
engines are saved as JSON.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.environments.iterations import IterationFiles, checked_iterations
from dataenvgym.errors import AgentError, RunDirectoryError
from dataenvgym.events import without_secrets
from dataenvgym.interfaces import PredictorInterface, Stateful, can
from dataenvgym.records import hashed_json
from dataenvgym.records.checksums import load
from dataenvgym.storage import read_model
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.rollouts import describe_speakers
from dataenvgym.workspace import check_format, claim

_SCRATCH = ".trial-"


class EpisodeDirectory:
    """The folder of `iterations/`; None makes a temporary one at first use (see `close`)."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._forget_temporary: Callable[[], object] | None = None
        self._is_mine = path is None

    @property
    def path(self) -> Path:
        """The folder."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="dataenvgym-"))
            # for when close() is never called
            remove = partial(shutil.rmtree, self._path, ignore_errors=True)
            self._forget_temporary = weakref.finalize(self, remove)
        return self._path

    @property
    def iterations(self) -> Path:
        """The folder of the iterations; it exists once there is an episode."""
        return self.path / "iterations"

    @property
    def is_temporary(self) -> bool:
        """True if the folder is removed when the environment is closed."""
        return self._path is None or self._forget_temporary is not None

    def move_to(self, path: str | Path) -> None:
        """Keep the next episode in this folder."""
        if self._path is None or self._path.absolute() != Path(path).absolute():
            self.close()
            self._path, self._is_mine = Path(path), False

    def claim(
        self, identity: Callable[[], dict[str, Any]], *, resume: bool, fresh: bool
    ) -> list[IterationFiles]:
        """Begin an episode here, or continue the existing one; return its finished iterations.

        `identity` computes the contents of `environment.json`; errors: `TeachingEnvironment.reset`.
        """
        finished = []
        if resume:
            check_format(self.path)
            finished = checked_iterations(self.iterations)
        elif not fresh and not self._is_mine and self.iterations.exists():
            raise RunDirectoryError(
                f"{self.iterations} already holds an episode: reset with "
                "options={'resume': True} to continue it, or {'fresh': True} to replace it"
            )
        is_begun = (self.iterations / "000" / "completed.jsonl").exists() and resume
        now = identity()
        if not (finished or is_begun):
            if self.iterations.exists():  # first and at once: without them nothing can be resumed
                gone = self.iterations.with_name(".iterations.gone")
                shutil.rmtree(gone, ignore_errors=True)
                self.iterations.rename(gone)
                shutil.rmtree(gone)
            for name in ("agent", "test"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            (self.path / "summary.json").unlink(missing_ok=True)
        claim(self.path, now, is_begun=bool(finished) or is_begun)
        self._is_mine = True
        for folder in self.path.glob(f"{_SCRATCH}*"):  # a kill left them
            shutil.rmtree(folder, ignore_errors=True)
        return finished

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a folder inside that is removed after the block."""
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder if it is temporary."""
        if self._forget_temporary is not None:
            self._forget_temporary()
            self._forget_temporary = self._path = None


# --- identity ---


def identity_of(
    environment: str, task: Task, predictor: PredictorInterface, options: dict[str, Any]
) -> dict[str, Any]:
    """Collect everything that determines an episode, as JSON.

    A task with `instances` is identified by their hash, and its worked examples by theirs. A
    predictor with `describe()` is identified by its result (for the in-process one: the hash of the
    student's weights, and the trainer's options), and so are the task's other speakers.
    """
    adapted = task
    identity = {"environment": environment, "task": adapted.name, "instances": None, **options}
    if adapted.offers("instances"):
        identity["instances"] = _hash(b"".join(map(hashed_json, known_instances(task))))
    if adapted.pressure is not None:
        identity["pressure"] = adapted.pressure.describe()
        if not adapted.pressure_on_records:
            identity["pressure_on_records"] = False
    if (examples := adapted.examples) is not None:
        shown = f"{adapted.examples_for} {examples.model_dump_json()}"
        identity["examples"] = _hash(shown.encode())
    if adapted.others:
        identity["others"] = describe_speakers(adapted.others)
    if can(predictor, "describe"):
        identity["predictor"] = predictor.describe()
    hidden: dict[str, Any] = without_secrets(identity)
    return hidden


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


# --- states of agents and engines ---


def state_of(thing: Stateful) -> dict[str, Any]:
    """The result of `state_dict()`; AgentError if it is not a dict that JSON restores unchanged."""
    state: Any = thing.state_dict()
    try:
        if not isinstance(state, dict):
            raise TypeError(f"it is a {type(state).__name__}")
        exact_json.dumps(state)
        json.dumps(state, allow_nan=False)  # the former writes null
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"state_dict() of {type(thing).__name__} cannot be saved as JSON ({error}): expected a "
            "dict of texts, finite numbers, booleans, None, lists and dicts"
        ) from error
    return state


def read_state(path: Path) -> dict[str, Any]:
    """Read the state in the file; RunDirectoryError if it is missing or damaged."""
    way_out = "without it, a resumed run would differ; restore it, or start the run over"
    state = load(path, dict[str, Any], way_out)
    return read_model(path, dict[str, Any], way_out) if state is None else state
