"""Self-consistency: the student teaches itself what it agrees with itself about.

Nobody tells it what is right: it grows surer of what it says most often, which helps where that is
more often right than what it says first, and does harm where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.agents.self_engine import SelfAnswersEngine
from dataenvgym.errors import ConfigurationError
from dataenvgym.evaluation.answers import classes_of
from dataenvgym.interfaces import EnvironmentInterface, TaskInterface
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import extract_final_answer
from dataenvgym.tasks.math.answers import same_answer


class SelfConsistencyEngine(SelfAnswersEngine):
    """Writes records from what the student says most often.

    Args:
        agreement: the share of the answers that has to agree, above 0.
        most_agreement: the largest share; below 1, problems that the student is sure of are left
            out.
        options: those of `SelfAnswersEngine`.
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
    ) -> None:
        super().__init__(task, samples=samples, temperature=temperature, tries=tries)
        if not 0 < agreement <= most_agreement <= 1:
            raise ConfigurationError(
                f"agreement is {agreement} and most_agreement is {most_agreement}, expected "
                "0 < agreement <= most_agreement <= 1"
            )
        self.agreement = agreement
        self.most_agreement = most_agreement

    def pick(
        self, problem: TaskInstance, answers: Sequence[str], environment: EnvironmentInterface
    ) -> str | None:
        """The first answer of the majority, if that is large enough; gold is not read."""
        text, votes = majority(answers)
        return text if self.agreement <= votes / self.samples <= self.most_agreement else None


def majority(texts: Sequence[str]) -> tuple[str, int]:
    """The first of the texts with the most frequent final answer, and how many have that answer.

    Answers are the same if the scorer says so: 1/2 and 0.5 are. A text without a final answer has
    no vote; without any vote it is ("", 0).
    """
    answers = [extract_final_answer(text) for text in texts]
    found, votes = classes_of(answers, same_answer)
    if not found:
        return "", 0
    winner = max(range(len(found)), key=votes.count)
    return texts[answers.index(found[winner])], votes.count(winner)
