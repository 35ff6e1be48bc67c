"""The folder of a run, and its configuration.

A run resumes with its first configuration. Only keys that do not change
results (`identity.free_keys`) may differ; more iterations extend the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from dataenvgym.runs.config.identity import run_name
from dataenvgym.runs.config.workspaces import Workspaces


def run_directory(config: DictConfig) -> Path:
    """The folder of this configuration's run; it may not exist yet."""
    return Path(str(config.runs_dir)).expanduser() / run_name(config)


_SECTIONS = ("task", "agent", "environment", "episode")
_RUNS = Workspaces("run", "--runs-dir", _SECTIONS, begun="iterations/*/*")

read_config = _RUNS.read
"""The configuration that a run was begun with; see `Workspaces.read`."""
find_run = _RUNS.find
"""The folder of a run, given its path or its name; see `Workspaces.find`."""
runs_in = _RUNS.names
"""The names of the runs in a folder, the latest first."""


def check_run(config: DictConfig) -> None:
    """Refuse to resume a run that was begun with another configuration.

    Raises:
        ConfigChangedError: names the keys that differ; also if the run has done more iterations
            than requested.
        RunDirectoryError: as `Workspaces.check`.
    """
    _RUNS.check(run_directory(config), config)


@contextmanager
def open_run(config: DictConfig, *, fresh: bool = False) -> Iterator[Path]:
    """Lock the run's folder, and write its `config.yaml`; see `Workspaces.opened`."""
    directory = run_directory(config)
    with _RUNS.opened(directory, config, fresh=fresh):
        yield directory


def is_done(config: DictConfig, directory: Path | None = None, *, or_ended: bool = False) -> bool:
    """True if the run is finished and has reached the goal of `config`.

    Args:
        directory: of the run, where it is known already.
        or_ended: also accept an episode that ended early because its teacher's budget was spent.
    """
    from dataenvgym.runs.episodes.summary import is_finished  # a slow import

    return is_finished(
        directory or run_directory(config),
        int(config.episode.iterations),
        target_score=config.environment.get("target_score"),
        max_records=config.environment.get("max_records"),
        test_each=bool(config.episode.get("test_each")),
        or_ended=or_ended,
    )
