"""A configuration and the folder of its evaluation.

`config.yaml` there has the sections that determine what is answered (task, student, predictor,
trainer) and the settings of the evaluation, resolved. The same ones go on with it; others are
refused by the names of the keys that differ, except for `samples` and `metrics`: more samples
extend the evaluation, and metrics are made of what is drawn already. `problems` says what part of
the task's problems was put.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from dataenvgym.config.composition import overlay
from dataenvgym.config.holding import held
from dataenvgym.config.identity import decisive_values, run_name, short_name
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.config.resolved import literal, shown_yaml
from dataenvgym.config.run_directory import refuse_changes
from dataenvgym.config.trust import refuse_references, refuse_untrusted
from dataenvgym.errors import ConfigurationError, RunDirectoryError, did_you_mean
from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.format_version import check_format
from dataenvgym.storage import hash_files, is_empty, write_text

if TYPE_CHECKING:
    from omegaconf import DictConfig

_SECTIONS = ("task", "student", "predictor", "trainer")
_FREE = ("samples", "metrics", "problems")


def evaluation_settings(
    config: DictConfig, *, split: str, limit: int | None, adapter: Path | None
) -> DictConfig:
    """What determines an evaluation, as it is kept with it.

    Args:
        config: the default configuration with what `eval.yaml` adds to it.
        split, limit: which problems; `limit` is how many of them at most.
        adapter: the folder of what the student has learnt, known by its contents; or None.

    Raises:
        ConfigurationError: for a value that cannot be.
    """
    from omegaconf import OmegaConf

    for name, value in (("samples", config.samples), ("chunk", config.chunk), ("--limit", limit)):
        if value is None and name != "samples":
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"{name} is {value!r}, expected a whole number, 1 or more")
        if not 1 <= value < 2**63:
            expected = "1 or more" if value < 1 else "less than 2**63"
            raise ConfigurationError(f"{name} is {value}, expected {expected}")
    metrics = [config.metrics] if isinstance(config.metrics, str) else config.metrics
    values = OmegaConf.to_container(config, resolve=True)  # sections may refer to others
    assert isinstance(values, dict)
    content: dict[str, Any] = {name: values[name] for name in _SECTIONS}
    content |= {"samples": values["samples"], "metrics": metrics, "chunk": values["chunk"]}
    content |= {"split": split, "limit": limit, "adapter": _fingerprint(adapter)}
    content |= {"problems": None}  # how many of how many, once they are loaded
    settings: DictConfig = OmegaConf.create(literal(content))
    return settings


def evaluation_directory(config: DictConfig, settings: DictConfig) -> Path:
    """Where the evaluation is, or will be: `config.name`, or task, split and a hash."""
    return Path(str(config.evaluations_dir)).expanduser() / _name(config, settings)


def evaluation_files(directory: Path, settings: DictConfig) -> EvaluationFiles:
    """The files of the evaluation in that folder."""
    chunk = settings.chunk
    if chunk is None:
        chunk = settings.task.get("chunk_size")
    return EvaluationFiles(directory, None if chunk is None else int(chunk))


@contextmanager
def hold_evaluation(
    directory: Path, settings: DictConfig, *, fresh: bool = False
) -> Iterator[EvaluationFiles]:
    """Hold the evaluation's folder, new or gone on with; it is locked until the block ends.

    Args:
        fresh: remove what is there.

    Raises:
        RunDirectoryError: if another process is at it, or the folder is no evaluation's.
        ConfigChangedError: as `check_evaluation`.
    """
    with held(
        directory,
        fresh=fresh,
        refuse_strange=lambda: read_evaluation(directory),
        check=lambda: check_evaluation(directory, settings),
    ):
        yield evaluation_files(directory, settings)


def keep_settings(directory: Path, settings: DictConfig) -> None:
    """Write the `config.yaml` of an evaluation that is held."""
    text = shown_yaml(settings)
    path = directory / "config.yaml"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def check_evaluation(directory: Path, settings: DictConfig) -> None:
    """Refuse to go on with an evaluation that was begun with other settings.

    Raises:
        ConfigChangedError: naming the keys that differ.
        RunDirectoryError: if the folder is there and is no evaluation's.
        NewerFormatError: if a newer dataenvgym has written it.
    """
    if is_empty(directory):
        return
    check_format(directory)
    before = read_evaluation(directory)
    if evaluation_files(directory, before).is_begun:
        refuse_changes(
            f"the evaluation {directory.name!r}",
            _decisive(before),
            _decisive(settings),
        )


def read_evaluation(directory: Path) -> DictConfig:
    """The settings that an evaluation was begun with.

    Raises:
        RunDirectoryError: if the folder is no evaluation's.
    """
    from omegaconf import DictConfig, OmegaConf

    path = directory / "config.yaml"
    if not path.exists():
        raise RunDirectoryError(f"{directory} is no evaluation: it has no config.yaml")
    try:
        settings = OmegaConf.load(path)
    except Exception as error:
        raise RunDirectoryError(f"{path} cannot be read: {error}") from error
    if not isinstance(settings, DictConfig) or {*_SECTIONS, "samples", "chunk"} - set(settings):
        raise RunDirectoryError(f"{path} is not the configuration of an evaluation")
    refuse_references(settings, path)
    return settings


def settings_to_rescore(
    directory: Path, overrides: Sequence[str], *, trust: bool = False
) -> DictConfig:
    """An evaluation's settings with other metrics, or other options of the task, which judge in
    another way.

    Args:
        trust: take the task as the folder has it, whatever class or program it names (see `trust`).

    Raises:
        ConfigurationError: for an option that the task has not, or that is none of its own, for a
            value of another type, and for a task that is not to be trusted.
    """
    from omegaconf import OmegaConf

    settings = read_evaluation(directory)
    known = ["metrics", *decisive_values(OmegaConf.create({"task": settings.task}))]
    parsed = parse_overrides(overrides)
    for override in parsed:
        if override.key != "metrics" and not override.key.startswith("task."):
            raise ConfigurationError(
                f"{override.text!r} changes nothing in how the samples are judged."
                f"{did_you_mean(override.key, known)} What does: {', '.join(known)}."
            )
    changed = overlay(settings, overrides)
    if not trust:
        refuse_untrusted(changed, ["task"], directory / "config.yaml", parsed)
    return changed


def find_evaluation(name: str, evaluations_dir: str | Path = "evaluations") -> Path:
    """The folder of an evaluation, given its path or its name.

    Raises:
        RunDirectoryError: if there is none, with the closest name that there is.
        NewerFormatError: if a newer dataenvgym has written it.
    """
    for directory in (Path(name).expanduser(), Path(evaluations_dir) / name):
        if directory.is_dir():
            read_evaluation(directory)
            check_format(directory)
            return directory
    names = [p.parent.name for p in sorted(Path(evaluations_dir).glob("*/config.yaml"))]
    raise RunDirectoryError(
        f"there is no evaluation {name!r}.{did_you_mean(name, names)} The folder "
        f"{str(evaluations_dir)!r} holds {len(names) or 'none'}; another one is named with "
        "--evaluations-dir"
    )


def _name(config: DictConfig, settings: DictConfig) -> str:
    if config.name is not None:
        return run_name(config)
    digest = hashlib.sha256(orjson.dumps(_decisive(settings), option=orjson.OPT_SORT_KEYS))
    return f"{short_name(settings.task)}-{settings.split}-{digest.hexdigest()[:8]}"


def _decisive(settings: DictConfig) -> dict[str, Any]:
    """All values that determine the samples, by dotted key."""
    return {
        key: value
        for key, value in decisive_values(settings).items()
        if key.partition(".")[0] not in _FREE
    }


def _fingerprint(adapter: Path | None) -> str | None:
    """What an adapter is known by, wherever it lies."""
    if adapter is None:
        return None
    return hash_files(adapter)[:16] if adapter.exists() else str(adapter)
