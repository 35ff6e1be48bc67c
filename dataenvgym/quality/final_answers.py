"""Comparing the final answers of texts, by the scorer that judges the student."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.scoring import extract_final_answer, grade_pairs


def same_answers(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
    """For each pair of texts (gold, other) whether both come to the same.

    That is so if their final answers are equal. A gold text that marks none is compared as a
    whole, word for word. None: it could not be judged (the comparison ran out of time).
    """
    answers = [(extract_final_answer(gold), extract_final_answer(other)) for gold, other in pairs]
    marked = [(g, o) for g, o in answers if g is not None and o is not None]
    verdicts = iter(grade_pairs(marked))
    same: list[bool | None] = []
    for (gold, other), (answer, given) in zip(pairs, answers, strict=True):
        if answer is None:
            same.append(gold.split() == other.split())
        elif given is None:
            same.append(False)
        else:
            verdict = next(verdicts)
            same.append(None if verdict.error is not None else verdict.equal)
    return same


def majority_of(answers: Sequence[str], *, of: int) -> str | None:
    """The final answer that more than half of `of` samples give, or None.

    Equal answers count together, however they are written; the first of them stands for all.
    """
    groups: list[tuple[str, int]] = []
    for answer in answers:
        verdicts = grade_pairs([(first, answer) for first, _ in groups])
        place = next((i for i, verdict in enumerate(verdicts) if verdict.equal), None)
        if place is None:
            groups.append((answer, 1))
        else:
            groups[place] = (groups[place][0], groups[place][1] + 1)
    return next((answer for answer, count in groups if count > of / 2), None)
