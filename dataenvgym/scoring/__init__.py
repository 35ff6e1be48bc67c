"""Scoring: from what a student wrote to whether it is right.

`extract_final_answer` finds the answer in a response, `grade_pairs` and `answers_equal` compare
it with the gold, and `check_gold` and `gold_problems` make sure, when data is loaded, that a gold
can be compared at all. Nothing here imports sympy: what needs it runs in worker processes.
"""

from dataenvgym.scoring.extract import extract_final_answer
from dataenvgym.scoring.grading import (
    TIME_LIMIT,
    Verdict,
    answers_equal,
    check_gold,
    gold_problems,
    grade_pairs,
)

__all__ = [
    "TIME_LIMIT",
    "Verdict",
    "answers_equal",
    "check_gold",
    "extract_final_answer",
    "gold_problems",
    "grade_pairs",
]
