"""What a reply to a math problem answers, for majority votes (see `dataenvgym.evaluation.answers`).

The answer is the final answer that the reply marks, as text: there is no canonical form of all
that the scorer calls equal (50% is 0.5 and 50). Two answers are the same if the scorer says so.
"""

from __future__ import annotations

from dataenvgym.records import TaskInstance
from dataenvgym.scoring import extract_final_answer, grade_pairs


class MathAnswers:
    """Gives a task whose replies mark a final answer the classes of its answers."""

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The final answer of the reply; None if it marks none."""
        return extract_final_answer(reply)

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        """Whether the scorer calls the two answers equal."""
        return same_answer(one, other)


def same_answer(one: str, other: str) -> bool:
    """Whether two final answers are equal by the scorer; not so if the check fails."""
    (verdict,) = grade_pairs([(one, other)])
    return verdict.equal
