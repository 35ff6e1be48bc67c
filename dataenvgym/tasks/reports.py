"""Computes a performance report from completed instances."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import fsum
from typing import Any

from dataenvgym.errors import EvaluationError
from dataenvgym.events import warn_run
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, SkillReport, checked_scores
from dataenvgym.records.instances import count_faults

CorpusScores = Callable[[Sequence[CompletedTaskInstance]], Mapping[str, float]]
"""Named scores of several instances together: at least one instance, none with an error."""

HasAnswer = Callable[[CompletedTaskInstance], bool | None]

MOST_UNREAD = 0.2
"""The largest share of replies without an answer of which a user is not warned."""

_log = logging.getLogger(__name__)


def report_on(
    task: str,
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores = lambda scored: {},
    has_answer: HasAnswer = lambda completed: None,
) -> PerformanceReport:
    """Mean reward, accuracy, no-answer rate, named scores and corpus scores, overall and by skill.

    Instances with an error are left out. The mean of a named score is over the instances that have
    it. Skills with the same category and name are merged; they are sorted by both. Instances
    without a gold skill are under "". The order of `completed` does not matter.

    Args:
        corpus_scores: scores that are not means over instances, such as a macro F1 (see
            `Domain.report`); they replace a mean of the same name.
        has_answer: whether an instance has an answer; None where any reply is one. Where it fails,
            the message counts as the answer.

    Raises:
        EvaluationError: if there are no instances, all have an error, or a corpus score is not a
            finite number.
    """
    if all(c.error is not None for c in completed):
        reason = f"; the first one: {completed[0].error}" if completed else ""
        raise EvaluationError(
            f"task {task!r}: none of {len(completed)} instances could be scored{reason}"
        )
    answered = {id(c): _has_answer(c, has_answer) for c in completed if c.error is None}
    figures = partial(_figures, corpus_scores=corpus_scores, answered=answered)
    groups: defaultdict[tuple[str, str], list[CompletedTaskInstance]] = defaultdict(list)
    for c in completed:
        groups[c.instance.category or "", c.instance.skill or ""].append(c)
    return PerformanceReport(
        task=task,
        **figures(completed),
        skills=tuple(
            SkillReport(skill=skill, category=category or None, **figures(group))
            for (category, skill), group in sorted(groups.items())
        ),
    )


def warn_of_unread(report: PerformanceReport, answer_forms: Iterable[str]) -> None:
    """Warn the user if many replies of a student that was not trained give no answer.

    Args:
        answer_forms: of the task's domains.
    """
    rate, read = report.no_answer_rate, report.answered_score
    if rate is None or rate <= MOST_UNREAD:
        return
    others = "" if read is None else f", and {read:.3f} among the others"
    warn_run(
        f"{rate:.0%} of the student's replies give no answer that can be read: its score is "
        f"{report.score:.3f}{others}. Training on such replies teaches mostly their form. Ask for "
        "the form in the prompt, in task.template or task.system_prompt, or show solved problems "
        f"with task.examples. {' '.join(filter(None, dict.fromkeys(answer_forms)))}".rstrip()
    )


def _figures(
    completed: Sequence[CompletedTaskInstance],
    corpus_scores: CorpusScores,
    answered: Mapping[int, bool | None],
) -> dict[str, Any]:
    """The fields that the report of a task and that of a skill share."""
    scored = [c for c in completed if c.error is None]
    named: defaultdict[str, list[float]] = defaultdict(list)
    for c in scored:
        for name, value in c.scores.items():
            named[name].append(value)
    means = {name: fsum(values) / len(values) for name, values in named.items()}
    of_all = checked_scores(corpus_scores(scored), "corpus_scores()") if scored else {}
    known = [has for c in scored if (has := answered[id(c)]) is not None]
    read = [c.reward for c in scored if answered[id(c)]]
    return {
        # fsum: the same score to the last bit, in any order
        "score": fsum(c.reward for c in scored) / len(scored) if scored else None,
        "accuracy": sum(c.was_correct for c in scored) / len(scored) if scored else None,
        "n": len(completed),
        "n_errors": len(completed) - len(scored),
        "scores": dict(sorted((means | of_all).items())),
        "faults": count_faults(completed),
        "no_answer_rate": known.count(False) / len(known) if known else None,
        "answered_score": fsum(read) / len(read) if read else None,
    }


def _has_answer(completed: CompletedTaskInstance, has_answer: HasAnswer) -> bool | None:
    try:
        return has_answer(completed)
    except Exception as error:  # noqa: BLE001  errors of a task's code must not lose the score
        _log.warning("has_answer failed for %s", completed.instance.id, exc_info=error)
        return True
