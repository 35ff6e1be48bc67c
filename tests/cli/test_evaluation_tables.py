"""The tables of an evaluation."""

from __future__ import annotations

import io

from rich.console import Console

from dataenvgym.cli.evaluation_tables import score_tables, skill_table
from dataenvgym.records import PerformanceReport, SkillReport


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
    assert shown(**{"[red]kind": 0.125, "tests_passed": 0.75}) == [
        ["category", "skill", "score", "accuracy", "[red]kind", "tests_passed", "n", "errors"],
        ["c", "a", "0.500", "0.250", "0.125", "0.750", "4"],
        ["c", "b", "0.500", "0.250", "-", "-", "4"],
        ["all", "0.500", "0.250", "0.125", "0.750", "8"],
    ]


def test_without_named_scores_the_table_has_no_further_column():
    assert shown()[0] == ["category", "skill", "score", "accuracy", "n", "errors"]


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
