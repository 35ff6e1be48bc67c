"""A teacher in memory that labels pocket math by keywords, or gives fixed answers."""

import json
import re
from collections.abc import Callable, Sequence

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask, recognize
from dataenvgym.errors import BudgetSpentError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation

Answer = Callable[[str], str | None]


class KeywordTeacher:
    """Reads the two prompts of skill discovery and answers them.

    It names skills by symbol and phrasing, three synonyms for each of pocket math's skills, and
    merges what has the same symbol.

    Args:
        distort: a function that changes each answer; None fails the call.
        budget: conversations that it answers before it refuses.
    """

    def __init__(self, distort: Answer = lambda text: text, budget: int = 10**6) -> None:
        self.distort = distort
        self.budget = budget
        self.asked: list[str] = []
        self.malformed = 0

    def ask(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters, *, purpose: str
    ) -> list[Reply | Failure]:
        assert purpose == "skills"
        assert sampling.json_schema is not None
        if conversations and self.budget <= 0:
            raise BudgetSpentError("the budget of 0 requests is spent")
        return [self._reply(conversation[-1].content) for conversation in conversations]

    def count_malformed(self, n: int) -> None:
        self.malformed += n

    def _reply(self, text: str) -> Reply | Failure:
        if self.budget <= 0:
            return Failure(reason="the budget is spent")
        self.budget -= 1
        self.asked.append(text)
        answer = self._labels(text) if "Name the one skill" in text else self._groups(text)
        distorted = self.distort(json.dumps(answer))
        return Failure(reason="500") if distorted is None else Reply(text=distorted)

    def _labels(self, text: str) -> object:
        found = re.findall(r"^(\d+)\. (.*)$", text, flags=re.MULTILINE)
        return {"labels": [{"number": int(n), "skill": named(q)} for n, q in found]}

    def _groups(self, text: str) -> object:
        lines = [line for line in text.splitlines() if line.startswith("do ")]
        groups: dict[str, list[str]] = {}
        for line in lines:
            groups.setdefault(line.split()[1], []).append(line)
        return {"categories": [{"category": f"do {k}", "skills": v} for k, v in groups.items()]}


def named(question: str) -> str:
    """ "Do_<symbol>_way_<phrasing>" of a pocket problem; "do other" of any other."""
    if (found := recognize(question)) is None:
        return "do other"
    skill, phrasing = found
    return f"Do_{skill.symbol}_way_{skill.phrasings.index(phrasing)}"


@pytest.fixture
def task():
    return PocketMathTask(n_train=40, n_validation=120, n_test=40)
