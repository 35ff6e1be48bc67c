"""Computes a performance report from completed instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import fsum

from dataenvgym.errors import EvaluationError
from dataenvgym.records import (
    CompletedTaskInstance,
    PerformanceReport,
    SkillReport,
    checked_scores,
)
from dataenvgym.records.faults import count_faults

CorpusScores = Callable[[Sequence[CompletedTaskInstance]], Mapping[str, float]]
"""Named scores of several instances together: at least one instance, none with an error."""


def _no_scores(scored: Sequence[CompletedTaskInstance]) -> Mapping[str, float]:
    return {}


def report_on(
    task: str,
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores = _no_scores,
) -> PerformanceReport:
    """Mean reward, accuracy, mean of each named score and corpus scores, overall and by skill.

    Instances with an error are left out. The mean of a named score is over the instances that have
    it. Skills with the same category and name are merged; they are sorted by both. Instances
    without a gold skill are under "". The order of `completed` does not matter.

    Args:
        corpus_scores: scores that are not means over instances, such as a macro F1 (see
            `Domain.corpus_scores`); they replace a mean of the same name.

    Raises:
        EvaluationError: if there are no instances, all have an error, or a corpus score is not a
            finite number.
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
        scores=_named_scores(scored, corpus_scores),
        faults=count_faults(completed),
        skills=tuple(_skill_report(*key, groups[key], corpus_scores) for key in sorted(groups)),
    )


def _skill_report(
    category: str,
    skill: str,
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores,
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
        scores=_named_scores(scored, corpus_scores),
        faults=count_faults(completed),
    )


def _means(scored: Sequence[CompletedTaskInstance]) -> tuple[float, float]:
    # fsum: the same score to the last bit, in any order
    return (
        fsum(c.reward for c in scored) / len(scored),
        sum(c.was_correct for c in scored) / len(scored),
    )


def _named_scores(
    scored: Sequence[CompletedTaskInstance], corpus_scores: CorpusScores
) -> dict[str, float]:
    of_all = checked_scores(corpus_scores(scored), "corpus_scores()") if scored else {}
    return dict(sorted((_named_means(scored) | of_all).items()))


def _named_means(scored: Sequence[CompletedTaskInstance]) -> dict[str, float]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for c in scored:
        for name, value in c.scores.items():
            values[name].append(value)
    return {name: fsum(found) / len(found) for name, found in values.items()}
