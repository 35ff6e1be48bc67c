"""The tables of an evaluation."""

from dataenvgym.cli.evaluation_tables import (
    costs_table,
    judge_lines,
    metric_table,
    skill_table,
)
from dataenvgym.records import PerformanceReport, SkillReport
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.usage import Usage
from dataenvgym.runs.documents import markdown
from dataenvgym.tasks.metrics import JudgeResult


def report_with(**scores: float) -> PerformanceReport:
    """A report of two skills, the second of which has no named score."""
    same = {"category": "c", "score": 0.5, "accuracy": 0.25, "n": 4, "n_errors": 0}
    skills = (SkillReport(skill="a", scores=scores, **same), SkillReport(skill="b", **same))
    return PerformanceReport(
        task="t", score=0.5, accuracy=0.25, n=8, n_errors=0, scores=scores, skills=skills
    )


def test_the_tables_of_an_evaluation(shown):
    report = report_with(**{"[red]kind": 0.125, "tests_passed": 0.75})
    failed = report_with().model_copy(
        update={"n_errors": 3, "faults": {"environment": 2, "user": 1}}
    )
    usage = {STUDENT: Usage(prompt_tokens=10, completion_tokens=2, cost=0.01, seconds=1.5)}
    tables = [skill_table(report), skill_table(failed), metric_table([judged()])]
    shown("tables_md.txt", markdown([*tables, *costs_table([(("t",), usage)], ("task",))]))


def judged(**changes) -> JudgeResult:
    given = {"value": 6.5, "half_width": 1.25, "n": 4, "n_scored": 9, "n_unscored": 0}
    kept = {"failed": {"a": 0}, "means": {"a": 6.5}}
    return JudgeResult(name="judge", **(given | kept | changes))


def test_failed_verdicts_and_the_agreement_of_judges_are_shown():
    two = {"failed": {"a": 1, "b": 0}, "means": {"a": 3.0, "b": 10.0}, "agreement": -0.25}
    assert judge_lines([judged(n_unscored=1, **two)]) == [
        "judge: 1 of 10 samples without a score (no verdict by: a 1)",
        "judge: agreement (Krippendorff's alpha) -0.250; means: a 3.00, b 10.00",
    ]
    (line,) = judge_lines([judged(n_unscored=2)])
    assert line == "judge: 2 of 11 samples without a score (the judges have no majority)"
