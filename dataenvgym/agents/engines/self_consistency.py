"""Self-consistency: the student teaches itself what it agrees with itself about.

Nobody tells it what is right: it grows surer of what it says most often, which helps where that is
more often right than what it says first, and does harm where it is not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dataenvgym.agents.engines.self_teaching import SelfAnswersEngine
from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.evaluation.answers import classes_of, sameness_of
from dataenvgym.interfaces import EnvironmentInterface, TaskInterface
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import extract_final_answer

_log = logging.getLogger(__name__)


class SelfConsistencyEngine(SelfAnswersEngine):
    """Writes records from what the student says most often.

    The task tells which answers are the same (see `dataenvgym.evaluation.answers`): in math, equal
    final answers; in code, what gives the same results. For a task that does not tell, it is the
    final answer, or else the whole text.

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
        read = self._answers(problem, answers)
        text, votes = majority(answers, read, sameness_of(self.task, problem))
        return text if self.agreement <= votes / self.samples <= self.most_agreement else None

    def _answers(self, problem: TaskInstance, texts: Sequence[str]) -> list[str | None]:
        """What each text answers, as the task reads it; each different text is read once."""
        different = list(dict.fromkeys(texts))
        with ThreadPoolExecutor(getattr(self.task, "threads", 1)) as pool:
            found = pool.map(partial(self._answer, problem), different)
            read = dict(zip(different, found, strict=True))
        return [read[text] for text in texts]

    def _answer(self, problem: TaskInstance, text: str) -> str | None:
        if (answer_class := getattr(self.task, "answer_class", None)) is None:
            return extract_final_answer(text) or text.strip() or None
        try:
            answer: str | None = answer_class(problem, text)
        except ConfigurationError:
            raise
        except DataEnvGymError as error:
            _log.warning("an answer to %s could not be read: %s", problem.id, error)
            return None
        return answer


def majority(
    texts: Sequence[str], answers: Sequence[str | None], same: Callable[[str, str], bool]
) -> tuple[str, int]:
    """The first of the texts with the most frequent answer, and how many have that answer.

    A text whose answer is None has no vote; without any vote it is ("", 0).

    Args:
        answers: what each text answers.
        same: whether two answers that differ as text are the same, as 1/2 and 0.5 are.
    """
    found, votes = classes_of(answers, same)
    if not found:
        return "", 0
    winner = max(range(len(found)), key=votes.count)
    return texts[answers.index(found[winner])], votes.count(winner)
