"""The folder of an evaluation, and its configuration.

`config.yaml` has the sections that determine the answers (task, student, predictor, trainer) and
the settings of the evaluation, without references. Only the same configuration resumes it; errors
name the keys that differ. `samples`, `metrics` and `judge` may differ: more samples extend the
evaluation, and metrics are computed from saved samples. `problems` says which part of the task's
problems was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.config.composition import overlay
from dataenvgym.config.identity import decisive_values, digest, run_name, task_name
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.config.resolved import literal
from dataenvgym.config.short_names import SPEAKERS
from dataenvgym.config.trust import refuse_untrusted
from dataenvgym.config.workspaces import Workspaces
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.evaluation_runs.judges import asks_judge, judge_section, with_judges
from dataenvgym.storage import hash_files

if TYPE_CHECKING:
    from omegaconf import DictConfig

_SECTIONS = ("task", "student", "predictor", "trainer")
_FREE = ("samples", "metrics", "problems", "judge")


def evaluation_settings(
    config: DictConfig, *, split: str, limit: int | None, adapter: Path | None
) -> DictConfig:
    """The settings that determine an evaluation, to save with it.

    Args:
        config: the default configuration with the changes of `eval.yaml`.
        split, limit: the split, and the most problems of it.
        adapter: the folder of the student's adapter, identified by its contents; or None.

    Raises:
        ConfigurationError: for an impossible value.
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
    content |= {"split": split, "limit": limit, "adapter": fingerprint(adapter)}
    content |= {"problems": None}  # how many of how many, after they are loaded
    if asks_judge(metrics):
        content["judge"] = judge_section(config)
    settings: DictConfig = OmegaConf.create(literal(content))
    return settings


def evaluation_directory(config: DictConfig, settings: DictConfig) -> Path:
    """The folder of the evaluation: `config.name`, or task, split and a hash."""
    return Path(str(config.evaluations_dir)).expanduser() / _name(config, settings)


def evaluation_files(directory: Path, settings: DictConfig) -> EvaluationFiles:
    """The files of the evaluation in this folder."""
    chunk = settings.chunk
    if chunk is None:
        chunk = settings.task.get("chunk_size")
    return EvaluationFiles(directory, None if chunk is None else int(chunk))


class _Evaluations(Workspaces):
    kind, a_kind, option = "evaluation", "an evaluation", "--evaluations-dir"
    sections = frozenset({*_SECTIONS, "samples", "chunk"})

    def decisive(self, config: DictConfig) -> dict[str, Any]:
        return {
            key: value
            for key, value in decisive_values(config).items()
            if key.partition(".")[0] not in _FREE
        }

    def is_begun(self, directory: Path, config: DictConfig) -> bool:
        return evaluation_files(directory, config).is_begun


EVALUATIONS = _Evaluations()


def settings_to_rescore(
    directory: Path, overrides: Sequence[str], *, trust: bool = False
) -> DictConfig:
    """An evaluation's settings with changes in judging: metrics, judge, options of the task.

    Args:
        trust: accept any class or program that the folder's task names (see `trust`).

    Raises:
        ConfigurationError: for an unknown option, an option that does not change judging, a value
            of another type, or an untrusted task.
    """
    from omegaconf import OmegaConf

    settings = EVALUATIONS.read(directory)
    _refuse_speakers(overrides)
    parsed = parse_overrides(overrides)
    settings, overrides, chosen = with_judges(settings, parsed)
    known = ["metrics", *decisive_values(OmegaConf.create({"task": settings.task}))]
    for override in parse_overrides(overrides):
        if override.key != "metrics" and not override.key.startswith(("task.", "judge.")):
            raise ConfigurationError(
                f"{override.text!r} changes nothing in how the samples are judged."
                f"{did_you_mean(override.key, known)} What does: {', '.join(known)}."
            )
    changed = overlay(settings, overrides)
    if not trust:
        asked = asks_judge(changed.metrics) and not chosen
        sections = ["task", "judge"] if asked else ["task"]
        refuse_untrusted(changed, sections, directory / "config.yaml", parsed)
    return changed


def _refuse_speakers(overrides: Sequence[str]) -> None:
    """Refuse the short name of a speaker: judging again uses the evaluation's speakers."""
    for text in overrides:
        who = text.partition("=")[0]
        if who in SPEAKERS:
            raise ConfigurationError(
                f"{text!r} names a speaker, and rescore asks those of the evaluation. Change one "
                f"by its options (task.others.{who}.model=NAME); the metric 'judge' has its own "
                "judge (teacher=openai teacher.model=NAME)"
            )


def _name(config: DictConfig, settings: DictConfig) -> str:
    if config.name is not None:
        return run_name(config)
    hashed = digest(EVALUATIONS.decisive(settings))
    return f"{task_name(settings)}-{settings.split}-{hashed}"


def fingerprint(adapter: Path | None) -> str | None:
    """A hash that identifies an adapter in any folder; None for the base student."""
    if adapter is None:
        return None
    return hash_files(adapter)[:16] if adapter.exists() else str(adapter)
