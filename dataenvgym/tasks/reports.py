"""From completed instances to a performance report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum

from dataenvgym.errors import EvaluationError
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, SkillReport
from dataenvgym.records.faults import count_faults


def report_on(task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
    """Mean reward, accuracy and mean of each named score, overall and by skill.

    All are over the instances without an error, a named score over those that have it.
    Skills are told apart by category and name, and sorted by them; instances without a gold skill
    stand under "". The order of `completed` does not matter.

    Raises:
        EvaluationError: if there is no instance, or every one has an error.
    """
    scored = [c for c in completed if c.error is None]
    if not scored:
        reason = f"; the first one: {completed[0].error}" if completed else ""
        raise EvaluationError(
            f"task {task!r}: none of {len(completed)} instances could be scored{reason}"
        )
    groups: defaultdict[tuple[str, str], list[CompletedTaskInstance]] = defaultdict(list)
    for c in completed:
        groups[c.instance.category or "", c.instance.skill or ""].append(c)
    score, accuracy = _means(scored)
    return PerformanceReport(
        task=task,
        score=score,
        accuracy=accuracy,
        n=len(completed),
        n_errors=len(completed) - len(scored),
        scores=_named_means(scored),
        faults=count_faults(completed),
        skills=tuple(_skill_report(*key, groups[key]) for key in sorted(groups)),
    )


def _skill_report(
    category: str, skill: str, completed: Sequence[CompletedTaskInstance]
) -> SkillReport:
    scored = [c for c in completed if c.error is None]
    score, accuracy = _means(scored) if scored else (None, None)
    return SkillReport(
        skill=skill,
        category=category or None,
        score=score,
        accuracy=accuracy,
        n=len(completed),
        n_errors=len(completed) - len(scored),
        scores=_named_means(scored),
        faults=count_faults(completed),
    )


def _means(scored: Sequence[CompletedTaskInstance]) -> tuple[float, float]:
    # fsum: the same score to the last bit, whatever the order
    return (
        fsum(c.reward for c in scored) / len(scored),
        sum(c.was_correct for c in scored) / len(scored),
    )


def _named_means(scored: Sequence[CompletedTaskInstance]) -> dict[str, float]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for c in scored:
        for name, value in c.scores.items():
            values[name].append(value)
    return {name: fsum(values[name]) / len(values[name]) for name in sorted(values)}
