"""The tables of an evaluation."""

from __future__ import annotations

import io

from rich.console import Console

from dataenvgym.cli.evaluation_tables import skill_table
from dataenvgym.records import PerformanceReport, SkillReport


def shown(**scores: float) -> list[list[str]]:
    """The cells of the table of two skills, the second of which has no named score."""
    same = {"category": "c", "score": 0.5, "accuracy": 0.25, "n": 4, "n_errors": 0}
    skills = (SkillReport(skill="a", scores=scores, **same), SkillReport(skill="b", **same))
    report = PerformanceReport(
        task="t", score=0.5, accuracy=0.25, n=8, n_errors=0, scores=scores, skills=skills
    )
    console = Console(file=io.StringIO(), width=100)
    console.print(skill_table(report))
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
