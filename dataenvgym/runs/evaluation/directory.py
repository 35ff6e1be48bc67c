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
from typing import Annotated, Any, cast

from omegaconf import DictConfig, OmegaConf
from pydantic import Field

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.runs.config.composition import compose, overlay
from dataenvgym.runs.config.identity import decisive_values, task_name
from dataenvgym.runs.config.instantiation import check_value, section_target
from dataenvgym.runs.config.overrides import Override, new_speakers, parse_overrides
from dataenvgym.runs.config.received import refuse_untrusted
from dataenvgym.runs.config.values import literal
from dataenvgym.runs.config.workspaces import Workspaces
from dataenvgym.storage import hash_files
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.metric import JUDGE

Count = Annotated[int, Field(ge=1, lt=2**63)]
_STUDENT = ("student", "predictor", "trainer")
_SECTIONS = ("task", *_STUDENT)
_TEACHERS = "judge.teachers."
_OF_PROBLEMS = frozenset(
    f"task.{name}" for name in ("split", "limit", "fractions", "n_train", "n_validation", "n_test")
)
"""Options of tasks that choose problems, and change nothing in how samples are judged."""


def addition_kind(config: DictConfig) -> Any:
    """See `Task.evaluation_addition`."""
    find = getattr(section_target(config, "task"), "evaluation_addition", None)
    return None if find is None else find()


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
    check_value(config.samples, Count, "samples")
    for name, value in (("chunk", config.chunk), ("--limit", limit)):
        check_value(value, Count | None, name)
    metrics = [config.metrics] if isinstance(config.metrics, str) else config.metrics
    judge = {"judge": judge_section(config)} if asks_judge(metrics) else {}
    return EVALUATIONS.settings(
        config,
        metrics=metrics,
        split=split,
        limit=limit,
        adapter=fingerprint(adapter),
        problems=None,  # how many of how many, after they are loaded
        **judge,
    )


def evaluation_directory(config: DictConfig, settings: DictConfig) -> Path:
    """The folder of the evaluation: `config.name`, or task, split and a hash."""
    return EVALUATIONS.directory(config, settings, f"{task_name(settings)}-{settings.split}")


def evaluation_files(directory: Path, settings: DictConfig) -> EvaluationFiles:
    """The files of the evaluation in this folder."""
    chunk = settings.chunk
    if chunk is None:
        chunk = settings.task.get("chunk_size")
    return EvaluationFiles(directory, None if chunk is None else int(chunk))


EVALUATIONS = Workspaces(
    "evaluation",
    "--evaluations-dir",
    (*_SECTIONS, "samples", "chunk"),
    begun="samples/*.jsonl",
    free=frozenset({"samples", "metrics", "problems", "judge"}),
    way_out="`dataenvgym rescore` judges its samples by changed problems, --fresh draws anew",
)


def settings_to_rescore(
    directory: Path, overrides: Sequence[str], *, trust: bool = False
) -> DictConfig:
    """An evaluation's settings with changes in judging: metrics, judge, options of the task.

    Args:
        trust: accept any class or program that the folder names for the task or the judge, or in
            a section that an evaluation does not have, such as `store` (see `workspaces`).

    Raises:
        ConfigurationError: for an unknown option, an option that does not change judging, a value
            of another type, or an untrusted task.
    """
    settings = EVALUATIONS.read(directory)
    parsed = parse_overrides(overrides)
    for who in new_speakers(parsed):
        raise ConfigurationError(
            f"task.others.{who} would be another speaker, and rescore asks those of the "
            f"evaluation. Change one by its options (task.others.{who}.model=NAME); the metric "
            "'judge' has its own judge (teacher=openai teacher.model=NAME)"
        )
    settings, overrides, chosen = with_judges(settings, parsed)
    known = {"metrics", *decisive_values(OmegaConf.create({"task": settings.task}))} - _OF_PROBLEMS
    for override in parse_overrides(overrides):
        judges = override.key.startswith(("task.", "judge.")) and override.key not in _OF_PROBLEMS
        if override.key != "metrics" and not judges:
            raise ConfigurationError(
                f"{override.text!r} changes nothing in how the samples are judged."
                f"{did_you_mean(override.key, known)} What does: {', '.join(sorted(known))}."
            )
    if not trust:
        metrics = [o.value or "" for o in parsed if o.key == "metrics"]
        asked = JUDGE in metrics[-1] if metrics else asks_judge(settings.metrics)
        unused = _STUDENT if asked else (*_STUDENT, "judge")
        sections = [str(section) for section in settings if section not in unused]
        typed = [*parsed, *parse_overrides(["judge.teachers=null"] if chosen else [])]
        refuse_untrusted(settings, sections, directory / "config.yaml", typed)
    return overlay(settings, overrides)


def fingerprint(adapter: Path | None) -> str | None:
    """A hash that identifies an adapter in any folder; None for the base student."""
    if adapter is None:
        return None
    return hash_files(adapter)[:16] if adapter.exists() else str(adapter)


# --- the section `judge` of a configuration ---


def asks_judge(metrics: object) -> bool:
    """True if the metrics of a configuration need a judge."""
    return JUDGE in ([metrics] if isinstance(metrics, str) else metrics or ())  # type: ignore[operator]


def judge_section(config: DictConfig) -> dict[str, Any]:
    """The section `judge`, with the configuration's teacher if it names no others."""
    section = _plain(config.judge)
    teachers = section.get("teachers")
    if not isinstance(teachers or {}, dict):
        raise ConfigurationError(f"judge.teachers is {teachers!r}, expected teachers by name")
    if not teachers and config.teacher.get("_target_") is not None:
        teachers = {"teacher": _plain(config.teacher)}
    if not teachers:
        raise ConfigurationError(
            "metrics has 'judge', and there is no judge: choose a teacher, such as teacher=openai "
            "teacher.model=NAME, or several: +teacher@judge.teachers.NAME=openai"
        )
    return {**section, "teachers": teachers}


def with_judges(
    settings: DictConfig, overrides: Sequence[Override]
) -> tuple[DictConfig, list[str], bool]:
    """Apply the judges that the overrides choose to an evaluation's settings.

    Chosen judges (`teacher=...`, `+teacher@judge.teachers.NAME=...`) replace those of the
    evaluation. If it had none, but they are needed, the other options of `judge` are the defaults.
    Returns the settings, the remaining overrides, and True if judges were chosen.

    Raises:
        ConfigurationError: if judges are needed, but there are none.
    """
    choices = [o for o in overrides if o.section == "teacher" or o.key.startswith(_TEACHERS)]
    others = [o.text for o in overrides if o not in choices]
    has_judge = settings.get("judge") is not None
    metrics = [o.value or "" for o in overrides if o.key == "metrics"]
    needed = any(o.section == "judge" for o in overrides) or any(JUDGE in m for m in metrics)
    if not choices and (has_judge or not needed):
        return settings, others, False
    section = judge_section(compose([o.text for o in choices], name="eval"))
    if has_judge:
        section = {**_plain(settings.judge), "teachers": section["teachers"]}
    content = cast(dict[str, Any], OmegaConf.to_container(settings))
    changed: DictConfig = OmegaConf.create({**content, "judge": literal(section)})
    return changed, others, True


def _plain(section: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(section, resolve=True))
