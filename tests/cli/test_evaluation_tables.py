"""The tables of an evaluation."""

import io

from rich.console import Console

from dataenvgym.cli.evaluation_tables import (
    judge_lines,
    metric_table,
    score_tables,
    skill_table,
)
from dataenvgym.records import PerformanceReport, SkillReport
from dataenvgym.runs.episodes.tables import table_of, uncut
from dataenvgym.tasks.metrics import JudgeResult


def report_with(**scores: float) -> PerformanceReport:
    """A report of two skills, the second of which has no named score."""
    same = {"category": "c", "score": 0.5, "accuracy": 0.25, "n": 4, "n_errors": 0}
    skills = (SkillReport(skill="a", scores=scores, **same), SkillReport(skill="b", **same))
    return PerformanceReport(
        task="t", score=0.5, accuracy=0.25, n=8, n_errors=0, scores=scores, skills=skills
    )


def shown(**scores: float) -> list[list[str]]:
    """The cells of the table of such a report."""
    console = Console(file=io.StringIO(), width=100)
    console.print(skill_table(report_with(**scores)))
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_each_named_score_has_a_column():
    assert shown()[0] == ["category", "skill", "score", "accuracy", "n", "errors"]
    assert shown(**{"[red]kind": 0.125, "tests_passed": 0.75}) == [
        ["category", "skill", "score", "accuracy", "[red]kind", "tests_passed", "n", "errors"],
        ["c", "a", "0.500", "0.250", "0.125", "0.750", "4"],
        ["c", "b", "0.500", "0.250", "-", "-", "4"],
        ["all", "0.500", "0.250", "0.125", "0.750", "8"],
    ]


def test_errors_are_shown_by_cause_beside_the_scores():
    report = report_with().model_copy(
        update={"n_errors": 3, "faults": {"environment": 2, "user": 1}}
    )
    console = Console(file=io.StringIO(), width=100)
    console.print(skill_table(report))
    last = console.file.getvalue().splitlines()[-1]
    assert last.split("8")[1].strip() == "3 (2 environment, 1 user)"


def test_named_scores_without_room_for_their_columns_are_a_table_of_their_own():
    scores = {f"argument_f1_{i}": i / 8 for i in range(8)}
    for width, n in ((200, 1), (60, 2)):
        console = Console(file=io.StringIO(), width=width)
        for table in score_tables(report_with(**scores), console):
            console.print(table)
        text = console.file.getvalue()
        assert text.count("argument_f1_7") == 1
        assert len(score_tables(report_with(**scores), console)) == n
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["category", "skill", "score", "accuracy", "n", "errors"]
    assert ["argument_f1_2", "0.250"] in lines
    assert "named score (by skill: results.json)" in text


def judged(**changes) -> JudgeResult:
    given = {"value": 6.5, "half_width": 1.25, "n": 4, "n_scored": 9, "n_unscored": 0}
    kept = {"failed": {"a": 0}, "means": {"a": 6.5}}
    return JudgeResult(name="judge", **(given | kept | changes))


def test_the_score_of_a_judge_is_a_row_with_its_interval():
    console = Console(file=io.StringIO(), width=100)
    console.print(metric_table([judged()]))
    assert console.file.getvalue().split()[-5:] == ["judge", "6.5000", "±", "1.2500", "4"]
    assert judge_lines([judged()]) == []


def test_a_narrow_terminal_gets_every_column_of_a_table_on_one_line():
    console = Console(file=io.StringIO(), width=20)
    table = table_of(("a task with a long name",), ("n", "another long name"))
    table.add_row("t", "7", "0.5")
    console.print(uncut(table), crop=False)
    lines = console.file.getvalue().splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "a task with a long name n another long name",
        "t 7 0.5",
    ]


def test_failed_verdicts_and_the_agreement_of_judges_are_shown():
    two = {"failed": {"a": 1, "b": 0}, "means": {"a": 3.0, "b": 10.0}, "agreement": -0.25}
    assert judge_lines([judged(n_unscored=1, **two)]) == [
        "judge: 1 of 10 samples without a score (no verdict by: a 1)",
        "judge: agreement (Krippendorff's alpha) -0.250; means: a 3.00, b 10.00",
    ]
    (line,) = judge_lines([judged(n_unscored=2)])
    assert line == "judge: 2 of 11 samples without a score (the judges have no majority)"
