"""Scoring: decides whether a student's answer is right.

`extract_final_answer` finds the answer in a response, `grade_pairs` and `answers_equal` compare it
with the gold, and `gold_problems` finds golds that cannot be compared. Nothing here imports sympy:
code that needs it runs in worker processes.
"""

from dataenvgym.tasks.scoring.answers import extract_final_answer
from dataenvgym.tasks.scoring.grading import (
    TIME_LIMIT,
    Verdict,
    answers_equal,
    gold_problems,
    grade_pairs,
)

__all__ = [
    "TIME_LIMIT",
    "Verdict",
    "answers_equal",
    "extract_final_answer",
    "gold_problems",
    "grade_pairs",
]
