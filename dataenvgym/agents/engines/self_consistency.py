"""Self-consistency: the student teaches itself what it agrees with itself about.

No gold answer is used: training makes the student surer of its most frequent answer. That helps
where this answer is right more often than its first one, and harms elsewhere.
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

    The task's domain tells which answers are the same: in math, equal final answers; in code, what
    gives the same results. In a domain that does not tell, it is the whole text.

    Args:
        agreement: the share of the answers that has to agree, above 0.
        most_agreement: the largest share; below 1, problems that the student is sure of are left
            out.
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
        """The first try of the majority, if that is large enough; its score is not read."""
        answers = [answer for answer, _ in answers_of(self.task, tries)]
        place, votes = majority(answers, sameness_of(self.task, tries[0].instance))
        is_enough = self.agreement <= votes / self.samples <= self.most_agreement
        return tries[place] if is_enough else None


def majority(answers: Sequence[str | None], same: Callable[[str, str], bool]) -> tuple[int, int]:
    """The place of the first most frequent answer, and how many votes it has.

    None has no vote; without any vote it is (0, 0).

    Args:
        same: whether two answers that differ as text are the same, as 1/2 and 0.5 are.
    """
    found, votes = classes_of(answers, same)
    if not found:
        return 0, 0
    winner = max(range(len(found)), key=votes.count)
    return answers.index(found[winner]), votes.count(winner)
