"""Self-consistency: the student learns its own majority answers.

It uses no gold answers: training makes the student surer of its most frequent answer. That helps
where the majority answer is right more often than a single one, and harms elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataenvgym.agents.engines.self_teaching import SelfAnswersEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.evaluation.answers import answers_of, classes_of, sameness_of
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import CompletedTaskInstance


class SelfConsistencyEngine(SelfAnswersEngine):
    """Writes records from the student's most frequent answers.

    The task's domain decides which answers are the same: in math, equal final answers; in code,
    programs with the same results. If the domain cannot compare answers, whole texts are compared.

    Args:
        agreement: the least share of answers that must agree, above 0.
        most_agreement: the largest share; a value below 1 leaves out problems that the student is
            sure of.
        samples, temperature, tries, prefixes: as for `SelfAnswersEngine`.
    """

    def __init__(
        self,
        task: TaskInterface,
        *,
        agreement: float = 0.75,
        most_agreement: float = 1.0,
        samples: int = 8,
        temperature: float = 1.0,
        tries: int = 4,
        prefixes: bool = False,
    ) -> None:
        super().__init__(
            task, samples=samples, temperature=temperature, tries=tries, prefixes=prefixes
        )
        if not 0 < agreement <= most_agreement <= 1:
            raise ConfigurationError(
                f"agreement is {agreement} and most_agreement is {most_agreement}, expected "
                "0 < agreement <= most_agreement <= 1"
            )
        self.agreement = agreement
        self.most_agreement = most_agreement

    def pick(self, tries: Sequence[CompletedTaskInstance]) -> CompletedTaskInstance | None:
        """Pick the first try of the majority if it is large enough; scores are not used."""
        answers = [answer for answer, _ in answers_of(self.task, tries)]
        place, votes = majority(answers, sameness_of(self.task, tries[0].instance))
        is_enough = self.agreement <= votes / self.samples <= self.most_agreement
        return tries[place] if is_enough else None


def majority(answers: Sequence[str | None], same: Callable[[str, str], bool]) -> tuple[int, int]:
    """Find the place of the first most frequent answer, and its number of votes.

    None does not count as a vote; without any vote the result is (0, 0).

    Args:
        same: True if two answers with different text are the same, such as 1/2 and 0.5.
    """
    found, votes = classes_of(answers, same)
    if not found:
        return 0, 0
    winner = max(range(len(found)), key=votes.count)
    return answers.index(found[winner]), votes.count(winner)
