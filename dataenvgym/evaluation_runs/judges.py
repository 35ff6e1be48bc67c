"""The judges of an evaluation: the section `judge` of its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from dataenvgym.config.composition import compose
from dataenvgym.config.overrides import Override
from dataenvgym.config.resolved import literal
from dataenvgym.errors import ConfigurationError
from dataenvgym.evaluation.metrics import JUDGE

if TYPE_CHECKING:
    from omegaconf import DictConfig

_TEACHERS = "judge.teachers."


def asks_judge(metrics: object) -> bool:
    """True if the metrics of a configuration need a judge."""
    return JUDGE in ([metrics] if isinstance(metrics, str) else metrics or ())  # type: ignore[operator]


def judge_section(config: DictConfig) -> dict[str, Any]:
    """The section `judge`, with the configuration's teacher if it names no others.

    Raises:
        ConfigurationError: if there is no teacher at all.
    """
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
    evaluation. If the evaluation had no judges, but the metrics or an option need some, the other
    options of `judge` are the defaults.

    Returns:
        The settings, the remaining overrides, and True if judges were chosen.

    Raises:
        ConfigurationError: if judges are needed, but there are none.
    """
    from omegaconf import OmegaConf

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
    from omegaconf import OmegaConf

    return cast(dict[str, Any], OmegaConf.to_container(section, resolve=True))
