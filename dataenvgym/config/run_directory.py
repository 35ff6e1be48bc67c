"""A configuration and the folder of its run.

`config.yaml` there is the resolved configuration that the run was begun with. The same
configuration goes on with it; another one is refused by the names of the keys that differ,
except for those that change no result (`identity.FREE`): more iterations extend the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.config.holding import held
from dataenvgym.config.identity import decisive_values, follows, run_name
from dataenvgym.config.resolved import shown_yaml
from dataenvgym.config.trust import refuse_references
from dataenvgym.errors import BrokenFileError, ConfigChangedError, RunDirectoryError, did_you_mean
from dataenvgym.format_version import check_format
from dataenvgym.storage import is_empty, is_temporary, read_json, write_text

if TYPE_CHECKING:
    from omegaconf import DictConfig

_SECTIONS = {"task", "agent", "environment", "episode"}


def run_directory(config: DictConfig) -> Path:
    """Where the run of that configuration is, or will be."""
    return Path(str(config.runs_dir)).expanduser() / run_name(config)


def check_run(config: DictConfig) -> None:
    """Refuse to go on with a run that was begun with another configuration.

    Raises:
        ConfigChangedError: naming the keys that differ, or if fewer iterations are asked for than
            the run has done.
        RunDirectoryError: if the folder is no run directory.
        NewerFormatError: if a newer dataenvgym has written it.
    """
    directory = run_directory(config)
    check_format(directory)
    if not _is_begun(directory):
        return
    before, now = decisive_values(read_config(directory)), decisive_values(config)
    what = f"the run {directory.name!r} (see {directory / 'config.yaml'})"
    refuse_changes(what, before, now, lambda key: follows(config, key))
    done, asked = _iterations_done(directory), int(config.episode.iterations)
    if asked < done:
        raise ConfigChangedError(
            f"the run {directory.name!r} has done {done} iterations already, more than "
            f"episode.iterations={asked} asks for. Ask for {done} or more, choose another name "
            "(name=...), or start anew with --fresh.",
            keys=("episode.iterations",),
        )


def refuse_changes(
    what: str,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    follows: Callable[[str], bool] = lambda key: False,
) -> None:
    """Refuse to go on with something that was begun with other values.

    Args:
        what: such as "the run 'mine'".
        before, now: values by dotted key.
        follows: whether a key only repeats another one; named only if nothing else differs.

    Raises:
        ConfigChangedError: naming the keys that differ.
    """
    keys = [k for k in sorted({*before, *now}) if before.get(k, _NONE) != now.get(k, _NONE)]
    if not keys:
        return
    keys = [k for k in keys if not follows(k)] or keys
    lines = [f"  {k}: {before.get(k, _NONE)!r} -> {now.get(k, _NONE)!r}" for k in keys]
    raise ConfigChangedError(
        f"{what} was begun with another configuration:\n"
        + "\n".join(lines)
        + "\nGo back to that, choose another name (name=...), or start anew with --fresh.",
        keys=tuple(keys),
    )


def is_done(config: DictConfig) -> bool:
    """Whether the run is finished, and nothing that `config` asks for is left to do."""
    try:
        summary = read_json(run_directory(config) / "summary.json")
    except (FileNotFoundError, BrokenFileError):  # damaged, it is written anew
        return False
    if summary["status"] != "finished":
        return False
    last = summary["iterations"][-1]
    target = config.environment.get("target_score")
    budget = config.environment.get("max_records")
    return bool(
        last["iteration"] >= int(config.episode.iterations)
        or (target is not None and last["val_score"] >= target)
        or (budget is not None and last["n_records_total"] >= budget)
    )


@contextmanager
def open_run(config: DictConfig, *, fresh: bool = False) -> Iterator[Path]:
    """Hold the run's folder, with its `config.yaml`, new or gone on with.

    The folder is locked before anything in it changes, until the block ends.

    Args:
        fresh: remove what is there.

    Raises:
        RunDirectoryError: if another process is at it; as `check_run`; with `fresh`, if the folder
            is not one of ours.
    """
    directory = run_directory(config)
    with held(
        directory,
        fresh=fresh,
        refuse_strange=lambda: read_config(directory),
        check=lambda: check_run(config),
    ):
        text = shown_yaml(config)
        path = directory / "config.yaml"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
        yield directory


def read_config(directory: Path) -> DictConfig:
    """The configuration that a run was begun with.

    Raises:
        RunDirectoryError: if the folder is no run directory, or something in its configuration
            refers to anything else.
    """
    from omegaconf import DictConfig, OmegaConf

    path = directory / "config.yaml"
    if is_hand_made(directory):
        raise RunDirectoryError(
            f"{directory} is a run made in Python, so it has no config.yaml: go on with it in "
            "Python, or choose another folder (name=..., runs_dir=...)"
        )
    if not path.exists():
        raise RunDirectoryError(f"{directory} is no run directory: it has no config.yaml")
    try:
        config = OmegaConf.load(path)
    except Exception as error:
        raise RunDirectoryError(f"{path} cannot be read: {error}") from error
    if not isinstance(config, DictConfig) or _SECTIONS - set(config):
        raise RunDirectoryError(f"{path} is not the configuration of a run")
    refuse_references(config, path)
    return config


def is_hand_made(directory: Path) -> bool:
    """Whether it is the folder of a run made in Python, which has no configuration."""
    has_config = (directory / "config.yaml").exists()
    is_run = (directory / "environment.json").exists() and (directory / "iterations").is_dir()
    return is_run and not has_config


def find_run(name: str, runs_dir: str | Path = "runs") -> Path:
    """The folder of a run, given its path or its name.

    Raises:
        RunDirectoryError: if there is none, with the closest name that there is.
        NewerFormatError: if a newer dataenvgym has written it.
    """
    for directory in (Path(name).expanduser(), Path(runs_dir) / name):
        if directory.is_dir():
            if not (directory / "config.yaml").exists() and not is_hand_made(directory):
                raise RunDirectoryError(
                    f"{directory} is not a run directory: it has neither a config.yaml nor an "
                    "environment.json with iterations"
                )
            check_format(directory)
            return directory
    folders = sorted(Path(runs_dir).glob("*"))
    names = [p.name for p in folders if (p / "config.yaml").exists() or is_hand_made(p)]
    number = "1 run" if len(names) == 1 else f"{len(names)} runs"
    there = f"{runs_dir} holds {number}" if names else f"there are no runs in {runs_dir}"
    raise RunDirectoryError(f"there is no run {name!r}.{did_you_mean(name, names)} ({there})")


class _Nothing:
    def __repr__(self) -> str:
        return "(not there)"


_NONE = _Nothing()


def _is_begun(directory: Path) -> bool:
    """Whether anything has been done there that another configuration could not go on with."""
    if is_empty(directory):
        return False
    read_config(directory)
    files = (path for path in directory.glob("iterations/*/*") if path.is_file())
    return not all(map(is_temporary, files))


def _iterations_done(directory: Path) -> int:
    return max(len(list(directory.glob("iterations/*/iteration.json"))) - 1, 0)
